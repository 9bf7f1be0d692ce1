use super::finalize::{finalize_at_exit, finalize_client, leave_out};
use super::forks::hold_locks_across_forks;
use super::{clients, find};
use crate::border::say;
use crate::buffers::default_thread;
use crate::layout::Configure;
use crate::phase::{DONE, begin_initialization, end_initialization, initialization};
use crate::{contexts, exit, markers, producer, services};

/// Finds the tools and initializes them, once. Returns whether that is complete. Returns `false` to a thread that calls
/// this meanwhile, such as one that a tool waits for; what that thread registers is handled at the end.
pub fn initialize() -> bool {
    initialize_with(None) || initialization() == DONE
}

/// Initializes the tools, with this one as the first. Returns whether this call did it, rather than an earlier one.
pub fn initialize_with(forced: Option<Configure>) -> bool {
    if !begin_initialization() {
        return false;
    }
    prepare_exit();
    hold_locks_across_forks();
    find::make_own_functions_visible();
    for (number, tool) in find::all(forced).into_iter().enumerate() {
        clients::configure(tool, number);
    }
    clients::initialize_all(finalize_client, leave_out);
    // A process whose tools request nothing gets no thread: some tools only look, and rely on that.
    if !clients::lock().is_empty() && default_thread().start().is_err() {
        say("the system refuses a thread for callbacks; records wait until it grants one");
    }
    services::freeze();
    contexts::on_change(contexts_changed);
    contexts_changed();
    end_initialization();
    markers::register_waiting();
    producer::connect_all();
    // This is done again, because the tools that were loaded have created objects by now.
    exit::finalize_earlier();
    true
}

/// Reacts when a context was started or stopped.
fn contexts_changed() {
    services::find_direct();
    producer::update_all();
}

/// Registers the finalization of the tools at the exit, before their buffers are destroyed.
fn prepare_exit() {
    // Without memory for this, tools are not finalized at the exit.
    if opscope_trace::register_process_events().is_err() || !exit::finalize_by(finalize_at_exit) {
        say("tools will not be finalized: the system has no memory for it");
    }
}
