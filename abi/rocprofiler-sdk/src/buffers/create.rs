use std::ffi::c_void;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use opscope_trace::{BufferOptions, Bytes};

use super::delivery::{Delivery, TracingCallback};
use super::list::{Buffer, find, status};
use super::policy::policy;
use super::threads::default_thread;
use crate::border::{Data, Status, call, out, required};
use crate::contexts;
use crate::handles;
use crate::layout::Handle;
use crate::phase::{DONE, check_configurable, finalization};
use crate::stored::{MOST_CATEGORIES, TRACING};

/// Creates a buffer of `size` bytes, rounded up to whole pages, whose callback becomes due at `watermark` bytes. Payloads count,
/// each rounded up to 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_create_buffer(
    context: Handle,
    size: usize,
    watermark: usize,
    policy_number: u32,
    callback: TracingCallback,
    data: *mut c_void,
    buffer: *mut Handle,
) -> Status {
    call(|| {
        let buffer = out(buffer)?;
        if finalization() == DONE {
            return Err(Status::BufferNotFound);
        }
        check_configurable()?;
        // SAFETY: it is not NULL, and the tool promises that it is readable.
        if find(unsafe { *buffer }).is_ok() {
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
            thread: default_thread().clone(),
            file: None,
        };
        let id = Handle(handles::BUFFERS.next());
        let busy: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        let is_ended: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let mut delivery = Delivery::new(context, id, callback, Data(data), size, busy, is_ended);
        let trace = opscope_trace::Buffer::create(options, move |batch| delivery.deliver(batch)).map_err(status)?;
        Buffer::add(context, trace, busy, is_ended, id);
        // SAFETY: it is not NULL, and the tool promises that it is writable.
        unsafe { buffer.write(id) };
        Ok(())
    })
}

/// Delivers everything that any thread put into a buffer before, and returns when it is delivered. Inside of a callback that it
/// would wait for it answers `BufferBusy`.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_flush_buffer(buffer: Handle) -> Status {
    call(|| {
        if finalization() == DONE {
            return Err(Status::Finalized);
        }
        find(buffer)?.flush()
    })
}

/// Delivers what is in a buffer, and destroys it. While it is being delivered it answers `BufferBusy`.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_destroy_buffer(buffer: Handle) -> Status {
    call(|| find(buffer)?.destroy())
}

/// Puts a record of the tool's own into a buffer: `size` bytes from `payload`, which are copied. `category` is 0 to 199, but not that of
/// tracing, and `kind` 0 to 65535. An addition of opscope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_rocprofiler_emit(
    buffer: Handle,
    category: u32,
    kind: u32,
    payload: *const c_void,
    size: usize,
) -> Status {
    call(|| {
        let buffer = find(buffer)?;
        let is_own = |category: &u8| *category < MOST_CATEGORIES && *category != TRACING;
        let category = u8::try_from(category).ok().filter(is_own);
        let kind = u16::try_from(kind).map_err(|_| Status::InvalidArgument)?;
        if payload.is_null() || size == 0 || size > usize::from(u16::MAX) {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: it is not NULL, and the tool promises that it has `size` bytes.
        let bytes = unsafe { from_raw_parts(payload.cast(), size) };
        buffer.put_bytes(category.ok_or(Status::InvalidArgument)?, kind, bytes)
    })
}

/// Rounds a size up to whole pages. There is no buffer of 0 bytes.
fn whole_pages(size: usize) -> Option<usize> {
    // SAFETY: the call has no conditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    if size == 0 { None } else { size.checked_next_multiple_of(page) }
}
