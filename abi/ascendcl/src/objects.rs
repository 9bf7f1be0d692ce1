//! Objects that a program knows as pointers to incomplete structs.
//!
//! Such a pointer is a number that the library returns only once; there is no memory at its address. So the library
//! recognises NULL, garbage, and the pointers of freed objects and of other kinds of objects, without dereferencing
//! them.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope::trace::{HeldLocks, LockRoom};

use crate::border::Failure;
use crate::forks::Shared;

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
