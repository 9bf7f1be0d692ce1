use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::buffer::Inner;
use crate::{Buffer, Kind, Operation, Operations, Record, TraceError};

/// The switch for a set of tracing services: which kinds go to which buffers while it is started. It stops when it is
/// dropped.
#[derive(Debug)]
pub struct Context {
    id: ContextId,
}

/// Names a context within the process. Numbers are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub(crate) u64);

#[derive(Debug, Clone)]
struct Service {
    context: ContextId,
    kind: Kind,
    operations: u64,
    buffer: Arc<Inner>,
}

#[derive(Default)]
struct Registry {
    /// Every context that exists, and whether it is started.
    contexts: Vec<(ContextId, bool)>,
    services: Vec<Service>,
    /// What the started contexts want.
    routes: Arc<Vec<Service>>,
}

static WANTED: AtomicU64 = AtomicU64::new(0);
static REGISTRY: RwLock<Option<Registry>> = RwLock::new(None);

/// Whether a started context wants this kind: one relaxed load and one branch.
#[inline]
pub fn wanted(kind: Kind) -> bool {
    WANTED.load(Ordering::Relaxed) & kind.bit() != 0
}

/// Emits a record into the buffers of all started contexts that want it. Costs one relaxed load and one branch when none
/// does.
///
/// # Errors
/// The first error of a buffer; the others get the record all the same.
#[inline]
pub fn emit<R: Record>(record: &R) -> Result<(), TraceError> {
    if wanted(R::KIND) { emit_wanted(R::KIND, record.operation(), record.as_bytes()) } else { Ok(()) }
}

fn emit_wanted(kind: Kind, operation: Operation, payload: &[u8]) -> Result<(), TraceError> {
    let routes = with(|registry| Arc::clone(&registry.routes));
    let mut result = Ok(());
    for route in routes.iter() {
        if route.kind == kind && route.operations >> operation.0 & 1 != 0 {
            result = result.and(route.buffer.emit_bytes(crate::Category::TRACING, kind.as_raw(), payload));
        }
    }
    result
}

impl Context {
    /// A context without services, not started.
    pub fn create() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = ContextId(NEXT.fetch_add(1, Ordering::Relaxed));
        with(|registry| registry.contexts.push((id, false)));
        Self { id }
    }

    /// Its name within the process.
    pub fn id(&self) -> ContextId {
        self.id
    }

    /// Asks for records of a kind, into a buffer. A buffer serves one context, the first that asks.
    ///
    /// # Errors
    /// When the context has this kind already, the kind lacks an operation, or the buffer is destroyed or another
    /// context's.
    pub fn configure(&self, kind: Kind, operations: Operations<'_>, buffer: &Buffer) -> Result<(), TraceError> {
        let operations = operation_bits(kind, operations)?;
        if buffer.inner.is_destroyed() {
            return Err(TraceError::BufferDestroyed(buffer.id()));
        }
        with(|registry| {
            registry.started(self.id)?;
            if registry.services.iter().any(|service| service.context == self.id && service.kind == kind) {
                return Err(TraceError::KindConfigured { context: self.id, kind });
            }
            let owner = *buffer.inner.context.get_or_init(|| self.id);
            if owner != self.id {
                return Err(TraceError::BufferOfAnotherContext { buffer: buffer.id(), owner, context: self.id });
            }
            registry.services.push(Service { context: self.id, kind, operations, buffer: Arc::clone(&buffer.inner) });
            registry.reroute();
            Ok(())
        })
    }

    /// Begins to trace. Does nothing where it is started already.
    ///
    /// # Errors
    /// When the context is destroyed.
    pub fn start(&self) -> Result<(), TraceError> {
        self.switch(true).map(drop)
    }

    /// Ends tracing. When it returns, every record that was emitted is in its buffer, and none will follow.
    ///
    /// # Errors
    /// When the context is not started, or destroyed.
    pub fn stop(&self) -> Result<(), TraceError> {
        if self.switch(false)? { Ok(()) } else { Err(TraceError::ContextNotStarted(self.id)) }
    }

    /// Whether it is started.
    pub fn is_active(&self) -> bool {
        with(|registry| registry.started(self.id)).unwrap_or(false)
    }

    /// Whether it is not destroyed.
    pub fn is_valid(&self) -> bool {
        with(|registry| registry.started(self.id)).is_ok()
    }

    /// Stops it and takes back all its services; its buffers stay.
    ///
    /// # Errors
    /// When it is destroyed already.
    pub fn destroy(&self) -> Result<(), TraceError> {
        self.switch(false)?;
        with(|registry| {
            registry.contexts.retain(|context| context.0 != self.id);
            registry.services.retain(|service| service.context != self.id);
        });
        Ok(())
    }

    /// Turns it on or off; says what it was before.
    fn switch(&self, on: bool) -> Result<bool, TraceError> {
        with(|registry| {
            let context = registry.contexts.iter_mut().find(|context| context.0 == self.id);
            let context = context.ok_or(TraceError::ContextDestroyed(self.id))?;
            let before = std::mem::replace(&mut context.1, on);
            registry.reroute();
            Ok(before)
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A context that was destroyed by name is what this would make of it.
        let _ = self.destroy();
    }
}

impl Registry {
    fn started(&self, id: ContextId) -> Result<bool, TraceError> {
        let context = self.contexts.iter().find(|context| context.0 == id);
        context.map(|context| context.1).ok_or(TraceError::ContextDestroyed(id))
    }

    fn reroute(&mut self) {
        let routes: Vec<_> =
            self.services.iter().filter(|service| self.started(service.context).unwrap_or(false)).cloned().collect();
        WANTED.store(routes.iter().fold(0, |all, route| all | route.kind.bit()), Ordering::Release);
        self.routes = Arc::new(routes);
    }
}

fn with<T>(act: impl FnOnce(&mut Registry) -> T) -> T {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    act(registry.get_or_insert_default())
}

fn operation_bits(kind: Kind, operations: Operations<'_>) -> Result<u64, TraceError> {
    match operations {
        Operations::All => Ok(u64::MAX),
        Operations::Only(list) => list.iter().try_fold(0, |bits, &operation| {
            kind.operation_name(operation).ok_or(TraceError::UnknownOperation { kind, operation })?;
            Ok(bits | 1 << operation.0)
        }),
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {}", self.0)
    }
}

impl ContextId {
    /// The number.
    pub const fn as_raw(self) -> u64 {
        self.0
    }
}
