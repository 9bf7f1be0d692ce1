use std::sync::{Mutex, MutexGuard, PoisonError};

type Hook = Box<dyn FnMut() + Send>;

static HOOKS: Mutex<Vec<(Hook, Hook)>> = Mutex::new(Vec::new());

/// Calls `before` and `after` around the creation of every later callback thread, on the thread that creates it, in the
/// order in which they were registered. They cannot be removed, and must neither create a buffer nor fork.
pub fn on_callback_thread_creation(before: impl FnMut() + Send + 'static, after: impl FnMut() + Send + 'static) {
    lock().push((Box::new(before), Box::new(after)));
}

/// Creates a thread between the hooks.
pub(super) fn around_creation<T>(create: impl FnOnce() -> T) -> T {
    let mut hooks = lock();
    hooks.iter_mut().for_each(|hook| hook.0());
    let created = create();
    hooks.iter_mut().for_each(|hook| hook.1());
    created
}

/// The locked list of hooks.
pub(in crate::buffer) type Lock = MutexGuard<'static, Vec<(Hook, Hook)>>;

pub(in crate::buffer) fn lock() -> Lock {
    // A hook that panicked leaves the list as it was.
    HOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}
