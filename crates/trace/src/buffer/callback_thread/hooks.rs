use std::cell::Cell;
use std::sync::Arc;

use crate::sync::inside::outside;
use crate::sync::{Mutex, MutexGuard};

/// The two functions that are called before and after the creation of a callback thread.
pub(in crate::buffer) struct Hook {
    before: Box<dyn Fn() + Send + Sync>,
    after: Box<dyn Fn() + Send + Sync>,
}

static HOOKS: Mutex<Vec<Arc<Hook>>> = Mutex::new(Vec::new());

thread_local! {
    /// The hooks that this thread is executing, one bit for each. It has no destructor, so it can be used on every
    /// thread.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
}

/// Calls `before` and `after` around the creation of every later callback thread, on the thread that creates it, in the
/// order in which they were registered. They cannot be removed. Several threads may execute them at the same time.
///
/// No lock is held meanwhile, so they may call every function of this crate. Before the thread is created, they cannot
/// wait for it: a flush of its buffers returns [`Busy`](crate::TraceError::Busy). A hook that creates a callback thread
/// itself is not called for that one; the other hooks are.
pub fn on_callback_thread_creation(
    before: impl Fn() + Send + Sync + 'static,
    after: impl Fn() + Send + Sync + 'static,
) {
    lock().push(Arc::new(Hook { before: Box::new(before), after: Box::new(after) }));
}

/// Calls `create` between the two functions of each hook.
pub(super) fn around_creation<T>(create: impl FnOnce() -> T) -> T {
    let hooks: Vec<Arc<Hook>> = lock().clone();
    hooks.iter().enumerate().for_each(|(index, hook)| call(index, &hook.before));
    let created = create();
    hooks.iter().enumerate().for_each(|(index, hook)| call(index, &hook.after));
    created
}

/// Calls a function of a hook, unless this thread is already executing that hook.
fn call(index: usize, function: &dyn Fn()) {
    struct Inside(u64);
    impl Drop for Inside {
        fn drop(&mut self) {
            INSIDE.set(self.0);
        }
    }
    // There are few hooks. From the 64th on, they share the last bit.
    let bit = 1 << index.min(63);
    let before = INSIDE.get();
    if before & bit == 0 {
        INSIDE.set(before | bit);
        let _inside = Inside(before);
        // The call that creates the thread holds no lock now, so records of the hook must not be taken for a signal
        // handler's.
        outside(function);
    }
}

/// The locked list of hooks.
pub(in crate::buffer) type Lock = MutexGuard<'static, Vec<Arc<Hook>>>;

pub(in crate::buffer) fn lock() -> Lock {
    HOOKS.lock()
}
