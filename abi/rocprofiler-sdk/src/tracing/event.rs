//! An event that is reported to the contexts that want it; also the events of the library itself: a runtime's
//! initialization, and the retirement of correlation ids.

use std::ffi::c_void;

use opscope_clock::{Ticks, Timestamp};
use opscope_trace::{Inside, interrupts_a_call};

use crate::border::call_tool;
use crate::correlation::pushed;
use crate::kinds::{Domain, RequestKind};
use crate::layout::{
    CallbackRecord, Correlation, RetirementRecord, RuntimeInitializationData, RuntimeInitializationRecord, UserData,
};
use crate::services::{Buffered, Route, routes};
use crate::stored_records::TRACING;
use crate::thread;

/// The phase of an event that a callback reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// It has no duration.
    None = 0,
    /// It begins, or is loaded.
    Enter = 1,
    /// It ended, or is unloaded.
    Exit = 2,
}

/// Something that happens, and the contexts that were started when it began.
pub struct Event {
    pub domain: Domain,
    pub internal: u64,
    pub ancestor: u64,
    pub thread: u64,
    contexts: Vec<Captured>,
}

/// A context that was started when an event began.
pub struct Captured {
    route: &'static Route,
    external: u64,
    /// The tool's own value, which it receives again in the next callback for this event.
    user_data: UserData,
    /// Whether the tool was asked for `external`.
    is_requested: bool,
    /// Whether the tool's callbacks are made.
    is_called: bool,
}

/// In a signal handler that interrupts another call, drops the event's records, and counts them in the buffers of the
/// started contexts. Tools are not called, because the interrupted call may hold what they need. Returns whether it
/// did.
pub fn drop_if_interrupting(domain: Domain, operation: i32) -> bool {
    let interrupts = interrupts_a_call();
    if interrupts {
        for route in routes(domain).iter().filter(|route| route.context.is_started()) {
            if let Some(service) = route.buffers(operation) {
                service.buffer.drop_if_interrupting(TRACING, service.kind);
            }
        }
    }
    interrupts
}

impl Event {
    /// Begins an event, if `wants` holds for the route of any started context.
    pub fn begin(domain: Domain, wants: impl Fn(&Route) -> bool) -> Option<Self> {
        let mut event = Self::uncorrelated(domain, wants)?;
        (event.internal, event.ancestor) = thread::with_current(|thread| (thread.ids.next(), thread.call.get()));
        Some(event)
    }

    /// Does the same as [`begin`](Self::begin), for events without correlation. Their ids are 0.
    pub fn uncorrelated(domain: Domain, wants: impl Fn(&Route) -> bool) -> Option<Self> {
        let wanting = || routes(domain).iter().filter(|route| route.context.is_started() && wants(route));
        wanting().next()?;
        let thread = thread::current_id();
        let captured =
            |route| Captured { route, external: 0, user_data: UserData(0), is_requested: false, is_called: true };
        let _inside = Inside::enter();
        Some(Self { domain, internal: 0, ancestor: 0, thread, contexts: wanting().map(captured).collect() })
    }

    /// Finds the external id for each context: asks the tool for it, or takes the pushed one.
    pub fn correlate(&mut self, operation: i32) {
        let kind = RequestKind::of(self.domain);
        for captured in &mut self.contexts {
            captured.external = pushed(captured.route.context.id, self.thread).unwrap_or(0);
            let Some(requests) = kind.and_then(|kind| captured.route.requests(kind)) else { continue };
            // A tool may finalize itself while it is asked on behalf of another context.
            if captured.route.context.is_ended() {
                continue;
            }
            let mut external = UserData(0);
            let (id, kind) = (captured.route.context.id, kind.map_or(0, |kind| kind.0));
            let mut answer = None;
            thread::in_callback(|| {
                answer = call_tool("a request for an external correlation id", || {
                    (requests.function)(self.thread, id, kind, operation, self.internal, &mut external, requests.data)
                });
                requests.first_call.has_returned();
            });
            if answer == Some(0) {
                (captured.external, captured.is_requested) = (external.0, true);
            }
        }
    }

    /// Reads the pushed ids again, since a tool may push in its callback.
    pub fn correlate_again(&mut self) {
        for captured in self.contexts.iter_mut().filter(|captured| !captured.is_requested) {
            captured.external = pushed(captured.route.context.id, self.thread).unwrap_or(0);
        }
    }

    /// Does the same as [`call`](Self::call), but skips contexts that were stopped since the event began. For the end
    /// of something that lives long.
    pub fn call_started<T>(&mut self, operation: i32, phase: Phase, payload: impl Fn() -> T) {
        self.contexts.retain(|captured| captured.route.context.is_started());
        self.call(operation, phase, payload);
    }

    /// Calls the tools that want an operation. `payload` makes their payload, anew for each of them.
    pub fn call<T>(&mut self, operation: i32, phase: Phase, payload: impl Fn() -> T) {
        thread::in_callback(|| self.call_all(operation, phase, payload));
    }

    fn call_all<T>(&mut self, operation: i32, phase: Phase, payload: impl Fn() -> T) {
        for captured in self.contexts.iter_mut().filter(|captured| captured.is_called) {
            let Some(service) = captured.route.calls(operation) else { continue };
            // A tool that was finalized since the event began is not called again.
            if captured.route.context.is_ended() {
                continue;
            }
            let mut payload = payload();
            let record = CallbackRecord {
                context_id: captured.route.context.id,
                thread_id: self.thread,
                correlation_id: Correlation {
                    internal: self.internal,
                    external: captured.external,
                    ancestor: self.ancestor,
                },
                kind: service.kind,
                operation,
                phase: phase as u32,
                payload: (&raw mut payload).cast::<c_void>(),
            };
            let user_data = &mut captured.user_data;
            call_tool("a tracing callback", || {
                (service.function)(record, user_data, service.data);
            });
            service.first_call.has_returned();
        }
    }

    /// Disables the callbacks of the contexts that want an operation which was not reported.
    pub fn forget_callbacks(&mut self, operation: i32) {
        for captured in &mut self.contexts {
            captured.is_called &= captured.route.calls(operation).is_none();
        }
    }

    /// Ends the event. A signal handler that runs while its memory is freed sees the thread inside a call.
    pub fn end(self) {
        let _inside = Inside::enter();
        drop(self);
    }

    /// Emits a record into each buffer that wants an operation. `put` receives the service and the ids, and emits the
    /// record.
    pub fn record(&self, operation: i32, put: impl Fn(&Buffered, Correlation)) {
        for captured in &self.contexts {
            let Some(service) = captured.route.buffers(operation) else { continue };
            let (internal, ancestor) = (self.internal, self.ancestor);
            put(service, Correlation { internal, external: captured.external, ancestor });
        }
    }
}

/// Reports that a runtime registered itself. `operation` says which one.
pub fn announce_runtime(operation: i32, version: u64, instance: u64) {
    let domain = Domain::RuntimeInitialization;
    let Some(mut event) = Event::uncorrelated(domain, |route| route.wants(operation)) else { return };
    event.call(operation, Phase::None, || RuntimeInitializationData {
        size: size_of::<RuntimeInitializationData>() as u64,
        version,
        instance,
    });
    event.record(operation, |service, correlation_id| {
        let record = RuntimeInitializationRecord {
            size: size_of::<RuntimeInitializationRecord>() as u64,
            kind: service.kind,
            operation,
            correlation_id,
            thread_id: event.thread,
            timestamp: Timestamp::now().as_nanos(),
            version,
            instance,
        };
        service.buffer.put(TRACING, service.kind, &record);
    });
}

/// Records that an internal correlation id is no longer used, if a context wants that.
#[inline(always)]
pub fn retire(internal: u64) {
    let routes = routes(Domain::CorrelationIdRetirement);
    if !routes.is_empty() {
        tell(internal);
    }
}

#[cold]
fn tell(internal: u64) {
    for route in routes(Domain::CorrelationIdRetirement).iter().filter(|route| route.context.is_started()) {
        if let Some(service) = &route.buffered {
            let record = RetirementRecord {
                size: size_of::<RetirementRecord>() as u64,
                kind: service.kind,
                reserved: 0,
                timestamp: Ticks::now().as_raw(),
                internal_correlation_id: internal,
            };
            service.buffer.put(TRACING, service.kind, &record);
        }
    }
}
