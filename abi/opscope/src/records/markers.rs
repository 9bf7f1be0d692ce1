use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;

use opscope::clock::{Ticks, Timestamp};
use opscope::trace::{
    ExternalId, NameId, Range, counter, current_correlation, intern, mark, mark_named, pop_external, push_external,
    range, range_named,
};

use super::layout::opscope_correlation_t;
use super::names::text_for_c;
use crate::border::opscope_status_t::{self, OPSCOPE_ERROR_INVALID_STATE, OPSCOPE_ERROR_NOT_FOUND};
use crate::border::{Failure, call, out, read_text, write_out};

thread_local! {
    /// The ranges that this thread has begun, the innermost last. A thread that ends, ends them.
    static RANGES: RefCell<Vec<Range>> = const { RefCell::new(Vec::new()) };
}

/// Begins a named range of the calling thread. Ranges of a thread are nested.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_range_push(name: *const c_char) -> opscope_status_t {
    // SAFETY: as the caller promises.
    call(|| begin(range(unsafe { read_text(name, "name")? })))
}

/// As `opscope_range_push`, by the number of a name: the name is not looked up, so the number is not checked.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_range_push_named(name: u32) -> opscope_status_t {
    call(|| begin(range_named(NameId(name))))
}

/// Ends the innermost range of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_range_pop() -> opscope_status_t {
    call(|| {
        let ended = RANGES.try_with(|ranges| ranges.borrow_mut().pop()).ok().flatten();
        let none = || Failure::new(OPSCOPE_ERROR_INVALID_STATE, "this thread has no open range; push one first");
        ended.map(drop).ok_or_else(none)
    })
}

/// Marks this moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_mark(name: *const c_char) -> opscope_status_t {
    call(|| {
        // SAFETY: as the caller promises.
        mark(unsafe { read_text(name, "name")? });
        Ok(())
    })
}

/// As `opscope_mark`, by the number of a name.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_mark_named(name: u32) -> opscope_status_t {
    call(|| {
        mark_named(NameId(name));
        Ok(())
    })
}

/// Records the value of a counter, by the number of its name.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_counter(name: u32, value: f64) -> opscope_status_t {
    call(|| {
        counter(NameId(name), value);
        Ok(())
    })
}

/// Writes the number of a name to `number`: a new one at the first call, the same one at every later call. Names are kept
/// until the process ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_intern(name: *const c_char, number: *mut u32) -> opscope_status_t {
    call(|| {
        let number = out(number, "number")?;
        // SAFETY: as the caller promises.
        let id = intern(unsafe { read_text(name, "name")? });
        // SAFETY: as the caller promises.
        unsafe { write_out(number, id.0, "number") }
    })
}

/// Returns the text of a name's number; NULL for a number that is no name. The text is kept until the process ends.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_name(number: u32) -> *const c_char {
    let mut pointer = ptr::null();
    call(|| {
        let unknown =
            || Failure::new(OPSCOPE_ERROR_NOT_FOUND, format!("{number} is no name; opscope_intern returns names"));
        pointer = text_for_c(NameId(number)).ok_or_else(unknown)?;
        Ok(())
    });
    pointer
}

/// Pushes an id of the program onto the calling thread's stack. Records carry the topmost one.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_push_external(external: u64) -> opscope_status_t {
    call(|| {
        push_external(ExternalId(external));
        Ok(())
    })
}

/// Takes the topmost id off the calling thread's stack, and writes it to `external` unless that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_pop_external(external: *mut u64) -> opscope_status_t {
    call(|| {
        let none = || Failure::new(OPSCOPE_ERROR_INVALID_STATE, "this thread has no external id; push one first");
        let popped = pop_external().ok_or_else(none)?;
        if !external.is_null() {
            // SAFETY: it is not NULL, and the caller promises that it is writable.
            unsafe { external.write(popped.0) };
        }
        Ok(())
    })
}

/// Writes the ids of the work that the calling thread does at the moment to `correlation`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_correlation(correlation: *mut opscope_correlation_t) -> opscope_status_t {
    let current = current_correlation();
    let value = opscope_correlation_t { internal: current.internal.0, external: current.external.0 };
    // SAFETY: as the caller promises.
    call(|| unsafe { write_out(correlation, value, "correlation") })
}

/// Returns a reading of the clock in ticks, as records have them.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_ticks() -> u64 {
    Ticks::now().as_raw()
}

/// Returns the time in nanoseconds of CLOCK_BOOTTIME.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_timestamp() -> u64 {
    Timestamp::now().as_nanos()
}

fn begin(range: Range) -> Result<(), Failure> {
    let ends = |_| Failure::new(OPSCOPE_ERROR_INVALID_STATE, "the thread ends, and has no place for ranges any more");
    RANGES.try_with(|ranges| ranges.borrow_mut().push(range)).map_err(ends)
}
