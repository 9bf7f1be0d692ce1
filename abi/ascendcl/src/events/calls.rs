//! The functions for events, and the queries about them.

use std::ffi::c_int;

use opscope::clock::Timestamp;
use opscope_border::{Out, exported};

use super::{Event, aclrtEvent, event};
use crate::border::{Failure, codes};
use crate::contexts::{aclrtStream, check_current, limit, stream};
use crate::handles::pointer;
use crate::thread_context::runtime_call;

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
    event.write(pointer(super::create()));
    Ok(())
}

/// Destroys an event. Streams that wait for it continue to wait.
#[exported(runtime_call)]
pub fn aclrtDestroyEvent(event: aclrtEvent) -> Result<(), Failure> {
    super::take(event).map(drop)
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

const COMPLETE: c_int = 0;
const NOT_READY: c_int = 1;

const RECORDED_NOT_READY: c_int = 0;
const RECORDED_COMPLETE: c_int = 1;

/// Writes whether the stream has reached the event.
#[exported]
pub fn aclrtQueryEvent(of: aclrtEvent, status: Out<'_, c_int>) -> c_int {
    let answer = |event: &Event| if is_complete(event) { COMPLETE } else { NOT_READY };
    runtime_call(|| write(of, status, answer))
}

/// Does the same as aclrtQueryEvent, with other numbers for the result.
#[exported]
pub fn aclrtQueryEventStatus(of: aclrtEvent, status: Out<'_, c_int>) -> c_int {
    let answer = |event: &Event| if is_complete(event) { RECORDED_COMPLETE } else { RECORDED_NOT_READY };
    runtime_call(|| write(of, status, answer))
}

/// Writes whether all streams that waited for the event have continued.
#[exported]
pub fn aclrtQueryEventWaitStatus(of: aclrtEvent, status: Out<'_, c_int>) -> c_int {
    let answer = |event: &Event| if event.is_waited_for() { NOT_READY } else { COMPLETE };
    runtime_call(|| write(of, status, answer))
}

/// Returns whether an event is complete. An event that was never recorded counts as complete.
fn is_complete(event: &Event) -> bool {
    event.record().is_none_or(|record| record.is_complete())
}

fn write(of: aclrtEvent, status: Out<'_, c_int>, answer: impl FnOnce(&Event) -> c_int) -> Result<(), Failure> {
    let (event, status) = (event(of)?, status.place("status")?);
    status.write(answer(&event));
    Ok(())
}

/// Writes the milliseconds from one event to another.
#[exported(runtime_call)]
pub fn aclrtEventElapsedTime(elapsed: Out<'_, f32>, start: aclrtEvent, end: aclrtEvent) -> Result<(), Failure> {
    let elapsed = elapsed.place("ms")?;
    let [start, end] = [time(start)?, time(end)?].map(Timestamp::as_nanos);
    let Some(nanos) = end.checked_sub(start) else {
        let text = "the end was reached before the start";
        return Err(Failure::new(codes::RT_EVENT_TIMESTAMP_REVERSAL, "EE1003", text));
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "milliseconds as a float are asked for"
    )]
    let milliseconds = (nanos as f64 / 1e6) as f32;
    elapsed.write(milliseconds);
    Ok(())
}

/// Writes the time when the stream reached the event, in microseconds of CLOCK_BOOTTIME.
#[exported(runtime_call)]
pub fn aclrtEventGetTimestamp(of: aclrtEvent, microseconds: Out<'_, u64>) -> Result<(), Failure> {
    let microseconds = microseconds.place("timestamp")?;
    microseconds.write(time(of)?.as_nanos() / 1000);
    Ok(())
}

fn time(of: aclrtEvent) -> Result<Timestamp, Failure> {
    event(of)?.record().and_then(|record| record.time()).ok_or_else(|| {
        let text = "the event was not recorded, or its stream has not come to it";
        Failure::new(codes::RT_EVENT_TIMESTAMP_INVALID, "EE1003", text)
    })
}
