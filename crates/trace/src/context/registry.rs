//! All contexts of the process, and the routes that each thread has cached, so that a lookup takes no lock.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::routes::{Routes, Service};
use crate::TraceError;
use crate::record::{BufferId, ContextId};
use crate::sync::{Mutex, MutexGuard};

#[derive(Debug)]
pub(super) struct Registry {
    contexts: Vec<Entry>,
    /// The newest routes; `None` before the first ones.
    routes: Option<Arc<Routes>>,
}

/// One context.
#[derive(Debug)]
pub(super) struct Entry {
    id: ContextId,
    /// Whether it is started.
    pub(super) active: Arc<AtomicBool>,
    pub(super) services: Vec<Service>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { contexts: Vec::new(), routes: None });

/// Adds a context without services, not started.
pub(super) fn add() -> ContextId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = ContextId(NEXT.fetch_add(1, Ordering::Relaxed));
    lock().contexts.push(Entry { id, active: Arc::default(), services: Vec::new() });
    id
}

/// Stops a context. Returns whether it was started.
pub(super) fn stop(id: ContextId) -> Result<bool, TraceError> {
    let mut registry = lock();
    let context = registry.context(id)?;
    let was_active = context.active.swap(false, Ordering::SeqCst);
    let mut buffers: Vec<_> = context.services.iter().map(|service| Arc::clone(&service.buffer)).collect();
    registry.update_routes();
    drop(registry);
    // A thread that has not seen the change is either writing without the lock, and this waits for it, or takes the
    // lock next and sees that the context is not active.
    buffers.dedup_by_key(|buffer| buffer.id());
    buffers.iter().for_each(|buffer| buffer.lock_writers_out());
    Ok(was_active)
}

/// Stops every context.
pub(super) fn stop_all() {
    let ids: Vec<_> = lock().contexts.iter().map(|context| context.id).collect();
    // An error means that the context was destroyed meanwhile, which also stops it.
    ids.into_iter().for_each(|id| drop(stop(id)));
}

/// Removes a context.
pub(super) fn remove(id: ContextId) {
    let mut registry = lock();
    registry.contexts.retain(|context| context.id != id);
    registry.update_routes();
}

/// Removes every service into a buffer.
pub(super) fn remove_services_into(buffer: BufferId) {
    let mut registry = lock();
    for context in &mut registry.contexts {
        context.services.retain(|service| service.buffer.id() != buffer);
    }
    registry.update_routes();
}

/// Returns the newest routes.
pub(super) fn current_routes() -> Arc<Routes> {
    lock().routes.clone().unwrap_or_default()
}

impl Registry {
    pub(super) fn context(&mut self, id: ContextId) -> Result<&mut Entry, TraceError> {
        self.contexts.iter_mut().find(|context| context.id == id).ok_or(TraceError::ContextDestroyed(id))
    }

    /// Computes the routes from the contexts and publishes them.
    pub(super) fn update_routes(&mut self) {
        let all = self.contexts.iter().flat_map(|context| &context.services);
        let routes = Arc::new(Routes::next(all.filter(|service| service.is_active()).cloned().collect()));
        self.routes = Some(Arc::clone(&routes));
        routes.publish();
    }
}

pub(super) fn lock() -> MutexGuard<'static, Registry> {
    REGISTRY.lock()
}

thread_local! {
    /// The routes that the thread used last.
    static ROUTES: RefCell<Option<Arc<Routes>>> = const { RefCell::new(None) };
}

/// Calls `act` with the routes of this version, or with newer ones.
pub(super) fn with_routes<T>(version: u64, act: impl Fn(&Routes) -> T) -> T {
    let known = ROUTES.try_with(|routes| {
        let is_current = |routes: &Option<Arc<Routes>>| routes.as_ref().is_some_and(|routes| routes.version == version);
        if !routes.try_borrow().is_ok_and(|routes| is_current(&routes))
            && let Ok(mut routes) = routes.try_borrow_mut()
        {
            *routes = Some(current_routes());
        }
        routes.try_borrow().ok().and_then(|routes| routes.as_deref().map(&act))
    });
    match known {
        Ok(Some(result)) => result,
        // The thread is being torn down.
        _ => act(&current_routes()),
    }
}
