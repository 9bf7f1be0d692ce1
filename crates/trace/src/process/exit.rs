use std::io;

/// Registers a function that is called when the process exits. Functions are called in the reverse order of
/// registration.
pub(super) fn call_at_exit(function: extern "C" fn()) -> io::Result<()> {
    // SAFETY: an `extern "C" fn` that panics aborts, so nothing unwinds into the C library. This library is never
    // unloaded while functions are registered.
    match unsafe { libc::atexit(function) } {
        0 => Ok(()),
        _ => Err(io::ErrorKind::OutOfMemory.into()),
    }
}
