//! Handles of contexts, streams and events: numbers that look like pointers. They are never reused or dereferenced, so
//! a handle that was freed or made up is recognised, and the call returns a code.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

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
