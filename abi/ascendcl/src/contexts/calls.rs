//! The functions for contexts.

use opscope_border::{Out, exported};

use super::table::{self, aclrtContext, aclrtStream};
use super::{check_device, is_primary_open};
use crate::border::{Failure, given};
use crate::handles::pointer;
use crate::last_error::runtime_call;

/// Creates a context with a default stream, and makes it current in this thread.
#[exported(runtime_call)]
pub fn aclrtCreateContext(context: Out<'_, aclrtContext>, device: i32) -> Result<(), Failure> {
    let context = context.place("context")?;
    check_device(device)?;
    context.write(pointer(table::create()));
    Ok(())
}

/// Waits for the streams of a context that aclrtCreateContext returned, and destroys them and the context.
#[exported(runtime_call)]
pub fn aclrtDestroyContext(context: aclrtContext) -> Result<(), Failure> {
    table::destroy(given(context, "context")?.addr())
}

/// Makes a context current in this thread.
#[exported(runtime_call)]
pub fn aclrtSetCurrentContext(context: aclrtContext) -> Result<(), Failure> {
    table::make_current(given(context, "context")?.addr())
}

/// Writes the current context of this thread.
#[exported(runtime_call)]
pub fn aclrtGetCurrentContext(context: Out<'_, aclrtContext>) -> Result<(), Failure> {
    let context = context.place("context")?;
    context.write(pointer(table::current_context()?));
    Ok(())
}

/// Writes the default stream of the current context.
#[exported(runtime_call)]
pub fn aclrtCtxGetCurrentDefaultStream(stream: Out<'_, aclrtStream>) -> Result<(), Failure> {
    let stream = stream.place("stream")?;
    stream.write(pointer(table::default_stream()?));
    Ok(())
}

/// Writes whether the device has a default context. The flags are always 0; their pointer may be NULL.
#[exported(runtime_call)]
pub fn aclrtGetPrimaryCtxState(device: i32, flags: Out<'_, u32>, active: Out<'_, i32>) -> Result<(), Failure> {
    let active = active.place("active")?;
    check_device(device)?;
    active.write(is_primary_open().into());
    flags.write_if_given(0);
    Ok::<(), Failure>(())
}
