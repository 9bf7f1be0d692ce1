use std::marker::PhantomData;

use opscope_clock::Ticks;

use crate::record::thread::{close_range, current_correlation, current_thread, open_range, open_ranges};
use crate::record::{CounterRecord, MarkerOperation, MarkerRecord};
use crate::{Kind, NameId, emit, intern, wanted};

/// A range that ends when this is dropped, on the thread that began it.
#[derive(Debug)]
#[must_use = "the range ends where this is dropped"]
pub struct Range {
    /// None where nobody wanted markers when it began.
    open: Option<Open>,
    _thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Open {
    name: NameId,
    start: Ticks,
    depth: u32,
}

/// Begins a named range of the calling thread. It looks the name up; [`range_named`] does not.
#[inline]
pub fn range(name: &str) -> Range {
    if wanted(Kind::Marker) { range_named(intern(name)) } else { Range { open: None, _thread: PhantomData } }
}

/// As [`range`], by a name that was looked up before: as cheap as an operator's own record.
#[inline]
pub fn range_named(name: NameId) -> Range {
    let open = wanted(Kind::Marker).then(|| Open { name, depth: open_range(), start: Ticks::now() });
    Range { open, _thread: PhantomData }
}

/// Marks this moment.
#[inline]
pub fn mark(name: &str) {
    if wanted(Kind::Marker) {
        mark_named(intern(name));
    }
}

/// As [`mark`], by a name that was looked up before.
pub fn mark_named(name: NameId) {
    let now = Ticks::now();
    let operation = MarkerOperation::Mark as u32;
    emit_marker(MarkerRecord { start: now, end: now, name, operation, depth: open_ranges(), ..here() });
}

/// Records the value of something, by a name that [`intern`] gave.
#[inline]
pub fn counter(name: NameId, value: f64) {
    if wanted(Kind::Counter) {
        let record = CounterRecord {
            time: Ticks::now(),
            value,
            correlation: current_correlation(),
            name,
            thread: current_thread(),
            ..CounterRecord::default()
        };
        // What a buffer could not take stands in its statistics; the user's code has no use for it.
        let _ = emit(&record);
    }
}

fn here() -> MarkerRecord {
    MarkerRecord { correlation: current_correlation(), thread: current_thread(), ..MarkerRecord::default() }
}

fn emit_marker(record: MarkerRecord) {
    // What a buffer could not take stands in its statistics; the user's code has no use for it.
    let _ = emit(&record);
}

impl Drop for Range {
    #[inline]
    fn drop(&mut self) {
        if let Some(Open { name, start, depth }) = self.open {
            close_range();
            let operation = MarkerOperation::Range as u32;
            emit_marker(MarkerRecord { start, end: Ticks::now(), name, operation, depth, ..here() });
        }
    }
}
