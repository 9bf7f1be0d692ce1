use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_trace::{Mutex, MutexGuard, interrupts_a_call};

use crate::layout::Handle;

/// The stacks, by context and thread.
type Stacks = HashMap<(u64, u64), Vec<u64>>;

static STACKS: Mutex<Option<Stacks>> = Mutex::new(None);

/// Whether anything was ever pushed. Most tools push nothing, so records need not look at the stacks.
static IS_USED: AtomicBool = AtomicBool::new(false);

pub(super) fn lock() -> MutexGuard<'static, Option<Stacks>> {
    STACKS.lock()
}

pub fn push(context: Handle, thread: u64, external: u64) {
    lock().get_or_insert_default().entry((context.0, thread)).or_default().push(external);
    IS_USED.store(true, Ordering::Release);
}

pub fn pop(context: Handle, thread: u64) -> Option<u64> {
    lock().get_or_insert_default().get_mut(&(context.0, thread))?.pop()
}

/// Returns the external id that a thread's records carry in a context: the top of its stack. A thread without a stack
/// uses that of the process's first thread. Returns `None` in a signal handler that interrupts a call, because that
/// call may hold the lock of the stacks.
#[inline(always)]
pub fn pushed(context: Handle, thread: u64) -> Option<u64> {
    if IS_USED.load(Ordering::Acquire) { look_up(context, thread) } else { Some(0) }
}

#[cold]
fn look_up(context: Handle, thread: u64) -> Option<u64> {
    if interrupts_a_call() {
        return None;
    }
    let mut locked = lock();
    let stacks = locked.get_or_insert_default();
    let first = u64::from(std::process::id());
    let stack = stacks.get(&(context.0, thread)).or_else(|| stacks.get(&(context.0, first)));
    Some(stack.and_then(|stack| stack.last()).copied().unwrap_or(0))
}
