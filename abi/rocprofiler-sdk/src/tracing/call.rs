use opscope_clock::Ticks;

use super::event::{Event, Phase, drop_if_interrupting, retire};
use crate::correlation::pushed;
use crate::kinds::Domain;
use crate::layout::{ApiRecord, Correlation, MarkerArguments, MarkerData};
use crate::services::{Buffered, Route, direct, routes};
use crate::stored_records::TRACING;
use crate::thread;

/// A call of a runtime's function.
#[derive(Clone, Copy)]
pub struct ApiCall {
    pub domain: Domain,
    pub operation: i32,
    pub arguments: MarkerArguments,
}

/// The result of a function as tools see it: an int is in the lower half.
pub trait Outcome: Copy {
    fn as_word(self) -> u64;
}

impl Outcome for () {
    fn as_word(self) -> u64 {
        0
    }
}

impl Outcome for i32 {
    fn as_word(self) -> u64 {
        u64::from(self.cast_unsigned())
    }
}

impl Outcome for u64 {
    fn as_word(self) -> u64 {
        self
    }
}

/// Calls a function, and reports the call to the contexts that want it.
#[inline(always)]
pub fn traced<R: Outcome>(call: ApiCall, function: impl FnOnce() -> R) -> R {
    match direct(call.domain) {
        Some((route, service)) if service.wants(call.operation) => traced_into(route, service, call, function),
        Some(_) => function(),
        None if routes(call.domain).iter().any(|route| route.wants(call.operation)) => traced_by_event(call, function),
        None => function(),
    }
}

/// Does the same as [`traced`], for a call that must be recorded in one buffer and nowhere else.
#[inline(always)]
fn traced_into<R>(route: &Route, service: &Buffered, call: ApiCall, function: impl FnOnce() -> R) -> R {
    thread::with_current(|thread| {
        let internal = thread.ids.next();
        let ancestor = thread.call.replace(internal);
        let start = Ticks::now();
        let result = function();
        let end = Ticks::now();
        thread.call.set(ancestor);
        let thread_id = thread.id();
        match pushed(route.context.id, thread_id) {
            Some(external) => {
                put(service, call.operation, Correlation { internal, external, ancestor }, start, end, thread_id);
            }
            None => drop(service.buffer.drop_if_interrupting(TRACING, service.kind)),
        }
        retire(internal);
        result
    })
}

#[cold]
#[inline(never)]
fn traced_by_event<R: Outcome>(call: ApiCall, function: impl FnOnce() -> R) -> R {
    let ApiCall { domain, operation, arguments } = call;
    if drop_if_interrupting(domain, operation) {
        return function();
    }
    let Some(mut event) = Event::begin(domain, |route| route.wants(operation)) else { return function() };
    let payload = |result| MarkerData { size: size_of::<MarkerData>() as u64, arguments, result };
    let above = thread::with_current(|thread| thread.call.replace(event.internal));
    event.correlate(operation);
    event.call(operation, Phase::Enter, || payload(0));
    event.correlate_again();
    let start = Ticks::now();
    let result = function();
    let end = Ticks::now();
    event.call(operation, Phase::Exit, || payload(result.as_word()));
    event.record(operation, |service, ids| put(service, operation, ids, start, end, event.thread));
    retire(event.internal);
    event.end();
    thread::with_current(|thread| thread.call.set(above));
    result
}

/// Emits the record of a call into a buffer.
#[inline(always)]
pub fn put(service: &Buffered, operation: i32, ids: Correlation, start: Ticks, end: Ticks, thread_id: u64) {
    let record = ApiRecord {
        size: size_of::<ApiRecord>() as u64,
        kind: service.kind,
        operation,
        correlation_id: ids,
        start: start.as_raw(),
        end: end.as_raw(),
        thread_id,
    };
    service.buffer.put(TRACING, service.kind, &record);
}
