use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::finalize::{finalize_at_exit, finalize_client};
use super::{clients, find};
use crate::border::say;
use crate::buffers::default_thread;
use crate::layout::Configure;
use crate::phase::{DONE, IN_PROGRESS, NOT_YET, initialization, set_initialization};
use crate::{contexts, markers, producer, services, thread};

/// Held by the thread that initializes.
static TURN: Mutex<()> = Mutex::new(());
/// The thread that initializes; 0 if none does.
static OWNER: AtomicU64 = AtomicU64::new(0);

/// Finds the tools and initializes them, once. Returns whether that is over: a tool that comes back here while it is initialized finds
/// that it is not.
pub fn initialize(forced: Option<Configure>) -> bool {
    if initialization() == DONE {
        return true;
    }
    let thread = thread::current_id();
    if OWNER.load(Ordering::Acquire) == thread {
        return false;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if initialization() != NOT_YET {
        return true;
    }
    OWNER.store(thread, Ordering::Release);
    set_initialization(IN_PROGRESS);
    prepare_exit();
    find::make_own_functions_visible();
    for (number, tool) in find::all(forced).into_iter().enumerate() {
        clients::configure(tool, number);
    }
    clients::initialize_all(finalize_client);
    if default_thread().start().is_err() {
        say("the system refuses a thread for callbacks; records wait until it grants one");
    }
    services::freeze();
    contexts::on_change(producer::update_all);
    set_initialization(DONE);
    OWNER.store(0, Ordering::Release);
    markers::register_waiting();
    producer::connect_all();
    true
}

/// Lets tools be finalized when the process exits, before their buffers are destroyed.
fn prepare_exit() {
    // Without memory for it, tools are not finalized at the exit.
    // SAFETY: the function is never unloaded: the library is linked so.
    if opscope_trace::register_process_events().is_err() || unsafe { libc::atexit(finalize_at_exit) } != 0 {
        say("tools will not be finalized: the system has no memory for it");
    }
}
