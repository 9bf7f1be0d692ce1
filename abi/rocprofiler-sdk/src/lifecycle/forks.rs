use std::any::Any;

use opscope_trace::{ForkRoom, HeldLocks};

use super::{clients, finalize};
use crate::border::say;
use crate::{buffers, contexts, correlation, markers, producer, services};

/// The locks of this library during a fork, so that the child never finds one locked by a thread that it does not have. No thread
/// holds two of them at once.
struct Locks(#[expect(dead_code, reason = "they are held")] Vec<Box<dyn Any>>);

impl HeldLocks for Locks {
    fn reset_in_child(self: Box<Self>) {}
}

/// Holds the locks across every later fork.
pub fn hold_locks_across_forks() {
    static ROOM: ForkRoom = ForkRoom::new(|| {
        let own: [Box<dyn Any>; 2] = [Box::new(clients::lock()), Box::new(finalize::lock())];
        let rooms = [
            contexts::locks(),
            buffers::locks(),
            correlation::locks(),
            services::locks(),
            markers::locks(),
            producer::locks(),
        ];
        Box::new(Locks(rooms.into_iter().flatten().chain(own).collect())) as Box<dyn HeldLocks>
    });
    if ROOM.register().is_err() {
        say("the child of a fork may hang: the system has no memory to prepare for it");
    }
}
