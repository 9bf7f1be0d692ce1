//! External correlation ids: one stack per context and thread, which the tool pushes to and pops from.

mod stacks;

use std::any::Any;
use std::ffi::c_int;

use opscope_border::{Out, exported, system};

use crate::border::Status;
use crate::contexts;
use crate::layout::{Handle, UserData};
pub use stacks::pushed;

/// Pushes an external id onto a thread's stack in a context. The thread's records in that context carry it.
#[exported]
pub fn rocprofiler_push_external_correlation_id(
    context: Handle,
    thread: u64,
    external: UserData,
) -> Result<(), Status> {
    check_thread(thread)?;
    stacks::push(contexts::find(context)?.id, thread, external.0);
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
    let popped = stacks::pop(contexts::find(context)?.id, thread).unwrap_or(0);
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
    vec![Box::new(stacks::lock())]
}
