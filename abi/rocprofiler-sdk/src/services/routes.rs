use std::ffi::c_int;
use std::sync::OnceLock;

use opscope_border::Last;
use opscope_sys::{Mutex, MutexGuard};

use crate::border::{Data, Status, say};
use crate::buffers::Buffer;
use crate::contexts::Context;
use crate::exit::FirstCall;
use crate::kinds::{BUFFERED, CALLBACKS, Domain, RequestKind};
use crate::layout::{CallbackRecord, Handle, UserData};

/// A tool's callback for traced events.
pub type CallbackFunction = extern "C-unwind" fn(CallbackRecord, &mut UserData, Data);

/// A tool's function that returns external correlation ids.
pub type RequestFunction = extern "C-unwind" fn(
    thread: u64,
    context: Handle,
    kind: u32,
    operation: i32,
    internal: u64,
    external: &mut UserData,
    data: Data,
) -> c_int;

/// A service that emits records into a buffer.
#[derive(Clone, Copy)]
pub struct Buffered {
    pub kind: u32,
    /// One bit for each operation.
    pub operations: u64,
    pub buffer: &'static Buffer,
}

impl Buffered {
    /// Returns whether the service records an operation in its buffer.
    #[inline(always)]
    pub fn wants(&self, operation: i32) -> bool {
        self.operations >> (operation & 63) & 1 != 0
    }
}

/// A service that calls the tool.
#[derive(Clone, Copy)]
pub struct Callback {
    pub kind: u32,
    /// One bit for each operation.
    pub operations: u64,
    pub function: CallbackFunction,
    pub data: Data,
    pub first_call: &'static FirstCall,
}

/// The service that asks a tool for external correlation ids.
pub struct Requests {
    /// One bit for each kind.
    pub kinds: u64,
    pub function: RequestFunction,
    pub data: Data,
    pub first_call: FirstCall,
}

/// What a context wants from a domain.
pub struct Route {
    pub context: &'static Context,
    pub buffered: Option<Buffered>,
    pub callback: Option<Callback>,
    requests: &'static OnceLock<Requests>,
}

/// The services of a context.
pub(super) struct Services {
    pub context: &'static Context,
    pub buffered: Vec<Buffered>,
    pub callbacks: Vec<Callback>,
    /// Whether it counts dispatches, which never yields anything here.
    pub counts_dispatches: bool,
    pub requests: &'static OnceLock<Requests>,
}

type Routes = [Vec<Route>; Domain::COUNT];

static SERVICES: Mutex<Vec<Services>> = Mutex::new(Vec::new());

/// For each domain, its only route whose context is started, if that wants nothing but records in a buffer; else null.
static DIRECT: [Last<Route>; Domain::COUNT] = [const { Last::new() }; Domain::COUNT];

/// The services of all contexts, by domain. They are fixed once tools are initialized.
static ROUTES: Last<Routes> = Last::new();

pub(super) fn lock() -> MutexGuard<'static, Vec<Services>> {
    SERVICES.lock()
}

/// Changes the services of a context.
pub(super) fn with_services<R>(
    context: &'static Context,
    change: impl FnOnce(&mut Services) -> Result<R, Status>,
) -> Result<R, Status> {
    let mut all = lock();
    let index = match all.iter().position(|services| services.context.id == context.id) {
        Some(index) => index,
        None => {
            let requests = Box::leak(Box::new(OnceLock::new()));
            let (buffered, callbacks) = (Vec::new(), Vec::new());
            all.push(Services { context, buffered, callbacks, counts_dispatches: false, requests });
            all.len() - 1
        }
    };
    change(&mut all[index])
}

/// Builds the routes from the configured services. Called once, when all tools are initialized.
pub fn freeze() {
    let mut routes: Routes = Default::default();
    let mut empty = Vec::new();
    for services in lock().iter() {
        for domain in Domain::ALL {
            let buffered =
                services.buffered.iter().find(|service| BUFFERED[service.kind as usize].domain == Some(domain));
            let callback =
                services.callbacks.iter().find(|service| CALLBACKS[service.kind as usize].domain == Some(domain));
            if buffered.is_some() || callback.is_some() {
                routes[domain.index()].push(Route {
                    context: services.context,
                    buffered: buffered.copied(),
                    callback: callback.copied(),
                    requests: services.requests,
                });
            }
        }
        let buffered = services.buffered.iter().map(|service| &BUFFERED[service.kind as usize]);
        let kinds = buffered.chain(services.callbacks.iter().map(|service| &CALLBACKS[service.kind as usize]));
        empty.extend(kinds.filter(|kind| kind.domain.is_none()).map(|kind| kind.name.to_string_lossy()));
        empty.extend(services.counts_dispatches.then_some("counters of dispatches".into()));
    }
    if !empty.is_empty() {
        empty.sort();
        empty.dedup();
        say(format_args!("nothing here makes records of {}; these services stay empty", empty.join(", ")));
    }
    ROUTES.set(Some(Box::leak(Box::new(routes))));
}

/// Returns what the contexts want from a domain: nothing until tools are initialized.
#[inline(always)]
pub fn routes(domain: Domain) -> &'static [Route] {
    ROUTES.get().map_or(&[], |routes| &routes[domain.index()])
}

/// Returns a domain's only route whose context is started, if that wants nothing but records in a buffer.
#[inline(always)]
pub fn direct(domain: Domain) -> Option<(&'static Route, &'static Buffered)> {
    let route = DIRECT[domain.index()].get()?;
    Some((route, route.buffered.as_ref()?))
}

/// Recomputes the direct routes. Called when a context was started or stopped, or got a service.
pub fn find_direct() {
    // One thread at a time, so that the last one sees all changes.
    let _services = lock();
    for domain in Domain::ALL {
        let mut started = routes(domain).iter().filter(|route| route.context.is_started());
        let only = started.next().filter(|_| started.next().is_none());
        let direct = only.filter(|route| route.callback.is_none() && route.requests.get().is_none());
        DIRECT[domain.index()].set(direct);
    }
}

impl Route {
    /// Returns whether the context is started and wants an operation, in its buffer or by callback.
    #[inline(always)]
    pub fn wants(&self, operation: i32) -> bool {
        self.context.is_started() && (self.buffers(operation).is_some() || self.calls(operation).is_some())
    }

    /// Returns the service that records an operation in a buffer.
    #[inline(always)]
    pub fn buffers(&self, operation: i32) -> Option<&Buffered> {
        self.buffered.as_ref().filter(|service| service.wants(operation))
    }

    /// Returns the service that calls back for an operation.
    #[inline(always)]
    pub fn calls(&self, operation: i32) -> Option<&Callback> {
        self.callback.as_ref().filter(|service| service.operations >> (operation & 63) & 1 != 0)
    }

    /// Returns the service that asks for the external correlation id of a kind.
    pub fn requests(&self, kind: RequestKind) -> Option<&'static Requests> {
        self.requests.get().filter(|requests| requests.kinds & kind.bit() != 0)
    }
}
