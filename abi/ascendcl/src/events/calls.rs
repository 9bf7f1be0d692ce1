//! The functions for events.

use opscope_border::{Out, exported};

use super::table::{self, aclrtEvent, event};
use crate::border::Failure;
use crate::contexts::{aclrtStream, check_current, limit, stream};
use crate::handles::pointer;
use crate::last_error::runtime_call;

/// The flags for waiting, for the order between streams, and for times. Every event supports all of these.
const FLAGS: u32 = 1 | 2 | 8;

/// Creates an event.
#[exported(runtime_call)]
pub fn aclrtCreateEvent(event: Out<'_, aclrtEvent>) -> Result<(), Failure> {
    create(event, FLAGS)
}

/// Creates an event. The flags have no effect.
#[exported(runtime_call)]
pub fn aclrtCreateEventWithFlag(event: Out<'_, aclrtEvent>, flags: u32) -> Result<(), Failure> {
    create(event, flags)
}

/// Creates an event. The flags have no effect.
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

/// Destroys an event. Streams that wait for it continue to wait.
#[exported(runtime_call)]
pub fn aclrtDestroyEvent(event: aclrtEvent) -> Result<(), Failure> {
    table::take(event).map(drop)
}

/// Records the event in a stream, after the work that was queued so far.
#[exported(runtime_call)]
pub fn aclrtRecordEvent(of: aclrtEvent, on: aclrtStream) -> Result<(), Failure> {
    event(of)?.record_in(&stream(on)?)
}

/// Queues a reset in a stream: it returns the event to the state of one that was never recorded.
#[exported(runtime_call)]
pub fn aclrtResetEvent(of: aclrtEvent, on: aclrtStream) -> Result<(), Failure> {
    event(of)?.reset_in(&stream(on)?)
}

/// Makes a stream wait for the event before it does work that is queued from now on.
#[exported(runtime_call)]
pub fn aclrtStreamWaitEvent(on: aclrtStream, of: aclrtEvent) -> Result<(), Failure> {
    event(of)?.wait_in(&stream(on)?)
}

/// Waits until the stream in which the event was recorded last has reached it.
#[exported(runtime_call)]
pub fn aclrtSynchronizeEvent(of: aclrtEvent) -> Result<(), Failure> {
    event(of)?.record().map_or(Ok(()), |record| record.synchronize(None))
}

/// Does the same as aclrtSynchronizeEvent, with a timeout in milliseconds.
#[exported(runtime_call)]
pub fn aclrtSynchronizeEventWithTimeout(of: aclrtEvent, milliseconds: i32) -> Result<(), Failure> {
    let event = event(of)?;
    let limit = limit(milliseconds, 0)?;
    event.record().map_or(Ok(()), |record| record.synchronize(limit))
}
