//! What programs do with streams.

use std::ffi::c_int;

use super::table::{self, aclrtStream};
use super::{limit, stream};
use crate::border::{Failure, out};
use crate::handles::pointer;
use crate::last_error::runtime_call;
use crate::streams::refuse_in_callback;

/// As many streams as the vendor's devices have at most. Here there is no limit.
const MOST: usize = 2048;

const FAST_LAUNCH: u32 = 1;
const FAST_SYNC: u32 = 2;

const COMPLETE: c_int = 0;
const NOT_READY: c_int = 1;

/// Creates a stream in the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateStream(stream: *mut aclrtStream) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { create(stream) })
}

/// As aclrtCreateStream. The priority changes nothing, and of the flags those for speed are accepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateStreamWithConfig(stream: *mut aclrtStream, _priority: u32, flags: u32) -> c_int {
    runtime_call(|| {
        out(stream, "stream")?;
        if flags & !(FAST_LAUNCH | FAST_SYNC) != 0 {
            return Err(Failure::unsupported(&format!("flag {flags:#x} of aclrtCreateStreamWithConfig")));
        }
        // SAFETY: the program promises that it is writable.
        unsafe { create(stream) }
    })
}

/// # Safety
/// The place is NULL or writable.
unsafe fn create(stream: *mut aclrtStream) -> Result<(), Failure> {
    let stream = out(stream, "stream")?;
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { stream.write(pointer(table::create_stream()?)) };
    Ok(())
}

/// Waits for the work of a stream, and ends it.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtDestroyStream(stream: aclrtStream) -> c_int {
    runtime_call(|| {
        let stream = out(stream, "stream")?;
        refuse_in_callback()?;
        table::take_stream(stream.addr())?.end()
    })
}

/// Ends a stream. Work that has not begun is dropped.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtDestroyStreamForce(stream: aclrtStream) -> c_int {
    runtime_call(|| {
        table::take_stream(out(stream, "stream")?.addr())?.abort();
        Ok(())
    })
}

/// Waits for the work of a stream, and returns the code of what failed first.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeStream(of: aclrtStream) -> c_int {
    runtime_call(|| stream(of)?.synchronize(None))
}

/// As aclrtSynchronizeStream, with a time in milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeStreamWithTimeout(of: aclrtStream, milliseconds: i32) -> c_int {
    runtime_call(|| {
        let limit = limit(milliseconds, 0)?;
        stream(of)?.synchronize(limit)
    })
}

/// Writes whether the work of a stream is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamQuery(of: aclrtStream, status: *mut c_int) -> c_int {
    runtime_call(|| {
        let status = out(status, "status")?;
        let answer = if stream(of)?.is_idle() { COMPLETE } else { NOT_READY };
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { status.write(answer) };
        Ok(())
    })
}

/// Writes the number of a stream, which dumps name it by.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtStreamGetId(of: aclrtStream, id: *mut i32) -> c_int {
    runtime_call(|| {
        let id = out(id, "streamId")?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { id.write(stream(of)?.id()) };
        Ok(())
    })
}

/// Writes how many streams a program for the vendor's devices could still create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetStreamAvailableNum(count: *mut u32) -> c_int {
    runtime_call(|| {
        let count = out(count, "streamCount")?;
        let left = MOST.saturating_sub(table::stream_count());
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { count.write(u32::try_from(left).unwrap_or(u32::MAX)) };
        Ok(())
    })
}
