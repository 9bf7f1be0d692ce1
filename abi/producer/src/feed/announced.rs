use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::consumers::{self, Consumer, ConsumerSet};

/// The consumers to which something was announced.
#[derive(Default)]
pub(super) struct Announced {
    known: AtomicU32,
    /// Held while it is announced, so that other threads wait until the consumers know it.
    turn: Mutex<()>,
}

thread_local! {
    /// Whether this thread is announcing something.
    static ANNOUNCING: Cell<bool> = const { Cell::new(false) };
}

impl Announced {
    /// Announces it to those of these consumers that do not know it yet.
    #[inline]
    pub fn to(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) {
        if wanting & !self.known.load(Ordering::Acquire) != 0 {
            self.to_new_ones(wanting, tell);
        }
    }

    #[cold]
    fn to_new_ones(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) {
        // A consumer that runs a model while something is announced to it comes here again, and would wait for itself.
        if ANNOUNCING.replace(true) {
            return;
        }
        self.in_turn(wanting, tell);
        ANNOUNCING.set(false);
    }

    fn in_turn(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.load(Ordering::Acquire);
        consumers::of(wanting & !known).for_each(tell);
        self.known.store(known | wanting, Ordering::Release);
    }

    /// Returns the consumers to which it was announced.
    pub fn known_to(&self) -> impl Iterator<Item = &'static Consumer> + use<> {
        consumers::of(self.known.load(Ordering::Acquire))
    }
}
