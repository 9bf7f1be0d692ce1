//! The user's own records: ranges, marks and counters.
//!
//! Correlation ids, from their assignment to a thread to their retirement.

use std::marker::PhantomData;

use opscope_clock::Ticks;

use super::emit::drop_if_interrupting;
use super::{emit, open_ranges, wanted};
use crate::TraceError;
use crate::record::thread::{new_correlation, push_correlation, remove_correlation};
use crate::record::{
    Correlation, CorrelationId, CounterRecord, Kind, MarkerOperation, MarkerRecord, NameId, Operation,
    RetirementRecord, current_correlation, current_thread, intern,
};

/// A range of the thread that began it. It ends when it is dropped.
#[derive(Debug)]
#[must_use = "the range ends where this is dropped"]
pub struct Range {
    /// `None` if markers were not traced when the range began.
    open: Option<Open>,
    _thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Open {
    name: NameId,
    start: Ticks,
    depth: u32,
    correlation: Correlation,
}

/// Begins a named range of the calling thread. It looks the name up under a lock; [`range_named`] does not.
#[inline]
pub fn range(name: &str) -> Range {
    if wanted(Kind::Marker) && !drops(MarkerOperation::Range) { range_named(intern(name)) } else { Range::NOT_TRACED }
}

/// As [`range`], by a name that [`intern`] returned. It costs two clock readings and a record.
#[inline]
pub fn range_named(name: NameId) -> Range {
    let open = (wanted(Kind::Marker) && !drops(MarkerOperation::Range)).then(|| {
        let (correlation, start) = (current_correlation(), Ticks::now());
        Open { name, depth: open_ranges::open(name, start, correlation), start, correlation }
    });
    Range { open, _thread: PhantomData }
}

/// Marks this moment. It looks the name up under a lock; [`mark_named`] does not.
#[inline]
pub fn mark(name: &str) {
    if wanted(Kind::Marker) && !drops(MarkerOperation::Mark) {
        mark_named(intern(name));
    }
}

/// As [`mark`], by a name that [`intern`] returned.
pub fn mark_named(name: NameId) {
    // The buffer counts a record that it could not take. The user's code has no use for the error.
    let _ = try_mark_named(name);
}

/// As [`mark_named`], but returns whether the record was emitted.
///
/// # Errors
/// As [`emit`].
pub fn try_mark_named(name: NameId) -> Result<(), TraceError> {
    let now = Ticks::now();
    let operation = MarkerOperation::Mark as u32;
    emit(&MarkerRecord { start: now, end: now, name, operation, depth: open_ranges::depth(), ..here() })
}

/// Records the value of a counter, by a name that [`intern`] returned.
#[inline]
pub fn counter(name: NameId, value: f64) {
    // As for a mark.
    let _ = try_counter(name, value);
}

/// As [`counter`], but returns whether the record was emitted.
///
/// # Errors
/// As [`emit`].
#[inline]
pub fn try_counter(name: NameId, value: f64) -> Result<(), TraceError> {
    if wanted(Kind::Counter) {
        let record = CounterRecord {
            time: Ticks::now(),
            value,
            correlation: current_correlation(),
            name,
            thread: current_thread(),
            ..CounterRecord::default()
        };
        return emit(&record);
    }
    Ok(())
}

/// Drops and counts a marker if the caller is a signal handler that interrupted another call. Returns whether it did.
fn drops(operation: MarkerOperation) -> bool {
    drop_if_interrupting(Kind::Marker, Operation(operation as u32))
}

fn here() -> MarkerRecord {
    MarkerRecord { correlation: current_correlation(), thread: current_thread(), ..MarkerRecord::default() }
}

fn emit_marker(record: MarkerRecord) {
    // As for a mark.
    let _ = emit(&record);
}

impl Range {
    const NOT_TRACED: Self = Self { open: None, _thread: PhantomData };
}

impl Drop for Range {
    #[inline]
    fn drop(&mut self) {
        if let Some(Open { name, start, depth, correlation }) = self.open
            && !drops(MarkerOperation::Range)
        {
            open_ranges::close(name, start);
            let operation = MarkerOperation::Range as u32;
            emit_marker(MarkerRecord {
                start,
                end: Ticks::now(),
                correlation,
                name,
                operation,
                thread: current_thread(),
                depth,
            });
        }
    }
}

/// Gives the calling thread a new correlation id until the guard is dropped. The records that the thread emits until
/// then belong together. When the guard is dropped, the id is retired: a [`RetirementRecord`] follows the last record
/// with this id.
pub fn correlate() -> CorrelationGuard {
    let id = new_correlation();
    push_correlation(id);
    CorrelationGuard { id, _thread: PhantomData }
}

/// A guard that retires its correlation id, which [`correlate`] assigned, when it is dropped. The thread then has the
/// id of the innermost remaining guard. Guards may be dropped in any order.
#[derive(Debug)]
#[must_use = "the correlation id is retired where this is dropped"]
pub struct CorrelationGuard {
    id: CorrelationId,
    /// Prevents `Send`: the guard must be dropped on the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl Drop for CorrelationGuard {
    fn drop(&mut self) {
        remove_correlation(self.id);
        if wanted(Kind::CorrelationRetirement) {
            // The buffer counts a record that it could not take.
            let _ = emit(&RetirementRecord { time: Ticks::now(), correlation: self.id });
        }
    }
}
