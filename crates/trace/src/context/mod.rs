mod markers;

pub use markers::{Range, counter, mark, mark_named, range, range_named};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::buffer::Inner;
use crate::buffer::thread_writers as local;
use crate::chunk::header_word;
use crate::{Buffer, BufferId, Category, ContextId, Kind, Operation, Operations, Record, TraceError};

/// The switch for a set of tracing services: which kinds go to which buffers while it is started. It stops when it is
/// dropped.
#[derive(Debug)]
pub struct Context {
    id: ContextId,
}

/// A kind that a context wants in a buffer.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    kind: Kind,
    operations: u64,
    buffer: Arc<Inner>,
    /// Whether the context is started. Emitting threads ask this under the buffer's lock.
    active: Arc<AtomicBool>,
}

/// What the started contexts want, at one moment.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    word: u64,
    services: Vec<Service>,
}

#[derive(Debug)]
struct Registered {
    id: ContextId,
    active: Arc<AtomicBool>,
    services: Vec<Service>,
}

#[derive(Debug)]
pub(crate) struct Registry {
    contexts: Vec<Registered>,
    routes: Option<Arc<Routes>>,
}

/// The state of all contexts: the lower 16 bits say which kinds are wanted, the others count the changes. A thread that
/// knows its way for this very word need not look further.
static STATE: AtomicU64 = AtomicU64::new(0);
const KINDS: u64 = 0xffff;

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { contexts: Vec::new(), routes: None });

/// Whether a started context wants this kind: one relaxed load and one branch.
#[inline]
pub fn wanted(kind: Kind) -> bool {
    STATE.load(Ordering::Relaxed) & kind.bit() != 0
}

/// Emits a record into the buffers of all started contexts that want it. Costs one relaxed load and one branch when none
/// does, and 2 to 3 ns when one does.
///
/// # Errors
/// The first error of a buffer; the others get the record all the same.
#[inline(always)]
pub fn emit<R: Record>(record: &R) -> Result<(), TraceError> {
    let state = STATE.load(Ordering::Relaxed);
    if state & R::KIND.bit() == 0 {
        return Ok(());
    }
    let header = const { header_word(Category::TRACING, R::KIND.as_raw(), size_of::<R>()) };
    if local::append(state, R::KIND, record.operation(), header, record.as_bytes()) {
        return Ok(());
    }
    // A copy, so that the record's address is taken on this path only: then the caller's values go straight from registers
    // into the buffer, and the record is never laid down elsewhere.
    match R::read_from_bytes(record.as_bytes()) {
        Ok(copy) => emit_slowly(state, copy),
        Err(_) => unreachable!("a record is as long as itself"),
    }
}

#[cold]
#[inline(never)]
fn emit_slowly<R: Record>(state: u64, record: R) -> Result<(), TraceError> {
    let header = const { header_word(Category::TRACING, R::KIND.as_raw(), size_of::<R>()) };
    emit_wanted(state, R::KIND, record.operation(), header, record.as_bytes())
}

/// Emits where the way is not known, or there is more to do than writing.
fn emit_wanted(state: u64, kind: Kind, operation: Operation, header: u64, payload: &[u8]) -> Result<(), TraceError> {
    local::with_routes(state, |routes| {
        let mut result = Ok(());
        let mut last = None;
        let mut services = 0;
        for service in routes.services.iter().filter(|service| service.kind == kind) {
            services += 1;
            last = Some(service);
            if service.operations >> (operation.0 & 63) & 1 != 0
                && !local::append_to(service.buffer.id(), header, payload)
            {
                result = result.and(service.buffer.emit(Some(service), header, payload));
            }
        }
        if let (1, Some(service)) = (services, last) {
            local::remember(routes.word, service);
        }
        result
    })
}

impl Context {
    /// A context without services, not started.
    pub fn create() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = ContextId(NEXT.fetch_add(1, Ordering::Relaxed));
        lock().contexts.push(Registered { id, active: Arc::default(), services: Vec::new() });
        Self { id }
    }

    /// Its name within the process.
    pub fn id(&self) -> ContextId {
        self.id
    }

    /// Asks for records of a kind, into a buffer. A buffer serves one context, the first that asks. In a started context
    /// it begins at once.
    ///
    /// # Errors
    /// When the context has this kind already, the kind lacks an operation, or the buffer is destroyed or another
    /// context's. The context is as before then.
    pub fn configure(&self, kind: Kind, operations: Operations<'_>, buffer: &Buffer) -> Result<(), TraceError> {
        let operations = operation_bits(kind, operations)?;
        if buffer.inner().is_destroyed() {
            return Err(TraceError::BufferDestroyed(buffer.id()));
        }
        let mut registry = lock();
        let context = registry.context(self.id)?;
        if context.services.iter().any(|service| service.kind == kind) {
            return Err(TraceError::KindConfigured { context: self.id, kind });
        }
        let owner = buffer.inner().claim(self.id);
        if owner != self.id {
            return Err(TraceError::BufferOfAnotherContext { buffer: buffer.id(), owner, context: self.id });
        }
        context.services.push(Service {
            kind,
            operations,
            buffer: Arc::clone(buffer.inner()),
            active: Arc::clone(&context.active),
        });
        registry.reroute();
        Ok(())
    }

    /// Begins to trace. Does nothing where it is started already.
    ///
    /// # Errors
    /// When the context is destroyed.
    pub fn start(&self) -> Result<(), TraceError> {
        let mut registry = lock();
        registry.context(self.id)?.active.store(true, Ordering::SeqCst);
        registry.reroute();
        Ok(())
    }

    /// Ends tracing. When it returns, every record that was emitted is in its buffer, and none will follow.
    ///
    /// # Errors
    /// When the context is not started, or destroyed.
    pub fn stop(&self) -> Result<(), TraceError> {
        if stop(self.id)? { Ok(()) } else { Err(TraceError::ContextNotStarted(self.id)) }
    }

    /// Whether it is started.
    pub fn is_active(&self) -> bool {
        lock().context(self.id).is_ok_and(|context| context.active.load(Ordering::SeqCst))
    }

    /// Whether it is not destroyed.
    pub fn is_valid(&self) -> bool {
        lock().context(self.id).is_ok()
    }

    /// Stops it and takes back all its services; its buffers stay.
    ///
    /// # Errors
    /// When it is destroyed already.
    pub fn destroy(&self) -> Result<(), TraceError> {
        stop(self.id)?;
        let mut registry = lock();
        registry.contexts.retain(|context| context.id != self.id);
        registry.reroute();
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A context that was destroyed by name is what this would make of it.
        let _ = self.destroy();
    }
}

/// Stops a context; says whether it was started.
fn stop(id: ContextId) -> Result<bool, TraceError> {
    let mut registry = lock();
    let context = registry.context(id)?;
    let was_active = context.active.swap(false, Ordering::SeqCst);
    let mut buffers: Vec<_> = context.services.iter().map(|service| Arc::clone(&service.buffer)).collect();
    registry.reroute();
    drop(registry);
    // Whoever has not seen the change is writing without the lock, and is waited for here, or takes the lock next, and
    // sees that the context is not active.
    buffers.dedup_by_key(|buffer| buffer.id());
    buffers.iter().for_each(|buffer| buffer.shut_writers_out());
    Ok(was_active)
}

/// Takes back every service into a buffer.
pub(crate) fn forget(buffer: BufferId) {
    let mut registry = lock();
    for context in &mut registry.contexts {
        context.services.retain(|service| service.buffer.id() != buffer);
    }
    registry.reroute();
}

/// Stops every context.
pub(crate) fn stop_all() {
    let ids: Vec<_> = lock().contexts.iter().map(|context| context.id).collect();
    // One that was destroyed meanwhile is stopped, too.
    ids.into_iter().for_each(|id| drop(stop(id)));
}

impl Registry {
    fn context(&mut self, id: ContextId) -> Result<&mut Registered, TraceError> {
        self.contexts.iter_mut().find(|context| context.id == id).ok_or(TraceError::ContextDestroyed(id))
    }

    /// Makes known what the contexts want now.
    fn reroute(&mut self) {
        let all = self.contexts.iter().flat_map(|context| &context.services);
        let services: Vec<_> = all.filter(|service| service.is_active()).cloned().collect();
        let kinds = services.iter().fold(0, |kinds, service| kinds | service.kind.bit());
        let change = (STATE.load(Ordering::Relaxed) & !KINDS) + KINDS + 1;
        self.routes = Some(Arc::new(Routes { word: change | kinds, services }));
        STATE.store(change | kinds, Ordering::SeqCst);
    }
}

impl Routes {
    /// The newest.
    pub(crate) fn current() -> Arc<Self> {
        lock().routes.clone().unwrap_or_default()
    }

    /// The state of all contexts that these belong to.
    pub(crate) fn word(&self) -> u64 {
        self.word
    }
}

impl Service {
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    pub(crate) fn buffer(&self) -> &Arc<Inner> {
        &self.buffer
    }
}

/// The registry, locked.
pub(crate) type Lock = MutexGuard<'static, Registry>;

pub(crate) fn lock_for_fork() -> Lock {
    lock()
}

fn lock() -> Lock {
    // Nothing panics between two halves of a change, so a poisoned registry is whole.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
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
