//! The queries about agents, queues, kernels, counters and operations.

use std::ffi::{CStr, c_char, c_int};

use opscope_border::{Out, Text, exported, system};
use opscope_producer::kernel_name;

use crate::border::{Status, out, write};
use crate::kinds::{DOMAINS, ENGINE, HOST, QUEUE, operations};
use crate::layout::{CounterInfo, Handle};
use crate::sessions::with_session;

/// The kinds of texts about agents. Of kernels there are names only, which have the same number.
const NAME: c_int = 0;
const TYPE: c_int = 1;

fn agent_info(kind: c_int, agent: Handle) -> Result<&'static CStr, Status> {
    if agent != HOST && agent != ENGINE {
        return Err(Status::AgentNotFound);
    }
    match kind {
        NAME => Ok(if agent == HOST { c"CPU" } else { c"opscope" }),
        TYPE => Ok(if agent == HOST { c"CPU" } else { c"GPU" }),
        _ => Err(Status::AgentInformationMissing),
    }
}

/// Writes the length of a text about an agent, without its NUL.
#[exported]
pub fn rocprofiler_query_agent_info_size(kind: c_int, agent: Handle, size: Out<'_, usize>) -> Result<(), Status> {
    write(size, agent_info(kind, agent)?.count_bytes())
}

/// Writes a text about an agent: its name, or "CPU" or "GPU". The text lives as long as the process.
#[exported]
pub fn rocprofiler_query_agent_info(kind: c_int, agent: Handle, text: Out<'_, *const c_char>) -> Result<(), Status> {
    write(text, agent_info(kind, agent)?.as_ptr())
}

/// Always fails, because nothing is known about queues.
#[exported]
pub fn rocprofiler_query_queue_info_size(_kind: c_int, queue: Handle, size: Out<'_, usize>) -> Result<(), Status> {
    queue_info(out(size).map(drop), queue)
}

/// Always fails, because nothing is known about queues.
#[exported]
pub fn rocprofiler_query_queue_info(_kind: c_int, queue: Handle, text: Out<'_, *const c_char>) -> Result<(), Status> {
    queue_info(out(text).map(drop), queue)
}

fn queue_info(place: Result<(), Status>, queue: Handle) -> Result<(), Status> {
    place?;
    Err(if queue == QUEUE { Status::QueueInformationMissing } else { Status::QueueNotFound })
}

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

fn kernel_info(kind: c_int, kernel: Handle) -> Result<&'static CStr, Status> {
    let name = kernel_name(kernel.0).ok_or(Status::KernelNotFound)?;
    if kind == NAME { Ok(name) } else { Err(Status::KernelInformationMissing) }
}

/// Writes the length of a kernel's name, without its NUL.
#[exported]
pub fn rocprofiler_query_kernel_info_size(kind: c_int, kernel: Handle, size: Out<'_, usize>) -> Result<(), Status> {
    write(size, kernel_info(kind, kernel)?.count_bytes())
}

/// Writes the name of a kernel by the id in a dispatch: that of its operator. The text belongs to the tool, which frees
/// it.
#[exported]
pub fn rocprofiler_query_kernel_info(kind: c_int, kernel: Handle, text: Out<'_, *const c_char>) -> Result<(), Status> {
    let place = out(text)?;
    let copy = system::duplicate(kernel_info(kind, kernel)?).ok_or(Status::Error)?;
    place.write(copy.as_ptr());
    Ok(())
}

/// Writes the name of an operation, or NULL for one that has none. It can be called before the library is initialized.
#[exported]
pub fn rocprofiler_query_tracer_operation_name(domain: c_int, operation: u32, name: Out<'_, *const c_char>) -> Status {
    let Ok(place) = out(name) else { return Status::InvalidArguments };
    let found = operations(domain).get(operation as usize);
    place.write(found.map_or(std::ptr::null(), |name| name.as_ptr()));
    Status::Success
}

/// Writes the number of the operation with this name.
#[exported]
pub fn rocprofiler_tracer_operation_id(domain: c_int, name: Text<'_>, operation: Out<'_, u32>) -> Result<(), Status> {
    let place = out(operation)?;
    let name = name.c_str("name")?;
    if !(0..DOMAINS).contains(&domain) {
        return Err(Status::InvalidDomainId);
    }
    let found = operations(domain).iter().position(|known| *known == name).ok_or(Status::InvalidOperationId)?;
    place.write(found as u32);
    Ok(())
}

/// Does the same as [`rocprofiler_tracer_operation_id`], under the name that the vendor's library defines.
#[exported]
pub fn rocprofiler_query_tracer_operation_id(domain: c_int, name: Text<'_>, operation: Out<'_, u32>) -> Status {
    rocprofiler_tracer_operation_id(domain, name, operation)
}
