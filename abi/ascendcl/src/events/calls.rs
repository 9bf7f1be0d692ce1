//! What programs do with events.

use std::ffi::c_int;

use super::table::{self, aclrtEvent, event};
use crate::border::{Failure, out};
use crate::contexts::{aclrtStream, check_current, limit, stream};
use crate::handles::pointer;
use crate::last_error::runtime_call;

/// For waits, for order between streams, for times: every event is for all of it.
const FLAGS: u32 = 1 | 2 | 8;

/// Creates an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEvent(event: *mut aclrtEvent) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { create(event, FLAGS) })
}

/// Creates an event. Flags change nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEventWithFlag(event: *mut aclrtEvent, flags: u32) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { create(event, flags) })
}

/// Creates an event. Flags change nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEventExWithFlag(event: *mut aclrtEvent, flags: u32) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { create(event, flags) })
}

/// # Safety
/// The place is NULL or writable.
unsafe fn create(event: *mut aclrtEvent, flags: u32) -> Result<(), Failure> {
    let event = out(event, "event")?;
    if flags & !FLAGS != 0 {
        return Err(Failure::unsupported(&format!("flag {flags:#x} of an event")));
    }
    check_current()?;
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { event.write(pointer(table::create())) };
    Ok(())
}

/// Ends an event. Streams that wait for it still do.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtDestroyEvent(event: aclrtEvent) -> c_int {
    runtime_call(|| table::take(event).map(drop))
}

/// Sets the event behind what was queued in a stream so far.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtRecordEvent(of: aclrtEvent, on: aclrtStream) -> c_int {
    runtime_call(|| event(of)?.record_in(&stream(on)?))
}

/// Makes the event as it was before it was recorded, when a stream comes to this.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtResetEvent(of: aclrtEvent, on: aclrtStream) -> c_int {
    runtime_call(|| event(of)?.reset_in(&stream(on)?))
}

/// Makes a stream wait for the event before it does what is queued from now on.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtStreamWaitEvent(on: aclrtStream, of: aclrtEvent) -> c_int {
    runtime_call(|| event(of)?.wait_in(&stream(on)?))
}

/// Waits for the event.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeEvent(of: aclrtEvent) -> c_int {
    runtime_call(|| event(of)?.record().map_or(Ok(()), |record| record.synchronize(None)))
}

/// Waits for the event, with a time in milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeEventWithTimeout(of: aclrtEvent, milliseconds: i32) -> c_int {
    runtime_call(|| {
        let event = event(of)?;
        let limit = limit(milliseconds, 0)?;
        event.record().map_or(Ok(()), |record| record.synchronize(limit))
    })
}
