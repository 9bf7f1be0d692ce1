//! Handles that are never dereferenced.
//!
//! Contexts, streams and events are numbers that look like pointers. They are never reused, so a handle that was freed or
//! made up is recognised, and the call returns a code.
//!
//! Other objects are known to a program as pointers to incomplete structs. Such a pointer is a number that the library
//! returns only once; there is no memory at its address. So the library recognises NULL, garbage, and the pointers of
//! freed objects and of other kinds of objects.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope::trace::{HeldLocks, LockRoom};

use crate::border::Failure;
use crate::forks::Shared;

/// The kind of object that a handle stands for.
#[derive(Clone, Copy)]
pub enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
}

/// The objects of one kind, by their handles.
pub struct Handles<T> {
    kind: Kind,
    /// How many handles were created.
    made: usize,
    known: BTreeMap<usize, Arc<T>>,
}

impl<T> Handles<T> {
    pub const fn new(kind: Kind) -> Self {
        Self { kind, made: 0, known: BTreeMap::new() }
    }

    /// Returns the number that the next `insert` will return.
    pub fn next(&self) -> usize {
        // No program has memory at this address. It is aligned like an allocation.
        (0xac1 << 52) | (self.kind as usize) << 48 | (self.made + 1) << 4
    }

    pub fn insert(&mut self, value: Arc<T>) -> usize {
        let number = self.next();
        self.made += 1;
        self.known.insert(number, value);
        number
    }

    pub fn get(&self, number: usize) -> Option<&Arc<T>> {
        self.known.get(&number)
    }

    pub fn remove(&mut self, number: usize) -> Option<Arc<T>> {
        self.known.remove(&number)
    }

    /// Removes the objects that match, and returns them.
    pub fn take(&mut self, is_asked_for: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let (taken, kept) = std::mem::take(&mut self.known).into_iter().partition(|(_, value)| is_asked_for(value));
        self.known = kept;
        let taken: BTreeMap<usize, Arc<T>> = taken;
        taken.into_values().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.known.values()
    }

    /// Makes all handles unknown in the child of a fork. Does not drop the objects, because their locks may be held
    /// forever.
    pub fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.known));
    }
}

/// Returns a handle in the form that programs receive.
pub fn pointer(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

/// The next pointer. No processor has memory there. Pointers are multiples of 16, like those of structs.
static NEXT: AtomicUsize = AtomicUsize::new(0x0ac1_0000_0000_0010);

/// The objects of a kind. `C` is the incomplete struct that the program knows, `T` is the object behind it.
pub struct Table<C, T: Send + Sync + 'static> {
    /// The kind, for messages, such as "dataset".
    kind: &'static str,
    objects: Shared<BTreeMap<usize, Arc<T>>>,
    pointer: PhantomData<fn(*mut C)>,
}

impl<C, T: Send + Sync> Table<C, T> {
    /// Makes an empty table. `hold` must call `held` of this table.
    pub const fn new(kind: &'static str, hold: LockRoom) -> Self {
        Self { kind, objects: Shared::new(BTreeMap::new(), hold), pointer: PhantomData }
    }

    /// Locks the table for a fork. The child keeps the objects.
    pub fn held(&'static self) -> Box<dyn HeldLocks> {
        self.objects.held(|_| {})
    }

    /// Adds an object, and returns its pointer.
    pub fn insert(&'static self, object: T) -> *mut C {
        let address = NEXT.fetch_add(16, Ordering::Relaxed);
        self.objects.lock().insert(address, Arc::new(object));
        without_provenance_mut(address)
    }

    /// Returns an object.
    pub fn get(&'static self, pointer: *const C) -> Result<Arc<T>, Failure> {
        let objects = self.objects.read();
        objects.get(&pointer.addr()).cloned().ok_or_else(|| self.missing(pointer))
    }

    /// Returns an object; `None` for NULL.
    pub fn get_unless_null(&'static self, pointer: *const C) -> Result<Option<Arc<T>>, Failure> {
        if pointer.is_null() { Ok(None) } else { self.get(pointer).map(Some) }
    }

    /// Replaces an object by another one, behind the same pointer.
    pub fn replace(&'static self, pointer: *const C, object: T) -> Result<(), Failure> {
        let mut objects = self.objects.lock();
        let place = objects.get_mut(&pointer.addr()).ok_or_else(|| self.missing(pointer))?;
        *place = Arc::new(object);
        Ok(())
    }

    /// Removes an object. Calls that are using it continue.
    pub fn remove(&'static self, pointer: *const C) -> Result<Arc<T>, Failure> {
        let mut objects = self.objects.lock();
        objects.remove(&pointer.addr()).ok_or_else(|| self.missing(pointer))
    }

    fn missing(&self, pointer: *const C) -> Failure {
        if pointer.is_null() {
            Failure::null(self.kind)
        } else {
            let reason = "the library made no such object, or it was destroyed";
            Failure::wrong_value(self.kind, format_args!("{pointer:p}"), reason)
        }
    }
}
