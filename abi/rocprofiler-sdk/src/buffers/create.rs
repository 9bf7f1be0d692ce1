//! The functions that create, flush and destroy buffers.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use opscope_border::{Answer, Bytes as BytesIn, InOut, exported, system};
use opscope_trace::{BufferOptions, Bytes, Policy};

use super::default_thread;
use super::delivery::{Delivery, TracingCallback};
use super::list::{Buffer, drop_by_id_if_interrupting, find, status};
use crate::border::{Data, Status, required};
use crate::layout::Handle;
use crate::phase::{DONE, check_configurable, finalization};
use crate::stored_records::{MOST_CATEGORIES, TRACING};
use crate::{contexts, handles};

/// Creates a buffer of `size` bytes, rounded up to whole pages. Its callback becomes due at `watermark` bytes. Only
/// payloads count, each rounded up to 8 bytes.
#[exported]
pub fn rocprofiler_create_buffer(
    context: Handle,
    size: usize,
    watermark: usize,
    policy_number: u32,
    callback: TracingCallback,
    data: Data,
    buffer: InOut<'_, Handle>,
) -> Result<(), Status> {
    let (given, buffer) = buffer.aligned_place("buffer")?;
    if finalization() == DONE {
        return Err(Status::BufferNotFound);
    }
    check_configurable()?;
    if find(given).is_ok() {
        return Err(Status::ServiceAlreadyConfigured);
    }
    let callback = required(callback)?;
    contexts::find(context)?;
    let policy = policy(policy_number)?;
    let size = whole_pages(size).ok_or(Status::InvalidArgument)?;
    let options = BufferOptions {
        size: Bytes::new(size as u64),
        watermark: Bytes::new(watermark.min(size) as u64),
        policy,
        interval: None,
        reports_drops: true,
        thread: default_thread().clone(),
        file: None,
    };
    let id = Handle(handles::BUFFERS.next());
    let busy: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    let is_ended: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let mut delivery = Delivery::new(context, id, callback, data, size, busy, is_ended);
    let trace = opscope_trace::Buffer::create(options, move |batch| delivery.deliver(batch)).map_err(status)?;
    Buffer::add(context, trace, busy, is_ended, id);
    buffer.write(id);
    Ok(())
}

/// Delivers every record that any thread emitted into the buffer before this call, and then returns. Inside a callback
/// for which it would have to wait, returns `BufferBusy`.
#[exported]
pub fn rocprofiler_flush_buffer(buffer: Handle) -> Result<(), Status> {
    if finalization() == DONE {
        return Err(Status::Finalized);
    }
    find(buffer)?.flush()
}

/// Delivers what is in a buffer, and destroys it. Returns `BufferBusy` while the buffer is being delivered.
#[exported]
pub fn rocprofiler_destroy_buffer(buffer: Handle) -> Result<(), Status> {
    find(buffer)?.destroy()
}

/// Emits one of the tool's own records into a buffer: copies `size` bytes from `payload`. `category` is 0 to 199,
/// except 1, which is that of tracing; `kind` is 0 to 65535. This function is opscope's addition.
///
/// In a signal handler that interrupts another call, it drops and counts the record, and returns `BufferBusy`.
#[exported]
pub fn opscope_rocprofiler_emit(
    buffer: Handle,
    category: u32,
    kind: u32,
    #[counted_by(size)] payload: BytesIn<'_>,
    size: usize,
) -> Status {
    let dropped = u8::try_from(category).is_ok_and(|category| {
        u16::try_from(kind)
            .is_ok_and(|kind| category < MOST_CATEGORIES && drop_by_id_if_interrupting(buffer, category, kind))
    });
    if dropped {
        return Status::BufferBusy;
    }
    Answer::answer(|| -> Result<(), Status> {
        let buffer = find(buffer)?;
        let is_own = |category: &u8| *category < MOST_CATEGORIES && *category != TRACING;
        let category = u8::try_from(category).ok().filter(is_own);
        let kind = u16::try_from(kind).map_err(|_| Status::InvalidArgument)?;
        let bytes = payload.at_most(usize::from(u16::MAX), "payload")?;
        if bytes.is_empty() {
            return Err(Status::InvalidArgument);
        }
        buffer.put_bytes(category.ok_or(Status::InvalidArgument)?, kind, bytes)
    })
}

/// Rounds a size up to whole pages. Returns `None` for 0 bytes.
fn whole_pages(size: usize) -> Option<usize> {
    if size == 0 { None } else { size.checked_next_multiple_of(system::page_size()) }
}

const NONE: u32 = 0;
const DISCARD: u32 = 1;
const LOSSLESS: u32 = 2;

/// Returns the policy for a number of `rocprofiler_buffer_policy_t`. The environment variable with the name of an
/// enumerator overrides it, if its value is 1; both such variables together are an error.
pub fn policy(number: u32) -> Result<Policy, Status> {
    let given = match number {
        NONE | DISCARD => Policy::Discard,
        LOSSLESS => Policy::Lossless,
        _ => return Err(Status::InvalidArgument),
    };
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    match (is_set("ROCPROFILER_BUFFER_POLICY_DISCARD"), is_set("ROCPROFILER_BUFFER_POLICY_LOSSLESS")) {
        (true, true) => Err(Status::InvalidArgument),
        (true, false) => Ok(Policy::Discard),
        (false, true) => Ok(Policy::Lossless),
        (false, false) => Ok(given),
    }
}
