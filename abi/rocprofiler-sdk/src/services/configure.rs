use std::ffi::c_void;

use super::routes::{Buffered, Callback, CallbackFunction, RequestFunction, Requests, find_direct, with_services};
use crate::border::{Data, Status, call, operations, required};
use crate::buffers;
use crate::contexts;
use crate::kinds::{BUFFERED, CALLBACKS, Kind, RequestKind};
use crate::layout::Handle;
use crate::phase::check_configurable;

/// Adds a service to a context: records of a kind go into a buffer, which has to be made for that context. `count` operations are
/// traced; all if it is 0. A call that fails changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_configure_buffer_tracing_service(
    context: Handle,
    kind: u32,
    operation_list: *const i32,
    count: usize,
    buffer: Handle,
) -> Status {
    call(|| {
        check_configurable()?;
        let context = contexts::find(context)?;
        let buffer = buffers::find(buffer)?;
        if buffer.context != context.id {
            return Err(Status::BufferNotFound);
        }
        with_services(context, |services| {
            let is_configured = services.buffered.iter().any(|service| service.kind == kind);
            // SAFETY: the tool promises that there are `count` operations.
            let operations = unsafe { select(&BUFFERED, kind, is_configured, operation_list, count)? };
            services.buffered.push(Buffered { kind, operations, buffer });
            Ok(())
        })
    })
}

/// Adds a service to a context: `callback` is called for a kind. `count` operations are traced; all if it is 0. A call that fails
/// changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_configure_callback_tracing_service(
    context: Handle,
    kind: u32,
    operation_list: *const i32,
    count: usize,
    callback: Option<CallbackFunction>,
    data: *mut c_void,
) -> Status {
    call(|| {
        check_configurable()?;
        let context = contexts::find(context)?;
        with_services(context, |services| {
            let is_configured = services.callbacks.iter().any(|service| service.kind == kind);
            // SAFETY: the tool promises that there are `count` operations.
            let operations = unsafe { select(&CALLBACKS, kind, is_configured, operation_list, count)? };
            let function = required(callback)?;
            services.callbacks.push(Callback { kind, operations, function, data: Data(data) });
            Ok(())
        })
    })
}

/// Lets a context ask `callback` for the external correlation ids of `count` kinds; of all if `kinds` is NULL. Where the callback
/// returns something else than 0, the ids that were pushed are used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_configure_external_correlation_id_request_service(
    context: Handle,
    kinds: *const u32,
    count: usize,
    callback: Option<RequestFunction>,
    data: *mut c_void,
) -> Status {
    call(|| {
        let context = contexts::find(context)?;
        if !kinds.is_null() && (count == 0 || count > isize::MAX as usize / size_of::<u32>() || !kinds.is_aligned()) {
            return Err(Status::InvalidArgument);
        }
        let function = required(callback)?;
        with_services(context, |services| {
            if services.requests.get().is_some() {
                return Err(Status::ServiceAlreadyConfigured);
            }
            let mut bits = if kinds.is_null() { u64::MAX } else { 0 };
            for index in 0..if kinds.is_null() { 0 } else { count } {
                // SAFETY: it is neither NULL nor misaligned, and the tool promises that there are `count` kinds.
                bits |= RequestKind::from_raw(unsafe { *kinds.add(index) })?.bit();
            }
            let requests = Requests { kinds: bits, function, data: Data(data) };
            services.requests.set(requests).map_err(|_| Status::ServiceAlreadyConfigured)
        })?;
        find_direct();
        Ok(())
    })
}

/// Returns the operations of a kind that is to be configured.
unsafe fn select(
    kinds: &[Kind],
    kind: u32,
    is_configured: bool,
    list: *const i32,
    count: usize,
) -> Result<u64, Status> {
    if is_configured {
        return Err(Status::ServiceAlreadyConfigured);
    }
    let found = kinds.get(kind as usize).filter(|_| kind != 0).ok_or(Status::KindNotFound)?;
    // SAFETY: the caller passes the tool's promise that there are `count` operations.
    found.select(unsafe { operations(list, count)? })
}
