use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::consumers::{self, Consumer, ConsumerSet};
use crate::turn::Turn;

/// The announcement of a model or plan, and the consumers that have received it.
#[derive(Default)]
pub(super) struct Announcement {
    known: AtomicU32,
    /// Taken during an announcement, so that other threads wait until the consumers know about it.
    turn: Turn,
}

thread_local! {
    /// Whether this thread is making an announcement.
    static ANNOUNCING: Cell<bool> = const { Cell::new(false) };
}

impl Announcement {
    /// Calls `tell` for each of these consumers that has not received the announcement yet. Returns whether all of them
    /// have received it now.
    #[inline]
    pub fn to(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) -> bool {
        wanting & !self.known.load(Ordering::Acquire) == 0 || self.to_new_ones(wanting, tell)
    }

    #[cold]
    fn to_new_ones(&self, wanting: ConsumerSet, tell: impl FnMut(&Consumer)) -> bool {
        let was_announcing = ANNOUNCING.replace(true);
        // A consumer that runs a model during an announcement comes here again. If it waited, it could wait for itself,
        // or for a thread that waits for it. So it does not wait, and the next run makes the announcement.
        let turn = if was_announcing { self.turn.try_take() } else { self.turn.take() };
        if turn.is_some() {
            let known = self.known.load(Ordering::Acquire);
            consumers::of(wanting & !known).for_each(tell);
            self.known.store(known | wanting, Ordering::Release);
        }
        ANNOUNCING.set(was_announcing);
        turn.is_some()
    }

    /// Returns the consumers that have received the announcement.
    pub fn known_to(&self) -> impl Iterator<Item = &'static Consumer> + use<> {
        consumers::of(self.known.load(Ordering::Acquire))
    }
}
