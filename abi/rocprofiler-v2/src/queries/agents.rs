use std::ffi::{CStr, c_char, c_int};

use opscope_border::{Out, exported};

use crate::border::{Status, out, write};
use crate::layout::Handle;
use crate::machine::{ENGINE, HOST, QUEUE};

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
