//! External correlation ids: a stack for each context and thread, which the tool pushes to and pops from.

mod stacks;

use std::any::Any;
use std::ffi::c_int;

use crate::border::{Status, call};
use crate::contexts;
use crate::layout::{Handle, UserData};
pub use stacks::pushed;

/// Pushes an external id onto the stack of a thread in a context. Records of that thread carry it in that context.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_push_external_correlation_id(context: Handle, thread: u64, external: UserData) -> Status {
    call(|| {
        check_thread(thread)?;
        stacks::push(contexts::find(context)?.id, thread, external.0);
        Ok(())
    })
}

/// Pops an external id, and writes it to `external` unless that is NULL. From an empty stack it pops 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_pop_external_correlation_id(
    context: Handle,
    thread: u64,
    external: *mut UserData,
) -> Status {
    call(|| {
        check_thread(thread)?;
        let popped = stacks::pop(contexts::find(context)?.id, thread).unwrap_or(0);
        if !external.is_null() {
            // SAFETY: it is not NULL, and the tool promises that it is writable.
            unsafe { external.write(UserData(popped)) };
        }
        Ok(())
    })
}

/// Checks the number of a thread. The first thread of a process has the process's number. A system that counted past its highest
/// number continues with low ones, so a lower number is a thread, too, if this process has it.
fn check_thread(thread: u64) -> Result<(), Status> {
    let number = c_int::try_from(thread).map_err(|_| Status::InvalidArgument)?;
    // SAFETY: the calls have no conditions. Signal 0 is not sent.
    let exists = unsafe {
        number >= libc::getpid() || (number > 0 && libc::syscall(libc::SYS_tgkill, libc::getpid(), number, 0) == 0)
    };
    if exists { Ok(()) } else { Err(Status::InvalidArgument) }
}

/// Returns the locks of this room, locked.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(stacks::lock())]
}
