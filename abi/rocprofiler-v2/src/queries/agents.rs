use std::ffi::{CStr, c_char, c_int};

use crate::border::{Status, call, out, write};
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

/// Writes the length of what is known of an agent, without its NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_agent_info_size(kind: c_int, agent: Handle, size: *mut usize) -> Status {
    // SAFETY: it is checked, and the tool promises that it is writable.
    call(|| unsafe { write(size, agent_info(kind, agent)?.count_bytes()) })
}

/// Writes what is known of an agent: its name, or "CPU" or "GPU". The text lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_agent_info(kind: c_int, agent: Handle, text: *mut *const c_char) -> Status {
    // SAFETY: as above.
    call(|| unsafe { write(text, agent_info(kind, agent)?.as_ptr()) })
}

/// Answers that nothing is known of a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_queue_info_size(_kind: c_int, queue: Handle, size: *mut usize) -> Status {
    call(|| queue_info(out(size).map(drop), queue))
}

/// Answers that nothing is known of a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_queue_info(_kind: c_int, queue: Handle, text: *mut *const c_char) -> Status {
    call(|| queue_info(out(text).map(drop), queue))
}

fn queue_info(place: Result<(), Status>, queue: Handle) -> Result<(), Status> {
    place?;
    Err(if queue == QUEUE { Status::QueueInformationMissing } else { Status::QueueNotFound })
}
