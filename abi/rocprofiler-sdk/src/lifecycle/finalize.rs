use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use opscope_border::system;
use opscope_sys::{Condvar, Mutex, MutexGuard};

use super::clients::{self, Client};
use crate::border::call_tool;
use crate::contexts::Context;
use crate::layout::ClientId;
use crate::phase::{DONE, IN_PROGRESS, NOT_YET, finalization, set_finalization};
use crate::{buffers, contexts, markers, thread};

/// The thread that is finalizing; 0 if there is none.
static OWNER: Mutex<u64> = Mutex::new(0);
/// Notified when that thread is done.
static DONE_WITH_IT: Condvar = Condvar::new();

/// How long a thread waits for another one to finalize. That one may itself be waiting for this one, in a tool's
/// function.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn lock() -> MutexGuard<'static, u64> {
    OWNER.lock()
}

/// Finalizes a tool. If it is the only one, the library is finalized with it. Inside a buffer's callback, returns
/// immediately. Another thread then finalizes the tool, after the callback has returned and the buffers are delivered.
pub extern "C-unwind" fn finalize_client(id: ClientId) {
    if thread::with_current(|thread| thread.is_delivering.get()) {
        // If no thread can be started, the tool is finalized when the process exits.
        let _ = Builder::new().name("rocprofiler-end".to_owned()).spawn(move || finalize_by_handle(id.handle));
    } else {
        finalize_by_handle(id.handle);
    }
}

fn finalize_by_handle(handle: u32) {
    let clients: Vec<Client> = clients::lock().clone();
    if clients.len() == 1 && clients[0].handle == handle && clients[0].is_initialized {
        return finalize_all();
    }
    if let Some(client) = clients.iter().find(|client| client.handle == handle) {
        as_owner(|| {
            let before = finalization();
            finalize(client);
            set_finalization(before);
        });
    }
}

/// Finalizes all tools, and then the library: buffers accept no more records.
pub fn finalize_all() {
    as_owner(|| {
        if finalization() == DONE {
            return;
        }
        let clients: Vec<Client> = clients::lock().clone();
        for client in &clients {
            // A tool that ends the process while it is being initialized may be in any state.
            if client.is_initialized { finalize(client) } else { leave_out(client) }
        }
        set_finalization(DONE);
        buffers::finalize_all();
    });
}

/// Makes the only thread of a fork's child the owner, if the forking thread was the owner. Otherwise there is no owner.
pub(super) fn reset_in_child(is_owner: bool) {
    // This thread's cached number may still be the parent's.
    let child = system::thread_id();
    *lock() = if is_owner { child } else { 0 };
}

/// Returns whether the calling thread is the one that finalizes.
pub(super) fn is_owner(owner: &MutexGuard<'_, u64>) -> bool {
    **owner != 0 && **owner == thread::current_id()
}

/// Finalizes all tools when the process exits. It is registered several times. Only the first call has an effect, so
/// only that one waits for another thread.
pub extern "C" fn finalize_at_exit() {
    static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
    if !HAS_BEGUN.swap(true, Ordering::AcqRel) {
        finalize_all();
    }
}

/// Runs `body` on one thread at a time. Does nothing if this thread is inside such a body already, or if another
/// thread's body does not end within 5 seconds.
fn as_owner(body: impl FnOnce()) {
    let own = thread::current_id();
    let deadline = Instant::now() + PATIENCE;
    let mut owner = lock();
    while *owner != 0 {
        let left = deadline.saturating_duration_since(Instant::now());
        if *owner == own || left.is_zero() {
            return;
        }
        owner = DONE_WITH_IT.wait_timeout(owner, left);
    }
    *owner = own;
    drop(owner);
    body();
    *lock() = 0;
    DONE_WITH_IT.notify_all();
}

/// Stops a tool's contexts, delivers its buffers, and calls its own function once. The tool is not called afterwards.
fn finalize(client: &Client) {
    if !clients::end(client) {
        return;
    }
    let contexts = contexts::contexts_of(client.number);
    for context in &contexts {
        context.stop();
    }
    if finalization() == NOT_YET {
        set_finalization(IN_PROGRESS);
    }
    let is_theirs = |id| contexts.iter().any(|context| context.id == id);
    buffers::flush_all_of(is_theirs);
    if let Some(finalize) = client.configured.finalize {
        call_tool("the finalization", || finalize(client.configured.tool_data));
    }
    end(client, &contexts);
}

/// Ends a tool without calling it: its initialization failed with an exception, so it may be in any state.
pub fn leave_out(client: &Client) {
    if clients::end(client) {
        let contexts = contexts::contexts_of(client.number);
        for context in &contexts {
            context.stop();
        }
        end(client, &contexts);
    }
}

/// Ends all calls of a tool whose contexts are stopped.
fn end(client: &Client, contexts: &[&Context]) {
    contexts.iter().for_each(|context| context.end());
    markers::forget_intercepts_of(client.number);
    buffers::end_all_of(|id| contexts.iter().any(|context| context.id == id));
}
