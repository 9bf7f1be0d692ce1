//! Contexts: which kinds are traced into which buffers, and emitting through them.
//!
//! How a record passes through this folder: `emit` checks whether the kind is traced at all (`routes`), and tries the
//! thread's shortcut into a buffer. If there is none, it looks the kind up in the routes that the thread has cached,
//! which come from the list of all contexts (both in `registry`). Then it passes the record to the buffer.
//!
//! Forks and the exit of the process, as contexts handle them.

mod emit;
mod markers;
mod open_ranges;
mod registry;
mod routes;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::TraceError;
use crate::buffer::{Buffer, destroy_all, register_for_process_events};
use crate::process::{HeldLocks, Registration};
use crate::record::{BufferId, ContextId, Kind, Operations};
use crate::sync::MutexGuard;
use crate::sync::inside::{Counter, set_counter};
pub use emit::{emit, emit_with_path, wanted};
pub use markers::{
    CorrelationGuard, Range, correlate, counter, mark, mark_named, range, range_named, try_counter, try_mark_named,
};
pub use open_ranges::{OpenRanges, open_ranges};
use registry::Registry;
use routes::Service;

/// The switch for a set of tracing services: a service traces one kind into one buffer while the context is started.
/// The context stops when it is dropped.
#[derive(Debug)]
pub struct Context {
    id: ContextId,
}

impl Context {
    /// Creates a context without services. It is not started.
    pub fn create() -> Self {
        // An error is returned by `configure`, before the context can have any effect.
        let _ = register();
        Self { id: registry::add() }
    }

    /// Returns its number within the process.
    pub fn id(&self) -> ContextId {
        self.id
    }

    /// Adds a service: records of this kind go into this buffer. In a started context the service begins at once. A
    /// buffer serves only one context, the first one that it is configured for.
    ///
    /// # Errors
    /// Returns an error if the context is destroyed or already has this kind, the kind does not have an operation, the
    /// buffer is destroyed or serves another context, or the system has no memory. The context is not changed in this
    /// case.
    pub fn configure(&self, kind: Kind, operations: Operations<'_>, buffer: &Buffer) -> Result<(), TraceError> {
        register()?;
        let operations = operation_bits(kind, operations)?;
        let shared = buffer.shared();
        let mut registry = registry::lock();
        let context = registry.context(self.id)?;
        if context.services.iter().any(|service| service.kind == kind) {
            return Err(TraceError::KindConfigured { context: self.id, kind });
        }
        let owner = shared.claim(self.id, registry::remove_services_into);
        if owner != self.id {
            return Err(TraceError::BufferOfAnotherContext { buffer: buffer.id(), owner, context: self.id });
        }
        // A buffer that is destroyed from here on notifies its owner, which waits for the registry.
        if shared.is_destroyed() {
            return Err(TraceError::BufferDestroyed(buffer.id()));
        }
        let active = Arc::clone(&context.active);
        context.services.push(Service { kind, operations, buffer: Arc::clone(shared), active });
        registry.update_routes();
        Ok(())
    }

    /// Starts tracing. Has no effect if the context is already started.
    ///
    /// # Errors
    /// Returns an error if the context is destroyed.
    pub fn start(&self) -> Result<(), TraceError> {
        let mut registry = registry::lock();
        registry.context(self.id)?.active.store(true, Ordering::SeqCst);
        registry.update_routes();
        Ok(())
    }

    /// Stops tracing. When it returns, every emitted record is in its buffer, and none will follow.
    ///
    /// # Errors
    /// Returns an error if the context is not started, or is destroyed.
    pub fn stop(&self) -> Result<(), TraceError> {
        if registry::stop(self.id)? { Ok(()) } else { Err(TraceError::ContextNotStarted(self.id)) }
    }

    /// Returns whether it is started.
    pub fn is_active(&self) -> bool {
        registry::lock().context(self.id).is_ok_and(|context| context.active.load(Ordering::SeqCst))
    }

    /// Returns whether it has not been destroyed.
    pub fn is_valid(&self) -> bool {
        registry::lock().context(self.id).is_ok()
    }

    /// Stops it and removes its services. Their buffers stay.
    ///
    /// # Errors
    /// Returns an error if it is destroyed already.
    pub fn destroy(&self) -> Result<(), TraceError> {
        registry::stop(self.id)?;
        registry::remove(self.id);
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // An error means that the context is destroyed already.
        let _ = self.destroy();
    }
}

/// Returns a bit for each operation.
fn operation_bits(kind: Kind, operations: Operations<'_>) -> Result<u64, TraceError> {
    match operations {
        Operations::All => Ok(u64::MAX),
        Operations::Only(list) => list.iter().try_fold(0, |bits, &operation| {
            kind.operation_name(operation).ok_or(TraceError::UnknownOperation { kind, operation })?;
            Ok(bits | 1 << operation.0)
        }),
    }
}

/// Stops every context and destroys every buffer, and waits at most `patience` until everything is delivered. Returns
/// the buffers that were not done by then. Their callbacks continue.
pub fn shutdown(patience: Duration) -> Vec<BufferId> {
    registry::stop_all();
    destroy_all(patience)
}

static REGISTRATION: Registration = Registration::new(
    || Box::new(ContextLocks { _registry: registry::lock(), ranges: open_ranges::threads() }),
    stop_at_exit,
);

/// Registers the handlers of buffers and contexts for forks and the exit of the process. Without this call, the first
/// buffer or context registers them. Functions that a program registers with `atexit` after this call run before
/// buffers are destroyed.
///
/// # Errors
/// Returns an error if the system has no memory for it.
pub fn register_process_events() -> Result<(), TraceError> {
    register()
}

/// Registers the contexts for forks and the exit of the process, once. The buffers register first, so they act last: a
/// context's lock is taken before a buffer's, and contexts stop before buffers are destroyed.
fn register() -> Result<(), TraceError> {
    register_for_process_events()?;
    set_counter(Counter::Contexts, emit::count_dropped_in_handler);
    REGISTRATION.ensure()
}

extern "C" fn stop_at_exit() {
    registry::stop_all();
}

struct ContextLocks {
    _registry: MutexGuard<'static, Registry>,
    ranges: open_ranges::Lock,
}

impl HeldLocks for ContextLocks {
    /// Releases the locks: the child keeps the contexts, and the open ranges of its only thread.
    fn reset_in_child(self: Box<Self>) {
        open_ranges::reset_after_fork(self.ranges);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::BufferOptions;

    #[test]
    fn a_buffer_that_is_destroyed_while_it_is_configured_serves_no_context() {
        let buffer = Buffer::create(BufferOptions::default(), |_| {}).unwrap();
        let context = Context::create();
        let registry = registry::lock();
        std::thread::scope(|scope| {
            let configuring = scope.spawn(|| context.configure(Kind::Run, Operations::All, &buffer));
            // The thread comes as far as the registry, which is locked.
            std::thread::sleep(Duration::from_millis(100));
            buffer.destroy().unwrap();
            drop(registry);
            let refused = configuring.join().unwrap();
            assert!(matches!(refused, Err(TraceError::BufferDestroyed(_))), "{refused:?}");
        });
        assert!(registry::lock().context(context.id()).unwrap().services.is_empty());
    }
}
