//! The functions for contexts, streams and system parameters. The parameters are stored, but have no effect.

use std::ffi::c_int;

use opscope_border::{Out, exported};

use super::{aclrtContext, aclrtStream, check_device, is_primary_open, limit, stream};
use crate::border::{Failure, codes, given};
use crate::handles::pointer;
use crate::streams::refuse_in_callback;
use crate::thread_context::runtime_call;

/// Creates a context with a default stream, and makes it current in this thread.
#[exported(runtime_call)]
pub fn aclrtCreateContext(context: Out<'_, aclrtContext>, device: i32) -> Result<(), Failure> {
    let context = context.place("context")?;
    check_device(device)?;
    context.write(pointer(super::create()));
    Ok(())
}

/// Waits for the streams of a context that aclrtCreateContext returned, and destroys them and the context.
#[exported(runtime_call)]
pub fn aclrtDestroyContext(context: aclrtContext) -> Result<(), Failure> {
    super::destroy(given(context, "context")?.addr())
}

/// Makes a context current in this thread.
#[exported(runtime_call)]
pub fn aclrtSetCurrentContext(context: aclrtContext) -> Result<(), Failure> {
    super::make_current(given(context, "context")?.addr())
}

/// Writes the current context of this thread.
#[exported(runtime_call)]
pub fn aclrtGetCurrentContext(context: Out<'_, aclrtContext>) -> Result<(), Failure> {
    let context = context.place("context")?;
    context.write(pointer(super::current_context()?));
    Ok(())
}

/// Writes the default stream of the current context.
#[exported(runtime_call)]
pub fn aclrtCtxGetCurrentDefaultStream(stream: Out<'_, aclrtStream>) -> Result<(), Failure> {
    let stream = stream.place("stream")?;
    stream.write(pointer(super::default_stream()?));
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

/// The largest number of streams on the vendor's devices. Here there is no limit.
const MOST: usize = 2048;

const FAST_LAUNCH: u32 = 1;
const FAST_SYNC: u32 = 2;

const CONTINUE_ON_FAILURE: u64 = 0;
const STOP_ON_FAILURE: u64 = 1;

const COMPLETE: c_int = 0;
const NOT_READY: c_int = 1;

/// Creates a stream in the current context.
#[exported(runtime_call)]
pub fn aclrtCreateStream(stream: Out<'_, aclrtStream>) -> Result<(), Failure> {
    create(stream)
}

/// Does the same as aclrtCreateStream. The priority has no effect. Flags for speed are accepted; all others are
/// refused.
#[exported(runtime_call)]
pub fn aclrtCreateStreamWithConfig(stream: Out<'_, aclrtStream>, _priority: u32, flags: u32) -> Result<(), Failure> {
    stream.check_given("stream")?;
    if flags & !(FAST_LAUNCH | FAST_SYNC) != 0 {
        return Err(Failure::unsupported(&format!("flag {flags:#x} of aclrtCreateStreamWithConfig")));
    }
    create(stream)
}

fn create(stream: Out<'_, aclrtStream>) -> Result<(), Failure> {
    let stream = stream.place("stream")?;
    stream.write(pointer(super::create_stream()?));
    Ok(())
}

/// Waits for the work of a stream, and destroys it.
#[exported(runtime_call)]
pub fn aclrtDestroyStream(stream: aclrtStream) -> Result<(), Failure> {
    let stream = given(stream, "stream")?;
    refuse_in_callback()?;
    super::take_stream(stream.addr())?.end()
}

/// Destroys a stream. Work that has not begun is dropped.
#[exported(runtime_call)]
pub fn aclrtDestroyStreamForce(stream: aclrtStream) -> Result<(), Failure> {
    super::take_stream(given(stream, "stream")?.addr())?.abort();
    Ok(())
}

/// Waits for the work of a stream, and returns the code of the first failure.
#[exported(runtime_call)]
pub fn aclrtSynchronizeStream(of: aclrtStream) -> Result<(), Failure> {
    stream(of)?.synchronize(None)
}

/// Does the same as aclrtSynchronizeStream, with a timeout in milliseconds.
#[exported(runtime_call)]
pub fn aclrtSynchronizeStreamWithTimeout(of: aclrtStream, milliseconds: i32) -> Result<(), Failure> {
    let limit = limit(milliseconds, 0)?;
    stream(of)?.synchronize(limit)
}

/// Sets whether a stream continues after a failure, or skips the work that follows it.
#[exported(runtime_call)]
pub fn aclrtSetStreamFailureMode(of: aclrtStream, mode: u64) -> Result<(), Failure> {
    let stops = match mode {
        CONTINUE_ON_FAILURE => false,
        STOP_ON_FAILURE => true,
        _ => {
            let reason = "it is ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)";
            return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "mode", mode, reason));
        }
    };
    stream(of)?.stop_on_failure(stops);
    Ok(())
}

/// Writes whether the work of a stream is done.
#[exported(runtime_call)]
pub fn aclrtStreamQuery(of: aclrtStream, status: Out<'_, c_int>) -> Result<(), Failure> {
    let status = status.place("status")?;
    let answer = if stream(of)?.is_idle() { COMPLETE } else { NOT_READY };
    status.write(answer);
    Ok(())
}

/// Writes the number of a stream, by which dumps name it.
#[exported(runtime_call)]
pub fn aclrtStreamGetId(of: aclrtStream, id: Out<'_, i32>) -> Result<(), Failure> {
    let id = id.place("streamId")?;
    id.write(stream(of)?.id());
    Ok(())
}

/// Writes how many more streams a program for the vendor's devices could create.
#[exported(runtime_call)]
pub fn aclrtGetStreamAvailableNum(count: Out<'_, u32>) -> Result<(), Failure> {
    let count = count.place("streamCount")?;
    let left = MOST.saturating_sub(super::stream_count());
    count.write(u32::try_from(left).unwrap_or(u32::MAX));
    Ok(())
}

/// Sets an option of the current context.
#[exported(runtime_call)]
pub fn aclrtCtxSetSysParamOpt(option: c_int, value: i64) -> Result<(), Failure> {
    set(false, option, value)
}

/// Writes an option of the current context.
#[exported(runtime_call)]
pub fn aclrtCtxGetSysParamOpt(option: c_int, value: Out<'_, i64>) -> Result<(), Failure> {
    get(false, option, value)
}

/// Sets an option of the process.
#[exported(runtime_call)]
pub fn aclrtSetSysParamOpt(option: c_int, value: i64) -> Result<(), Failure> {
    set(true, option, value)
}

/// Writes an option of the process.
#[exported(runtime_call)]
pub fn aclrtGetSysParamOpt(option: c_int, value: Out<'_, i64>) -> Result<(), Failure> {
    get(true, option, value)
}

fn set(of_process: bool, option: c_int, value: i64) -> Result<(), Failure> {
    super::set_option(of_process, check(option)?, value)
}

fn get(of_process: bool, option: c_int, value: Out<'_, i64>) -> Result<(), Failure> {
    let value = value.place("value")?;
    let Some(set) = super::option(of_process, check(option)?)? else {
        let text = format!("option {option} was not set");
        return Err(Failure::new(codes::RT_SYSPARAMOPT_NOT_SET, "EE1003", text));
    };
    value.write(set);
    Ok(())
}

fn check(option: c_int) -> Result<c_int, Failure> {
    let reason = "options are 0 to 3";
    let wrong = || Failure::wrong_value_of(codes::RT_PARAM_INVALID, "option", option, reason);
    (0..=3).contains(&option).then_some(option).ok_or_else(wrong)
}
