use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::consumers::{self, Consumer};

/// To how many consumers something was announced: to the first of them, in the order in which they were attached.
#[derive(Default)]
pub(super) struct Announced {
    consumers: AtomicUsize,
    /// Held while it is announced, so that other threads wait until the consumers know it.
    turn: Mutex<()>,
}

impl Announced {
    /// Announces it to those of the first `count` consumers that do not know it yet.
    #[inline]
    pub fn to(&self, count: usize, tell: impl FnMut(&Consumer)) {
        if self.consumers.load(Ordering::Acquire) < count {
            self.to_new_ones(count, tell);
        }
    }

    #[cold]
    fn to_new_ones(&self, count: usize, tell: impl FnMut(&Consumer)) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.consumers.load(Ordering::Acquire);
        if known < count {
            consumers::attached().take(count).skip(known).for_each(tell);
            self.consumers.store(count, Ordering::Release);
        }
    }

    /// Returns the consumers to which it was announced.
    pub fn known_to(&self) -> impl Iterator<Item = &'static Consumer> + use<> {
        consumers::attached().take(self.consumers.load(Ordering::Acquire))
    }
}
