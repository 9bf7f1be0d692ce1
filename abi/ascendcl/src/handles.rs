//! Handles of contexts, streams and events: numbers that look like pointers. None is ever used twice, and none is ever read through,
//! so one that was freed, or that the program made up, is answered with a code.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

/// What a handle is of.
#[derive(Clone, Copy)]
pub enum Kind {
    Context = 1,
    Stream = 2,
    Event = 3,
}

/// What the handles of one kind stand for.
pub struct Handles<T> {
    kind: Kind,
    /// How many were made.
    made: usize,
    known: BTreeMap<usize, Arc<T>>,
}

impl<T> Handles<T> {
    pub const fn new(kind: Kind) -> Self {
        Self { kind, made: 0, known: BTreeMap::new() }
    }

    /// Returns the number that the next `insert` gives.
    pub fn next(&self) -> usize {
        // No memory of a program is there, and it is aligned as memory is.
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

    /// Removes what is asked for, and returns it.
    pub fn take(&mut self, is_asked_for: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let (taken, kept) = std::mem::take(&mut self.known).into_iter().partition(|(_, value)| is_asked_for(value));
        self.known = kept;
        let taken: BTreeMap<usize, Arc<T>> = taken;
        taken.into_values().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.known.values()
    }

    /// Makes all handles unknown. What they stood for is not dropped: in the child of a fork, its locks may be held for ever.
    pub fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.known));
    }
}

/// Returns a handle as programs have it.
pub fn pointer(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}
