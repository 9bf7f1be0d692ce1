use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;

use opscope::clock::{Ticks, Timestamp};
use opscope::trace::{
    ExternalId, Inside, Kind, NameId, Range, TraceError, current_correlation, intern, interrupts_a_call, mark,
    pop_external, push_external, range, range_named, try_counter, try_mark_named, wanted,
};
use opscope_border::{Answer, Out, Text, exported, value};

use super::kernel::text_for_c;
use super::layout::opscope_correlation_t;
use crate::border::opscope_status_t::{OPSCOPE_ERROR_BUSY, OPSCOPE_ERROR_INVALID_STATE, OPSCOPE_ERROR_NOT_FOUND};
use crate::border::{Failure, anywhere, opscope_status_t};

thread_local! {
    /// The ranges that this thread has begun, the innermost last. They end with the thread.
    static RANGES: RefCell<Vec<Range>> = const { RefCell::new(Vec::new()) };
}

/// Begins a named range on the calling thread. The ranges of a thread are nested.
///
/// A signal handler may call this with a name that was used before, and must then end the range before it returns. If
/// it interrupts another call of this library on its thread, the range is dropped: it is counted, and the push and its
/// pop return `OPSCOPE_ERROR_BUSY`.
#[exported]
pub fn opscope_range_push(name: Text<'_>) -> opscope_status_t {
    if interrupts_a_call() {
        drop(range(""));
        return OPSCOPE_ERROR_BUSY;
    }
    Answer::answer(|| begin(range(name.str("name")?)))
}

/// Does the same as `opscope_range_push`, by the number of a name. The name is not looked up, so the number is not
/// checked.
#[exported]
pub fn opscope_range_push_named(name: u32) -> opscope_status_t {
    if interrupts_a_call() {
        drop(range_named(NameId(name)));
        return OPSCOPE_ERROR_BUSY;
    }
    Answer::answer(|| begin(range_named(NameId(name))))
}

/// Ends the innermost range of the calling thread. A signal handler may end a range that it began.
#[exported]
pub fn opscope_range_pop() -> Result<(), Failure> {
    let ended = {
        let _inside = Inside::enter();
        RANGES.try_with(|ranges| ranges.borrow_mut().pop()).ok().flatten()
    };
    let none = || Failure::new(OPSCOPE_ERROR_INVALID_STATE, "this thread has no open range; push one first");
    ended.map(drop).ok_or_else(none)
}

/// Marks this point in time.
///
/// A signal handler may call this with a name that was used before. If it interrupts another call of this library on
/// its thread, the mark is dropped: it is counted, and the call returns `OPSCOPE_ERROR_BUSY`.
#[exported]
pub fn opscope_mark(name: Text<'_>) -> opscope_status_t {
    if interrupts_a_call() && wanted(Kind::Marker) {
        mark("");
        return OPSCOPE_ERROR_BUSY;
    }
    anywhere(|| {
        mark(name.str("name")?);
        Ok(())
    })
}

/// Does the same as `opscope_mark`, by the number of a name. In a signal handler, the mark is dropped more rarely.
#[exported]
pub fn opscope_mark_named(name: u32) -> opscope_status_t {
    emitted(|| try_mark_named(NameId(name)))
}

/// Records the value of a counter, by the number of its name. A signal handler may call this, like
/// `opscope_mark_named`.
#[exported]
pub fn opscope_counter(name: u32, value: f64) -> opscope_status_t {
    emitted(|| try_counter(NameId(name), value))
}

/// Writes the number of a name to `number`: a new one at the first call, and the same one at every later call. Names
/// are kept until the process ends.
#[exported]
pub fn opscope_intern(name: Text<'_>, number: Out<'_, u32>) -> Result<(), Failure> {
    let number = number.place("number")?;
    let id = intern(name.str("name")?);
    number.write(id.0);
    Ok(())
}

/// Returns the text for a name's number; NULL for any other number. The text is kept until the process ends.
#[exported]
pub fn opscope_name(number: u32) -> *const c_char {
    value(ptr::null(), || {
        let unknown =
            || Failure::new(OPSCOPE_ERROR_NOT_FOUND, format!("{number} is not a name; opscope_intern returns names"));
        text_for_c(NameId(number)).ok_or_else(unknown)
    })
}

/// Pushes an id of the program onto the calling thread's stack. Records carry the topmost id.
#[exported]
pub fn opscope_push_external(external: u64) -> Result<(), Failure> {
    push_external(ExternalId(external));
    Ok(())
}

/// Pops the topmost id from the calling thread's stack, and writes it to `external` unless that is NULL.
#[exported]
pub fn opscope_pop_external(external: Out<'_, u64>) -> Result<(), Failure> {
    let none = || Failure::new(OPSCOPE_ERROR_INVALID_STATE, "this thread has no external id; push one first");
    let popped = pop_external().ok_or_else(none)?;
    external.write_if_given(popped.0);
    Ok(())
}

/// Writes to `correlation` the ids of the work that the calling thread is doing.
#[exported]
pub fn opscope_correlation(correlation: Out<'_, opscope_correlation_t>) -> Result<(), Failure> {
    let current = current_correlation();
    let value = opscope_correlation_t { internal: current.internal.0, external: current.external.0 };
    correlation.place("correlation")?.write(value);
    Ok(())
}

/// Returns a reading of the clock in ticks, as in records.
#[exported]
pub fn opscope_ticks() -> u64 {
    Ticks::now().as_raw()
}

/// Returns the time in nanoseconds of CLOCK_BOOTTIME.
#[exported]
pub fn opscope_timestamp() -> u64 {
    Timestamp::now().as_nanos()
}

/// Emits a record. One that does not fit is counted by the buffer. If one is dropped in a signal handler, the program
/// receives the status but no text, because the interrupted call may be in the allocator.
fn emitted(emit: impl FnOnce() -> Result<(), TraceError>) -> opscope_status_t {
    let mut is_dropped = false;
    let status = anywhere(|| {
        is_dropped = matches!(emit(), Err(TraceError::Interrupted));
        Ok(())
    });
    if is_dropped { OPSCOPE_ERROR_BUSY } else { status }
}

fn begin(range: Range) -> Result<(), Failure> {
    let _inside = Inside::enter();
    let ends = |_| Failure::new(OPSCOPE_ERROR_INVALID_STATE, "the thread ends, and has no place for ranges any more");
    RANGES.try_with(|ranges| ranges.borrow_mut().push(range)).map_err(ends)
}
