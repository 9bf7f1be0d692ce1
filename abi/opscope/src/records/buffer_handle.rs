//! The handles of buffers, and the threads that call back for them.

use opscope::trace::{Buffer, CallbackThread};
use opscope_border::{Out, Text, exported};

use crate::border::{Failure, handle, insert, remove};

/// A thread that calls the callbacks of buffers. Buffers without their own thread share one. Free it with
/// `opscope_callback_thread_free`; it ends with the last buffer that uses it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_callback_thread_t {
    /// 0 is the shared thread.
    pub id: u64,
}
handle!(opscope_callback_thread_t => CallbackThread, "callback thread");

/// Creates a callback thread with this name.
#[exported]
pub fn opscope_callback_thread_create(
    name: Text<'_>,
    thread: Out<'_, opscope_callback_thread_t>,
) -> Result<(), Failure> {
    let thread = thread.place("thread")?;
    let created = CallbackThread::create(name.str("name")?);
    thread.write(insert(created));
    Ok(())
}

/// Frees a callback thread. Buffers that use it keep it.
#[exported]
pub fn opscope_callback_thread_free(thread: opscope_callback_thread_t) -> Result<(), Failure> {
    remove(thread).map(drop)
}

/// A buffer, in which records wait for their callback. Destroy it with `opscope_buffer_destroy`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_buffer_t {
    /// 0 is no buffer.
    pub id: u64,
}
handle!(opscope_buffer_t => Buffer, "buffer");
