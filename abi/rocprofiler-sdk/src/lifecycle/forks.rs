use std::any::Any;

use opscope_trace::{ForkRoom, HeldLocks};

use super::{clients, finalize};
use crate::border::say;
use crate::{buffers, contexts, correlation, markers, producer, services};

/// The guards of this library's locks during a fork. Without them, the child could find a lock held by a thread that it
/// does not have. No thread holds two of these locks at once.
struct Locks {
    /// Kept only to be dropped.
    locks: Vec<Box<dyn Any>>,
    /// Whether the forking thread is finalizing tools.
    is_owner: bool,
}

impl HeldLocks for Locks {
    fn reset_in_child(self: Box<Self>) {
        drop(self.locks);
        finalize::reset_in_child(self.is_owner);
    }
}

/// Registers handlers that hold the locks during every later fork.
pub fn hold_locks_across_forks() {
    static ROOM: ForkRoom = ForkRoom::new(|| {
        let owner = finalize::lock();
        let is_owner = finalize::is_owner(&owner);
        let own: [Box<dyn Any>; 2] = [Box::new(clients::lock()), Box::new(owner)];
        let rooms = [
            contexts::locks(),
            buffers::locks(),
            correlation::locks(),
            services::locks(),
            markers::locks(),
            producer::locks(),
        ];
        let locks = rooms.into_iter().flatten().chain(own).collect();
        Box::new(Locks { locks, is_owner }) as Box<dyn HeldLocks>
    });
    if ROOM.register().is_err() {
        say("the child of a fork may hang: the system has no memory to prepare for it");
    }
}
