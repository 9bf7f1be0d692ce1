//! Turns for threads that call foreign functions. A lock would not work, because such a function may wait for another
//! thread that needs the same lock.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a thread waits for another thread's turn to end. The other thread may be in a function of a tool that waits
/// for this one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Work that only one thread does at a time. Threads that wait for it give up after a time limit.
///
/// It contains no lock. The child of a fork does not have the parent's other threads, so it may take over their turns.
#[derive(Default)]
pub struct Turn {
    /// The process in the upper half and the thread in the lower half whose turn it is; 0 if it is free.
    owner: AtomicU64,
    /// How many turns have ended: the word that waiting threads watch.
    ended: AtomicU32,
}

/// The turn of the calling thread, which ends when this is dropped.
pub struct TurnGuard<'a>(&'a Turn);

impl Turn {
    /// Returns a turn that is free.
    pub const fn new() -> Self {
        Self { owner: AtomicU64::new(0), ended: AtomicU32::new(0) }
    }

    /// Waits for the calling thread's turn. Returns `None` if the thread has it already, or if another thread keeps it
    /// for 5 seconds.
    pub fn take(&self) -> Option<TurnGuard<'_>> {
        self.take_within(PATIENCE)
    }

    /// Does the same as [`take`](Self::take), but does not wait.
    pub fn try_take(&self) -> Option<TurnGuard<'_>> {
        self.take_within(Duration::ZERO)
    }

    fn take_within(&self, patience: Duration) -> Option<TurnGuard<'_>> {
        let deadline = Instant::now() + patience;
        let process = u64::from(std::process::id()) << 32;
        let caller = process | u64::from(opscope_sys::thread_id());
        loop {
            // Loaded before the owner, so that a turn that ends after this wakes the wait below, or prevents it.
            let ended = self.ended.load(Ordering::SeqCst);
            let owner = self.owner.load(Ordering::SeqCst);
            if owner >> 32 != process >> 32 {
                let taken = self.owner.compare_exchange(owner, caller, Ordering::SeqCst, Ordering::SeqCst);
                if taken.is_ok() {
                    return Some(TurnGuard(self));
                }
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if owner == caller || left.is_zero() {
                return None;
            }
            self.await_end(ended, left);
        }
    }

    /// Waits until more turns than `ended` have ended, or the time is over. It may return early.
    fn await_end(&self, ended: u32, patience: Duration) {
        let patience = libc::timespec {
            tv_sec: patience.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        // SAFETY: the word lives as long as this, and the kernel only reads both.
        unsafe {
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, self.ended.as_ptr(), operation, ended, &raw const patience);
        }
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        let Turn { owner, ended } = self.0;
        owner.store(0, Ordering::SeqCst);
        ended.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the word lives as long as this, and the kernel only looks for threads that wait for it.
        unsafe {
            let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, ended.as_ptr(), operation, i32::MAX, ptr::null::<libc::timespec>());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    #[test]
    fn a_turn_is_one_threads_and_waits_neither_for_itself_nor_for_ever() {
        let turn = &Turn::new();
        let taken = turn.take().expect("nobody has it");
        assert!(turn.take().is_none(), "it is this thread's already");
        thread::scope(|scope| {
            assert!(scope.spawn(|| turn.try_take().is_none()).join().expect("no panic"));
            // Joined while the turn is kept: a lock would wait forever.
            let short = Duration::from_millis(10);
            assert!(scope.spawn(move || turn.take_within(short).is_none()).join().expect("no panic"));
        });
        drop(taken);
        assert!(turn.try_take().is_some());
    }

    #[test]
    fn turns_follow_each_other() {
        let (turn, count) = (Turn::new(), Mutex::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _taken = turn.take().expect("each turn is short");
                        *count.try_lock().expect("no other thread's turn") += 1;
                    }
                });
            }
        });
        assert_eq!(*count.lock().expect("no panic"), 400);
    }
}
