//! External correlation ids: one stack per context and thread, which the tool pushes to and pops from.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::{Out, exported, system};
use opscope_trace::{Mutex, MutexGuard, interrupts_a_call};

use crate::border::Status;
use crate::contexts;
use crate::layout::{Handle, UserData};

/// Pushes an external id onto a thread's stack in a context. The thread's records in that context carry it.
#[exported]
pub fn rocprofiler_push_external_correlation_id(
    context: Handle,
    thread: u64,
    external: UserData,
) -> Result<(), Status> {
    check_thread(thread)?;
    push(contexts::find(context)?.id, thread, external.0);
    Ok(())
}

/// Pops an external id, and writes it to `external` unless that is NULL. From an empty stack it pops 0.
#[exported]
pub fn rocprofiler_pop_external_correlation_id(
    context: Handle,
    thread: u64,
    external: Out<'_, UserData>,
) -> Result<(), Status> {
    check_thread(thread)?;
    let popped = pop(contexts::find(context)?.id, thread).unwrap_or(0);
    external.write_if_given(UserData(popped));
    Ok(())
}

/// Checks that this process may have a thread with this number. The first thread has the process's number, and later
/// ones usually have higher numbers, so these are accepted unchecked. After its highest number the system continues
/// with low ones, so a lower number is accepted if such a thread exists.
fn check_thread(thread: u64) -> Result<(), Status> {
    let number = c_int::try_from(thread).map_err(|_| Status::InvalidArgument)?;
    if number >= system::process_id() || system::is_own_thread(number) { Ok(()) } else { Err(Status::InvalidArgument) }
}

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(lock())]
}

/// The stacks, by context and thread.
type Stacks = HashMap<(u64, u64), Vec<u64>>;

static STACKS: Mutex<Option<Stacks>> = Mutex::new(None);

/// Whether anything was ever pushed. Most tools push nothing, so records need not look at the stacks.
static IS_USED: AtomicBool = AtomicBool::new(false);

fn lock() -> MutexGuard<'static, Option<Stacks>> {
    STACKS.lock()
}

fn push(context: Handle, thread: u64, external: u64) {
    lock().get_or_insert_default().entry((context.0, thread)).or_default().push(external);
    IS_USED.store(true, Ordering::Release);
}

fn pop(context: Handle, thread: u64) -> Option<u64> {
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
