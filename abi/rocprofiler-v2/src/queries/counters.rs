use std::ffi::{c_char, c_int};

use opscope_border::{Out, exported};

use crate::border::{Status, out};
use crate::layout::{CounterInfo, Handle};
use crate::sessions::with_session;

/// A tool's function that receives counters.
type CountersCallback = Option<extern "C-unwind" fn(CounterInfo, *const c_char, u32) -> c_int>;

/// Would call back with each counter. There are none, so it never does.
#[exported]
pub fn rocprofiler_iterate_counters(callback: CountersCallback) -> Result<(), Status> {
    callback.map(drop).ok_or(Status::InvalidArguments)
}

/// Always fails, because there are no counters.
#[exported]
pub fn rocprofiler_query_counter_info_size(
    session: Handle,
    _kind: c_int,
    _counter: Handle,
    size: Out<'_, usize>,
) -> Result<(), Status> {
    counter_info(out(size).map(drop), session)
}

/// Always fails, because there are no counters.
#[exported]
pub fn rocprofiler_query_counter_info(
    session: Handle,
    _kind: c_int,
    _counter: Handle,
    text: Out<'_, *const c_char>,
) -> Result<(), Status> {
    counter_info(out(text).map(drop), session)
}

fn counter_info(place: Result<(), Status>, session: Handle) -> Result<(), Status> {
    place?;
    with_session(session, |_| Ok(()))?;
    Err(Status::CounterNotFound)
}
