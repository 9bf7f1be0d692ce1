//! Services: what contexts trace, and where the records go.

mod routes;

use std::any::Any;

use opscope_border::{Counted, Items, exported};

use crate::border::{Data, Status, required};
use crate::exit::FirstCall;
use crate::kinds::{BUFFERED, CALLBACKS, Kind, RequestKind};
use crate::layout::Handle;
use crate::phase::check_configurable;
use crate::{buffers, contexts};
pub use routes::{Buffered, Route, direct, find_direct, freeze, routes};
use routes::{Callback, CallbackFunction, RequestFunction, Requests, with_services};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(routes::lock())]
}

/// Adds a service to a context: records of a kind go into a buffer, which must have been created for that context.
/// Traces the `count` given operations; all if `count` is 0. A call that fails changes nothing.
#[exported]
pub fn rocprofiler_configure_buffer_tracing_service(
    context: Handle,
    kind: u32,
    #[counted_by(count)] operation_list: Items<'_, i32>,
    count: usize,
    buffer: Handle,
) -> Result<(), Status> {
    check_configurable()?;
    let context = contexts::find(context)?;
    let buffer = buffers::find(buffer)?;
    if buffer.context != context.id {
        return Err(Status::BufferNotFound);
    }
    with_services(context, |services| {
        let is_configured = services.buffered.iter().any(|service| service.kind == kind);
        let operations = select(&BUFFERED, kind, is_configured, operation_list)?;
        services.buffered.push(Buffered { kind, operations, buffer });
        Ok(())
    })
}

/// Adds a service to a context: `callback` is called for a kind. Traces the `count` given operations, or all of them if
/// `count` is 0. A call that fails changes nothing.
#[exported]
pub fn rocprofiler_configure_callback_tracing_service(
    context: Handle,
    kind: u32,
    #[counted_by(count)] operation_list: Items<'_, i32>,
    count: usize,
    callback: Option<CallbackFunction>,
    data: Data,
) -> Result<(), Status> {
    check_configurable()?;
    let context = contexts::find(context)?;
    with_services(context, |services| {
        let is_configured = services.callbacks.iter().any(|service| service.kind == kind);
        let operations = select(&CALLBACKS, kind, is_configured, operation_list)?;
        let function = required(callback)?;
        let first_call: &'static FirstCall = Box::leak(Box::new(FirstCall::pending()));
        services.callbacks.push(Callback { kind, operations, function, data, first_call });
        Ok(())
    })
}

/// Lets a context ask `callback` for the external correlation ids of `count` kinds; of all if `kinds` is NULL. If the
/// callback returns a value other than 0, the pushed ids are used.
#[exported]
pub fn rocprofiler_configure_external_correlation_id_request_service(
    context: Handle,
    #[counted_by(count)] kinds: Items<'_, u32>,
    count: usize,
    callback: Option<RequestFunction>,
    data: Data,
) -> Result<(), Status> {
    let context = contexts::find(context)?;
    // NULL stands for all kinds.
    let kinds = if kinds.is_null() { None } else { Some(kinds.get("kinds")?) };
    if kinds.is_some_and(<[u32]>::is_empty) {
        return Err(Status::InvalidArgument);
    }
    let function = required(callback)?;
    with_services(context, |services| {
        if services.requests.get().is_some() {
            return Err(Status::ServiceAlreadyConfigured);
        }
        let bits = match kinds {
            None => u64::MAX,
            Some(kinds) => {
                kinds.iter().try_fold(0, |bits, &kind| RequestKind::from_raw(kind).map(|kind| bits | kind.bit()))?
            }
        };
        let requests = Requests { kinds: bits, function, data, first_call: FirstCall::pending() };
        services.requests.set(requests).map_err(|_| Status::ServiceAlreadyConfigured)
    })?;
    find_direct();
    Ok(())
}

/// A tool's function that chooses the counters of a dispatch. No counters exist, so it is never called.
type ChooseCounters = extern "C-unwind" fn();

/// A tool's function that receives the counters of a dispatch. It is never called.
type TakeCounters = extern "C-unwind" fn();

/// Adds a service to a context that would write the counters of dispatches into a buffer. No counters exist, so it
/// writes nothing.
#[exported]
pub fn rocprofiler_configure_buffer_dispatch_counting_service(
    context: Handle,
    buffer: Handle,
    choose: Option<ChooseCounters>,
    _data: Data,
) -> Result<(), Status> {
    count_dispatches(context, |context| {
        let buffer = buffers::find(buffer)?;
        if buffer.context != context { Err(Status::BufferNotFound) } else { required(choose).map(drop) }
    })
}

/// Adds a service to a context that would call back with the counters of dispatches. No counters exist, so neither
/// function is called.
#[exported]
pub fn rocprofiler_configure_callback_dispatch_counting_service(
    context: Handle,
    choose: Option<ChooseCounters>,
    _choose_data: Data,
    take: Option<TakeCounters>,
    _take_data: Data,
) -> Result<(), Status> {
    count_dispatches(context, |_| required(choose).and(required(take)).map(drop))
}

fn count_dispatches(context: Handle, check: impl FnOnce(Handle) -> Result<(), Status>) -> Result<(), Status> {
    check_configurable()?;
    let context = contexts::find(context).map_err(|_| Status::ContextInvalid)?;
    check(context.id)?;
    with_services(context, |services| {
        services.counts_dispatches = true;
        Ok(())
    })
}

/// Returns the operations of a kind that is being configured, one bit each.
fn select(kinds: &[Kind], kind: u32, is_configured: bool, list: Counted<'_, i32>) -> Result<u64, Status> {
    if is_configured {
        return Err(Status::ServiceAlreadyConfigured);
    }
    let found = kinds.get(kind as usize).filter(|_| kind != 0).ok_or(Status::KindNotFound)?;
    let operations = list.get("operations")?;
    // Without a list, all are traced.
    found.select((!operations.is_empty()).then_some(operations))
}
