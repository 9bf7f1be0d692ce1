//! The state of this library in the child of a fork. The child has a copy of the memory, but none of the parent's other
//! threads.

use std::sync::atomic::{AtomicU64, Ordering};

use opscope::trace::{ForkRoom, HeldLocks, LockRoom};
use opscope_sys::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many forks separate this process from the one that started counting.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Returns how many forks separate this process from the one that called `count_forks` first.
pub fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Starts counting forks.
pub fn count_forks() {
    struct Counted;
    impl HeldLocks for Counted {
        fn reset_in_child(self: Box<Self>) {
            FORKS.fetch_add(1, Ordering::Relaxed);
        }
    }
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(Counted));
    let _ = ROOM.register();
}

/// State that all threads share, behind a lock that is held during forks. No thread holds two of these locks at once.
pub struct Shared<T: Send + Sync + 'static> {
    value: RwLock<T>,
    room: ForkRoom,
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// Makes shared state. `hold` must call `held` of this state.
    pub const fn new(value: T, hold: LockRoom) -> Self {
        Self { value: RwLock::new(value), room: ForkRoom::new(hold) }
    }

    pub fn lock(&'static self) -> RwLockWriteGuard<'static, T> {
        self.register();
        self.write()
    }

    pub fn read(&'static self) -> RwLockReadGuard<'static, T> {
        self.register();
        self.value.read()
    }

    /// Locks it for a fork. In the child, `reset` is called.
    pub fn held(&'static self, reset: fn(&mut T)) -> Box<dyn HeldLocks> {
        Box::new(LockedState { value: self.write(), reset })
    }

    fn register(&self) {
        // If there is no memory for the registration, the child of a fork may hang.
        let _ = self.room.register();
    }

    fn write(&'static self) -> RwLockWriteGuard<'static, T> {
        self.value.write()
    }
}

struct LockedState<T: 'static> {
    value: RwLockWriteGuard<'static, T>,
    reset: fn(&mut T),
}

impl<T> HeldLocks for LockedState<T> {
    fn reset_in_child(mut self: Box<Self>) {
        (self.reset)(&mut self.value);
    }
}
