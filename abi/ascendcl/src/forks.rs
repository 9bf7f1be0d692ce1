//! What a fork leaves of this library: the child has none of the threads, so it begins with its copy of the memory
//! only.

use std::sync::atomic::{AtomicU64, Ordering};

use opscope::trace::{ForkRoom, HeldLocks, LockRoom};
use opscope_sys::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many forks are between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Returns how many forks are between the first process and this one. Counting begins with the first `count_forks`.
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

/// State that all threads share, behind a lock that forks hold. No thread holds two of these locks at once.
pub struct Shared<T: Send + Sync + 'static> {
    value: RwLock<T>,
    room: ForkRoom,
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// `hold` is a function that calls `held`.
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
        // Without memory for the registration, the child of a fork may hang.
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
