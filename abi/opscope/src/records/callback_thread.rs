use std::ffi::c_char;

use opscope::trace::CallbackThread;

use crate::border::{call, handle, insert, opscope_status_t, out, read_text, remove};

/// A thread that calls the callbacks of buffers. Buffers without one of their own share one. Free it with
/// `opscope_callback_thread_free`; it ends with the last buffer that uses it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_callback_thread_t {
    /// 0 is the thread that buffers share.
    pub id: u64,
}
handle!(opscope_callback_thread_t => CallbackThread, "callback thread");

/// Creates a callback thread with this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_callback_thread_create(
    name: *const c_char,
    thread: *mut opscope_callback_thread_t,
) -> opscope_status_t {
    call(|| {
        let thread = out(thread, "thread")?;
        // SAFETY: as the caller promises.
        let created = CallbackThread::create(unsafe { read_text(name, "name")? });
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { thread.write(insert(created)) };
        Ok(())
    })
}

/// Frees a callback thread. Buffers that use it keep it.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_callback_thread_free(thread: opscope_callback_thread_t) -> opscope_status_t {
    call(|| remove(thread).map(drop))
}
