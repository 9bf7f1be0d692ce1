//! What programs do with events.

use opscope_border::{Out, exported};

use super::table::{self, aclrtEvent, event};
use crate::border::Failure;
use crate::contexts::{aclrtStream, check_current, limit, stream};
use crate::handles::pointer;
use crate::last_error::runtime_call;

/// For waits, for order between streams, for times: every event is for all of it.
const FLAGS: u32 = 1 | 2 | 8;

/// Creates an event.
#[exported(runtime_call)]
pub fn aclrtCreateEvent(event: Out<'_, aclrtEvent>) -> Result<(), Failure> {
    create(event, FLAGS)
}

/// Creates an event. Flags change nothing.
#[exported(runtime_call)]
pub fn aclrtCreateEventWithFlag(event: Out<'_, aclrtEvent>, flags: u32) -> Result<(), Failure> {
    create(event, flags)
}

/// Creates an event. Flags change nothing.
#[exported(runtime_call)]
pub fn aclrtCreateEventExWithFlag(event: Out<'_, aclrtEvent>, flags: u32) -> Result<(), Failure> {
    create(event, flags)
}

fn create(event: Out<'_, aclrtEvent>, flags: u32) -> Result<(), Failure> {
    let event = event.place("event")?;
    if flags & !FLAGS != 0 {
        return Err(Failure::unsupported(&format!("flag {flags:#x} of an event")));
    }
    check_current()?;
    event.write(pointer(table::create()));
    Ok(())
}

/// Ends an event. Streams that wait for it still do.
#[exported(runtime_call)]
pub fn aclrtDestroyEvent(event: aclrtEvent) -> Result<(), Failure> {
    table::take(event).map(drop)
}

/// Sets the event behind what was queued in a stream so far.
#[exported(runtime_call)]
pub fn aclrtRecordEvent(of: aclrtEvent, on: aclrtStream) -> Result<(), Failure> {
    event(of)?.record_in(&stream(on)?)
}

/// Makes the event as it was before it was recorded, when a stream comes to this.
#[exported(runtime_call)]
pub fn aclrtResetEvent(of: aclrtEvent, on: aclrtStream) -> Result<(), Failure> {
    event(of)?.reset_in(&stream(on)?)
}

/// Makes a stream wait for the event before it does what is queued from now on.
#[exported(runtime_call)]
pub fn aclrtStreamWaitEvent(on: aclrtStream, of: aclrtEvent) -> Result<(), Failure> {
    event(of)?.wait_in(&stream(on)?)
}

/// Waits for the event.
#[exported(runtime_call)]
pub fn aclrtSynchronizeEvent(of: aclrtEvent) -> Result<(), Failure> {
    event(of)?.record().map_or(Ok(()), |record| record.synchronize(None))
}

/// Waits for the event, with a time in milliseconds.
#[exported(runtime_call)]
pub fn aclrtSynchronizeEventWithTimeout(of: aclrtEvent, milliseconds: i32) -> Result<(), Failure> {
    let event = event(of)?;
    let limit = limit(milliseconds, 0)?;
    event.record().map_or(Ok(()), |record| record.synchronize(limit))
}
