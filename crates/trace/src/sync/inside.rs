//! The calls that a thread is inside of, as its own signal handlers see them.
//!
//! A handler runs on the thread that it interrupts. If that thread holds a lock of this library, a call of the handler
//! must not wait for the lock. So a thread counts the calls that it is inside of, and a record that a handler emits
//! meanwhile is dropped. The handler cannot take the lock under which drops are counted. So the drop is noted here, in
//! memory of the thread, and the interrupted call counts it when it ends.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// A guard for a call: until it is dropped, the thread is inside of the call. Such a call holds a lock, or changes
/// thread-local data.
#[derive(Debug)]
pub struct Inside {
    _thread: PhantomData<*const ()>,
}

/// Records of one kind that were dropped and are not counted yet.
struct Dropped {
    /// Which records these are, see [`note_dropped`]; or [`FREE`], or [`TAKEN`].
    key: AtomicU64,
    records: AtomicU64,
}

const FREE: u64 = 0;
/// The key of records that are being counted.
const TAKEN: u64 = u64::MAX;

/// The most kinds of records that are noted at once. Further kinds are not counted.
const ENTRIES: usize = 16;

thread_local! {
    // These have no destructors, so access to them allocates nothing.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static ANY_DROPPED: Cell<bool> = const { Cell::new(false) };
    static DROPPED: [Dropped; ENTRIES] =
        const { [const { Dropped { key: AtomicU64::new(FREE), records: AtomicU64::new(0) } }; ENTRIES] };
}

/// The functions that count records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// The function of buffers.
    Buffers = 0,
    /// The function of contexts.
    Contexts = 1,
    /// The function of a test, whose process has buffers and contexts, too.
    #[cfg(test)]
    OfATest = 2,
    #[cfg(test)]
    OfATestToo = 3,
}

/// A function that counts records by their key.
type Count = fn(key: u64, records: u64);

static COUNTERS: [OnceLock<Count>; 4] = [const { OnceLock::new() }; 4];

/// The bits of a key from this one on say which function counts it.
const COUNTER_SHIFT: u32 = 62;

/// Returns whether the thread is inside of a call. In a signal handler, that is the interrupted call.
#[inline]
pub(crate) fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Sets a function that counts records by their key. Later calls have no effect.
pub(crate) fn set_counter(counter: Counter, count: Count) {
    COUNTERS[counter as usize].get_or_init(|| count);
}

/// Notes that a record was dropped. It is counted when the thread leaves its calls. The key, at least 1 and below 2^62,
/// identifies the records. Handlers may call this: it takes no lock and allocates nothing.
pub(crate) fn note_dropped(counter: Counter, key: u64) {
    let key = key | (counter as u64) << COUNTER_SHIFT;
    DROPPED.with(|entries| {
        let is_ours = |entry: &&Dropped| {
            let known = entry.key.compare_exchange(FREE, key, Ordering::Relaxed, Ordering::Relaxed);
            known.is_ok() || known == Err(key)
        };
        if let Some(entry) = entries.iter().find(is_ours) {
            entry.records.fetch_add(1, Ordering::Relaxed);
            ANY_DROPPED.set(true);
        }
    });
}

/// Counts the drops that were noted on this thread. If the thread is inside of a call, that call does so when it ends.
pub(crate) fn count_noted() {
    if !is_inside() && ANY_DROPPED.get() {
        count_dropped();
    }
}

/// Counts the drops that were noted.
#[cold]
fn count_dropped() {
    // A handler that runs meanwhile finds the thread inside of a call, and may note more drops.
    while ANY_DROPPED.replace(false) {
        DEPTH.set(1);
        DROPPED.with(|entries| {
            for entry in entries {
                let key = entry.key.swap(TAKEN, Ordering::Relaxed);
                let records = entry.records.swap(0, Ordering::Relaxed);
                entry.key.store(FREE, Ordering::Relaxed);
                let counter = COUNTERS[(key >> COUNTER_SHIFT) as usize].get();
                if let (1.., Some(count)) = (records, counter) {
                    count(key & ((1 << COUNTER_SHIFT) - 1), records);
                }
            }
        });
        leave(0);
    }
}

#[inline]
fn leave(depth: u32) {
    compiler_fence(Ordering::SeqCst);
    DEPTH.set(depth);
    compiler_fence(Ordering::SeqCst);
}

/// Calls a function of the user's from within a call that holds no lock. Meanwhile the thread counts as inside of no
/// call.
pub(crate) fn outside<T>(function: impl FnOnce() -> T) -> T {
    struct Back(u32);
    impl Drop for Back {
        fn drop(&mut self) {
            leave(self.0);
        }
    }
    let _back = Back(DEPTH.get());
    leave(0);
    function()
}

impl Inside {
    /// Begins a call.
    #[inline]
    pub fn enter() -> Self {
        leave(DEPTH.get() + 1);
        Self { _thread: PhantomData }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        leave(depth);
        if depth == 0 && ANY_DROPPED.get() {
            count_dropped();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The counts, by key.
    static COUNTED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

    fn count(key: u64, records: u64) {
        COUNTED.lock().expect("no panic").push((key, records));
        // This stands for a handler that interrupts the counting.
        if key == 7 && records == 2 {
            note_dropped(Counter::OfATest, 9);
        }
    }

    #[test]
    fn a_function_of_the_users_is_outside_and_its_call_goes_on_behind_it() {
        let (outer, inner) = (Inside::enter(), Inside::enter());
        assert_eq!(outside(|| (is_inside(), 7)), (false, 7));
        assert!(is_inside());
        let unwound = std::panic::catch_unwind(|| outside(|| -> u32 { std::panic::resume_unwind(Box::new(7)) }));
        assert!(unwound.is_err() && is_inside(), "also where it panics");
        // It is as deep as before.
        drop(inner);
        assert!(is_inside());
        drop(outer);
        assert!(!is_inside());
        outside(|| assert!(!is_inside()));
        assert!(!is_inside());
    }

    #[test]
    fn what_is_noted_inside_is_counted_once_when_the_outermost_call_ends() {
        set_counter(Counter::OfATest, count);
        set_counter(Counter::OfATestToo, |key, records| count(key + 1000, records));
        assert!(!is_inside());
        let outer = Inside::enter();
        let inner = Inside::enter();
        note_dropped(Counter::OfATest, 7);
        note_dropped(Counter::OfATestToo, 7);
        note_dropped(Counter::OfATest, 7);
        drop(inner);
        assert!(is_inside() && COUNTED.lock().expect("no panic").is_empty());
        drop(outer);
        assert!(!is_inside());
        assert_eq!(*COUNTED.lock().expect("no panic"), [(7, 2), (1007, 1), (9, 1)]);
        COUNTED.lock().expect("no panic").clear();

        // There are more kinds than entries. Those that were noted are counted, and their entries are free again.
        for key in 100..=100 + ENTRIES as u64 {
            let inside = Inside::enter();
            note_dropped(Counter::OfATest, key);
            drop(inside);
        }
        let all: Vec<_> = (100..=100 + ENTRIES as u64).map(|key| (key, 1)).collect();
        assert_eq!(*COUNTED.lock().expect("no panic"), all);
    }
}
