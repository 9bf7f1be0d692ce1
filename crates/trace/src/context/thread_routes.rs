//! The routes that each thread has cached, so that a lookup takes no lock.

use std::cell::RefCell;
use std::sync::Arc;

use super::registry;
use super::routes::Routes;

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
            *routes = Some(registry::current_routes());
        }
        routes.try_borrow().ok().and_then(|routes| routes.as_deref().map(&act))
    });
    match known {
        Ok(Some(result)) => result,
        // The thread is being torn down.
        _ => act(&registry::current_routes()),
    }
}
