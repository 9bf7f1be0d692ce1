use super::finalize::{finalize_at_exit, finalize_client, leave_out};
use super::forks::hold_locks_across_forks;
use super::{clients, find};
use crate::border::say;
use crate::buffers::default_thread;
use crate::layout::Configure;
use crate::phase::{DONE, begin_initialization, end_initialization, initialization};
use crate::{contexts, exit, markers, producer, services};

/// Finds the tools and initializes them, once. Returns whether that is over. It is not for a thread that comes here meanwhile, such as
/// one that a tool waits for: what it brings is taken up at the end.
pub fn initialize() -> bool {
    initialize_with(None) || initialization() == DONE
}

/// Initializes the tools, with this one as the first. Returns whether this call did it: another may have come before.
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
    // A process whose tools want nothing gets no thread: some only look, and count on that.
    if !clients::lock().is_empty() && default_thread().start().is_err() {
        say("the system refuses a thread for callbacks; records wait until it grants one");
    }
    services::freeze();
    contexts::on_change(contexts_changed);
    contexts_changed();
    end_initialization();
    markers::register_waiting();
    producer::connect_all();
    // Once more: the tools that were loaded have objects now.
    exit::finalize_earlier();
    true
}

/// Follows contexts that were started or stopped.
fn contexts_changed() {
    services::find_direct();
    producer::update_all();
}

/// Lets tools be finalized when the process exits, before their buffers are destroyed.
fn prepare_exit() {
    // Without memory for it, tools are not finalized at the exit.
    if opscope_trace::register_process_events().is_err() || !exit::finalize_by(finalize_at_exit) {
        say("tools will not be finalized: the system has no memory for it");
    }
}
