use std::ffi::c_int;

use opscope_border::{InOut, Out, exported};

use super::list::{create, find};
use crate::border::{Status, out};
use crate::layout::Handle;
use crate::phase::{DONE, NOT_YET, check_configurable, finalization};

/// Creates a context without services. The id must be 0 before the call, and stays 0 if the call fails.
#[exported]
pub fn rocprofiler_create_context(context: InOut<'_, Handle>) -> Result<(), Status> {
    let (given, context) = context.aligned_place("context")?;
    if given != Handle::default() {
        return Err(Status::ContextIdNotZero);
    }
    check_configurable()?;
    context.write(create().id);
    Ok(())
}

/// Starts a context; does nothing if it is started already. A context whose tool is finalized cannot be started.
#[exported]
pub fn rocprofiler_start_context(context: Handle) -> Result<(), Status> {
    let context = find(context)?;
    if finalization() != NOT_YET || context.is_ended() {
        return Err(Status::ConfigurationLocked);
    }
    context.start();
    Ok(())
}

/// Stops a started context. Returns `ContextNotFound` if it is not started.
#[exported]
pub fn rocprofiler_stop_context(context: Handle) -> Result<(), Status> {
    let context = find(context)?;
    if context.stop() || finalization() == DONE { Ok(()) } else { Err(Status::ContextNotFound) }
}

/// Writes 1 if a context is started, else 0. If there is no such context, writes 0 and returns `ContextNotFound`.
#[exported]
pub fn rocprofiler_context_is_active(context: Handle, status: Out<'_, c_int>) -> Result<(), Status> {
    answer(status, context, |context| context.is_started())
}

/// Writes 1 if a context with this id exists. Otherwise writes 0 and returns `ContextNotFound`.
#[exported]
pub fn rocprofiler_context_is_valid(context: Handle, status: Out<'_, c_int>) -> Result<(), Status> {
    answer(status, context, |_| true)
}

fn answer(status: Out<'_, c_int>, context: Handle, question: impl Fn(&super::Context) -> bool) -> Result<(), Status> {
    let status = out(status)?;
    status.write(0);
    let found = find(context)?;
    status.write(question(found).into());
    Ok(())
}
