//! What a thread is in the middle of, as its own signal handlers see it.
//!
//! A handler runs on the thread that it interrupts. If that thread holds a lock of this library, a call of the handler must not
//! wait for the lock. So a thread counts the calls that it is inside of, and a record that finds it there is dropped. Nothing
//! can be locked to count it, so it is noted here, in memory of the thread. The interrupted call counts it when it ends.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// A call that the thread is inside of, until this is dropped: it holds a lock, or changes what is the thread's own.
#[derive(Debug)]
pub struct Inside {
    _thread: PhantomData<*const ()>,
}

/// Records of one kind that were dropped, and not counted yet.
struct Dropped {
    /// What they are, see [`note_dropped`]; [`FREE`], or [`TAKEN`].
    key: AtomicU64,
    records: AtomicU64,
}

const FREE: u64 = 0;
/// They are being counted.
const TAKEN: u64 = u64::MAX;

/// The most kinds of records that are noted at once. More than that are not counted.
const PLACES: usize = 16;

thread_local! {
    // These have no destructors, so reaching them allocates nothing.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static ANY_DROPPED: Cell<bool> = const { Cell::new(false) };
    static DROPPED: [Dropped; PLACES] =
        const { [const { Dropped { key: AtomicU64::new(FREE), records: AtomicU64::new(0) } }; PLACES] };
}

/// Which function counts a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// That of buffers.
    Buffers = 0,
    /// That of contexts.
    Contexts = 1,
    /// Those of a test, whose process has buffers and contexts, too.
    #[cfg(test)]
    OfATest = 2,
    #[cfg(test)]
    OfATestToo = 3,
}

/// Counts records by their key.
type Count = fn(key: u64, records: u64);

static COUNTERS: [OnceLock<Count>; 4] = [const { OnceLock::new() }; 4];

/// The bits of a key from this one on say which of them counts.
const COUNTER_SHIFT: u32 = 62;

/// Returns whether the thread is inside of a call. In a signal handler it is the interrupted one.
#[inline]
pub(crate) fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Sets a function that counts records by their key. Later calls have no effect.
pub(crate) fn set_counter(counter: Counter, count: Count) {
    COUNTERS[counter as usize].get_or_init(|| count);
}

/// Notes that a record was dropped, to be counted when the thread leaves its calls. The key says what it was: at least 1, below
/// 2^62. This is made for handlers: it takes no lock and allocates nothing.
pub(crate) fn note_dropped(counter: Counter, key: u64) {
    let key = key | (counter as u64) << COUNTER_SHIFT;
    DROPPED.with(|places| {
        let is_place = |place: &&Dropped| {
            let known = place.key.compare_exchange(FREE, key, Ordering::Relaxed, Ordering::Relaxed);
            known.is_ok() || known == Err(key)
        };
        if let Some(place) = places.iter().find(is_place) {
            place.records.fetch_add(1, Ordering::Relaxed);
            ANY_DROPPED.set(true);
        }
    });
}

/// Counts what was noted on this thread, unless it is inside of a call, which counts it when it ends.
pub(crate) fn count_noted() {
    if !is_inside() && ANY_DROPPED.get() {
        count_dropped();
    }
}

/// Counts what was noted.
#[cold]
fn count_dropped() {
    // A handler that runs meanwhile finds the thread inside again, and notes more.
    while ANY_DROPPED.replace(false) {
        DEPTH.set(1);
        DROPPED.with(|places| {
            for place in places {
                let key = place.key.swap(TAKEN, Ordering::Relaxed);
                let records = place.records.swap(0, Ordering::Relaxed);
                place.key.store(FREE, Ordering::Relaxed);
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

/// Calls a function of the user's in the middle of a call that holds nothing: the thread is inside of no call meanwhile.
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

    /// What was counted, by key.
    static COUNTED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

    fn count(key: u64, records: u64) {
        COUNTED.lock().expect("no panic").push((key, records));
        // A handler that interrupts the counting.
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

        // More kinds than there are places: those that were noted are counted, and their places are free again.
        for key in 100..=100 + PLACES as u64 {
            let inside = Inside::enter();
            note_dropped(Counter::OfATest, key);
            drop(inside);
        }
        let all: Vec<_> = (100..=100 + PLACES as u64).map(|key| (key, 1)).collect();
        assert_eq!(*COUNTED.lock().expect("no panic"), all);
    }
}
