//! Buffers: where records wait for the tool's callback, and the threads that call it.

mod create;
mod delivery;
mod list;

use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_border::{Out, exported};
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{CallbackThread, on_callback_thread_creation};

use crate::border::{Data, Status, call_tool, out};
use crate::layout::Handle;
use crate::phase::check_not_initialized;
pub use list::{Buffer, end_all_of, finalize_all, find, flush_all_of};

/// Locks the locks of this room, and returns the guards.
pub fn locks() -> Vec<Box<dyn Any>> {
    vec![Box::new(list::lock()), Box::new(lock())]
}

/// A tool's function that is called around the creation of a thread.
type ThreadCallback = Option<extern "C-unwind" fn(library: u32, data: Data)>;

/// This library's bit in `rocprofiler_runtime_library_t`.
const LIBRARY: u32 = 1;

/// The threads that tools created. A thread's id is its position, from 1.
static CREATED: Mutex<Vec<CallbackThread>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<CallbackThread>> {
    CREATED.lock()
}

/// Returns the thread of all buffers that are assigned to no other thread. Its id is 0.
pub fn default_thread() -> &'static CallbackThread {
    static DEFAULT: OnceLock<CallbackThread> = OnceLock::new();
    DEFAULT.get_or_init(|| CallbackThread::create("rocprofiler-sdk"))
}

/// Calls `before` and `after` around each thread that this library creates later, if `libraries` has its bit or is 0.
/// They may call any function. If one of them creates a thread, it is not called for that thread.
#[exported]
pub fn rocprofiler_at_internal_thread_create(
    before: ThreadCallback,
    after: ThreadCallback,
    libraries: u32,
    data: Data,
) -> Status {
    if libraries == 0 || libraries & LIBRARY != 0 {
        let caller = move |function: ThreadCallback| {
            move || {
                if let Some(function) = function {
                    call_tool("a callback at the creation of a thread", || function(LIBRARY, data));
                }
            }
        };
        on_callback_thread_creation(caller(before), caller(after));
    }
    Status::Success
}

/// Creates a thread for callbacks.
#[exported]
pub fn rocprofiler_create_callback_thread(thread: Out<'_, Handle>) -> Result<(), Status> {
    let thread = out(thread)?;
    check_not_initialized()?;
    static NEXT_NAME: AtomicU64 = AtomicU64::new(1);
    let created = CallbackThread::create(&format!("rocprofiler-{}", NEXT_NAME.fetch_add(1, Ordering::Relaxed)));
    created.start().map_err(|_| Status::Error)?;
    let mut threads = lock();
    threads.push(created);
    thread.write(Handle(threads.len() as u64));
    Ok(())
}

/// Assigns a buffer to a thread, which then calls the buffer's callback.
#[exported]
pub fn rocprofiler_assign_callback_thread(buffer: Handle, thread: Handle) -> Result<(), Status> {
    check_not_initialized()?;
    let thread = match thread.0 {
        0 => default_thread().clone(),
        number => lock().get(number as usize - 1).cloned().ok_or(Status::ThreadNotFound)?,
    };
    find(buffer)?.assign(&thread)
}
