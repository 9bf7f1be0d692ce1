//! The ranges that are open at this moment, on every thread.
//!
//! A range is recorded when it ends. A profile that ends earlier needs it, too. So each thread publishes its open
//! ranges in atomics that only it writes. That costs a few stores, whereas a lock would cost as much as a record.

use std::cell::Cell;
use std::sync::Arc;

use opscope_clock::Ticks;

use crate::record::{
    Correlation, CorrelationId, ExternalId, MarkerOperation, MarkerRecord, NameId, ThreadId, current_thread,
};
use crate::sync::{AtomicU32, AtomicU64, Inside, Mutex, MutexGuard, Ordering, fence, yield_now};

/// The depth to which open ranges are published. Programs rarely nest ranges deeper than ten.
const PUBLISHED: usize = if cfg!(loom) { 2 } else { 64 };

/// The ranges that are open at one moment.
#[derive(Debug, Clone, Default)]
pub struct OpenRanges {
    /// A record for each range, as if it ended at this moment, with the operation [`MarkerOperation::OpenRange`]. The
    /// inner ranges of a thread come first.
    pub records: Vec<MarkerRecord>,
    /// The number of ranges that have no record, because their threads have more than 64 open ranges.
    pub omitted: u64,
}

/// Returns the ranges that are open on any thread and began while a context traced markers.
pub fn open_ranges() -> OpenRanges {
    let mut found = OpenRanges::default();
    let now = Ticks::now();
    for thread in &*threads() {
        thread.read(now, &mut found);
    }
    found
}

/// The open ranges of one thread. Only that thread writes them.
pub(super) struct ThreadRanges {
    thread: AtomicU32,
    /// Odd while the thread changes its ranges.
    version: AtomicU64,
    count: AtomicU32,
    ranges: [Published; PUBLISHED],
}

/// A range as other threads read it.
#[derive(Default)]
struct Published {
    name: AtomicU32,
    start: AtomicU64,
    internal: AtomicU64,
    external: AtomicU64,
}

thread_local! {
    static OWN: OwnRanges = OwnRanges::register();
    /// The number of open ranges of the thread. It has no destructor, so a mark in a signal handler may read it.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The registration of a thread, until the thread ends.
struct OwnRanges(Arc<ThreadRanges>);

static THREADS: Mutex<Vec<Arc<ThreadRanges>>> = Mutex::new(Vec::new());

/// The locked list of the threads that opened ranges.
pub(super) type Lock = MutexGuard<'static, Vec<Arc<ThreadRanges>>>;

pub(super) fn threads() -> Lock {
    THREADS.lock()
}

/// Publishes a range of the calling thread and returns the number of open ranges around it.
pub(super) fn open(name: NameId, start: Ticks, correlation: Correlation) -> u32 {
    let _inside = Inside::enter();
    let around = OWN.try_with(|own| own.0.open(name, start, correlation));
    DEPTH.set(around.map_or(0, |around| around + 1));
    around.unwrap_or(0)
}

/// Withdraws a range of the calling thread.
pub(super) fn close(name: NameId, start: Ticks) {
    let _inside = Inside::enter();
    // A thread that is being torn down has withdrawn all of its ranges.
    DEPTH.set(OWN.try_with(|own| own.0.close(name, start)).unwrap_or(0));
}

/// Returns the number of open ranges of the calling thread.
pub(super) fn depth() -> u32 {
    DEPTH.get()
}

/// Removes the ranges of all other threads in the child of a fork, and stores the new number of the remaining thread.
pub(super) fn reset_after_fork(threads: Lock) {
    // Released first, because a thread that never opened a range is registered below, under the same lock.
    drop(threads);
    let kept = OWN.try_with(|own| {
        self::threads().retain(|thread| Arc::ptr_eq(thread, &own.0));
        own.0.thread.store(current_thread().0, Ordering::Relaxed);
    });
    // A thread that forks while it ends has no open ranges.
    if kept.is_err() {
        self::threads().clear();
    }
}

impl OwnRanges {
    fn register() -> Self {
        let own = Arc::new(ThreadRanges::new());
        threads().push(Arc::clone(&own));
        Self(own)
    }
}

impl Drop for OwnRanges {
    fn drop(&mut self) {
        threads().retain(|thread| !Arc::ptr_eq(thread, &self.0));
    }
}

impl ThreadRanges {
    fn new() -> Self {
        Self {
            thread: AtomicU32::new(current_thread().0),
            version: AtomicU64::new(0),
            count: AtomicU32::new(0),
            ranges: std::array::from_fn(|_| Published::default()),
        }
    }

    fn open(&self, name: NameId, start: Ticks, correlation: Correlation) -> u32 {
        let count = self.count.load(Ordering::Relaxed);
        self.change(|| {
            if let Some(range) = self.ranges.get(count as usize) {
                range.set(name, start, correlation);
            }
            self.count.store(count + 1, Ordering::Relaxed);
        });
        count
    }

    /// Returns the number of ranges that stay open.
    fn close(&self, name: NameId, start: Ticks) -> u32 {
        let count = self.count.load(Ordering::Relaxed);
        let published = &self.ranges[..PUBLISHED.min(count as usize)];
        self.change(|| {
            // It is the innermost one, unless the program drops ranges in another order.
            if let Some(index) = published.iter().rposition(|range| range.is(name, start)) {
                for index in index + 1..published.len() {
                    published[index - 1].copy_from(&published[index]);
                }
                published[published.len() - 1].name.store(0, Ordering::Relaxed);
            }
            self.count.store(count.saturating_sub(1), Ordering::Relaxed);
        });
        count.saturating_sub(1)
    }

    /// Changes the ranges so that a reader sees either all of the change or none of it.
    #[inline]
    fn change(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        change();
        self.version.store(version + 2, Ordering::Release);
    }

    /// Adds the ranges that are open.
    fn read(&self, now: Ticks, found: &mut OpenRanges) {
        /// After this many attempts, a reader assumes that the thread was stopped in the middle of a change, and counts
        /// its ranges as omitted.
        const MOST_ATTEMPTS: usize = 100_000;
        let before = found.records.len();
        for _ in 0..MOST_ATTEMPTS {
            let version = self.version.load(Ordering::Acquire);
            let count = self.count.load(Ordering::Relaxed);
            let published = &self.ranges[..PUBLISHED.min(count as usize)];
            let thread = ThreadId(self.thread.load(Ordering::Relaxed));
            let innermost_first = published.iter().enumerate().rev();
            let records = innermost_first.filter_map(|(depth, range)| range.record(now, thread, depth as u32));
            found.records.extend(records);
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed) {
                found.omitted += u64::from(count) - (found.records.len() - before) as u64;
                return;
            }
            found.records.truncate(before);
            yield_now();
        }
        found.omitted += u64::from(self.count.load(Ordering::Relaxed));
    }
}

impl Published {
    fn set(&self, name: NameId, start: Ticks, correlation: Correlation) {
        self.name.store(name.0, Ordering::Relaxed);
        self.start.store(start.as_raw(), Ordering::Relaxed);
        self.internal.store(correlation.internal.0, Ordering::Relaxed);
        self.external.store(correlation.external.0, Ordering::Relaxed);
    }

    fn is(&self, name: NameId, start: Ticks) -> bool {
        self.name.load(Ordering::Relaxed) == name.0 && self.start.load(Ordering::Relaxed) == start.as_raw()
    }

    fn copy_from(&self, other: &Self) {
        self.set(other.name(), Ticks::from_raw(other.start.load(Ordering::Relaxed)), other.correlation());
    }

    fn name(&self) -> NameId {
        NameId(self.name.load(Ordering::Relaxed))
    }

    fn correlation(&self) -> Correlation {
        Correlation {
            internal: CorrelationId(self.internal.load(Ordering::Relaxed)),
            external: ExternalId(self.external.load(Ordering::Relaxed)),
        }
    }

    /// Returns the record, or `None` if this entry is free.
    fn record(&self, now: Ticks, thread: ThreadId, depth: u32) -> Option<MarkerRecord> {
        let name = self.name();
        let start = Ticks::from_raw(self.start.load(Ordering::Relaxed));
        let (operation, correlation) = (MarkerOperation::OpenRange as u32, self.correlation());
        (name.0 != 0).then_some(MarkerRecord {
            start,
            end: now.max(start),
            correlation,
            name,
            operation,
            thread,
            depth,
        })
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::loom_tests::check;

    #[test]
    fn a_reader_sees_the_ranges_of_one_moment() {
        check(|| {
            let ranges = Arc::new(ThreadRanges::new());
            ranges.open(NameId(1), Ticks::from_raw(1), Correlation::default());
            ranges.open(NameId(2), Ticks::from_raw(2), Correlation::default());
            // The reader is the new thread, so that loom tries a switch to it before each store of this one.
            let reader = {
                let ranges = Arc::clone(&ranges);
                loom::thread::spawn(move || {
                    let mut found = OpenRanges::default();
                    ranges.read(Ticks::from_raw(3), &mut found);
                    let seen = found.records.iter().map(|record| (record.name.0, record.start.as_raw()));
                    (seen.collect::<Vec<_>>(), found.omitted)
                })
            };
            ranges.close(NameId(1), Ticks::from_raw(1));
            let (seen, omitted) = reader.join().expect("it reads");
            let (before, after) = (vec![(2, 2), (1, 1)], vec![(2, 2)]);
            assert!((seen == before || seen == after) && omitted == 0, "{seen:?}, {omitted} omitted");
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn names(ranges: &ThreadRanges) -> (Vec<u32>, u64) {
        let mut found = OpenRanges::default();
        ranges.read(Ticks::from_raw(1_000), &mut found);
        (found.records.iter().map(|record| record.name.0).collect(), found.omitted)
    }

    fn open(ranges: &ThreadRanges, name: u32) {
        ranges.open(NameId(name), Ticks::from_raw(u64::from(name)), Correlation::default());
    }

    fn close(ranges: &ThreadRanges, name: u32) {
        ranges.close(NameId(name), Ticks::from_raw(u64::from(name)));
    }

    #[test]
    fn ranges_may_end_in_any_order() {
        let ranges = ThreadRanges::new();
        (1..=3).for_each(|name| open(&ranges, name));
        close(&ranges, 2);
        assert_eq!(names(&ranges), (vec![3, 1], 0));
        open(&ranges, 4);
        close(&ranges, 1);
        close(&ranges, 4);
        assert_eq!(names(&ranges), (vec![3], 0));
        close(&ranges, 3);
        assert_eq!(names(&ranges), (vec![], 0));
    }

    #[test]
    fn ranges_too_deep_to_publish_are_counted() {
        let ranges = ThreadRanges::new();
        let last = PUBLISHED as u32 + 2;
        (1..=last).for_each(|name| open(&ranges, name));
        assert_eq!(names(&ranges), ((1..=PUBLISHED as u32).rev().collect(), 2));
        close(&ranges, 1);
        assert_eq!(names(&ranges), ((2..=PUBLISHED as u32).rev().collect(), 2));
        (2..=last).for_each(|name| close(&ranges, name));
        assert_eq!(names(&ranges), (vec![], 0));
    }
}
