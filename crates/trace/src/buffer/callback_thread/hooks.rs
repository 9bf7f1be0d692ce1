use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) type Hook = Box<dyn FnMut() + Send>;

static HOOKS: Mutex<Vec<(Hook, Hook)>> = Mutex::new(Vec::new());

/// Calls `before` and `after` around the creation of every callback thread from here on, on the thread that creates it,
/// in the order in which they were registered. They cannot be taken back, and must neither create a buffer nor fork.
pub fn on_callback_thread_creation(before: impl FnMut() + Send + 'static, after: impl FnMut() + Send + 'static) {
    lock().push((Box::new(before), Box::new(after)));
}

/// Creates a thread between the registered calls.
pub(crate) fn around_creation<T>(create: impl FnOnce() -> T) -> T {
    let mut hooks = lock();
    hooks.iter_mut().for_each(|hook| hook.0());
    let created = create();
    hooks.iter_mut().for_each(|hook| hook.1());
    created
}

/// The registered calls, locked.
pub(crate) type Lock = MutexGuard<'static, Vec<(Hook, Hook)>>;

pub(crate) fn lock() -> Lock {
    // A hook that panicked leaves the list as it was.
    HOOKS.lock().unwrap_or_else(PoisonError::into_inner)
}
