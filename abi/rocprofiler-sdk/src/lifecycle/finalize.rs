use std::sync::atomic::{AtomicU64, Ordering};

use super::clients::{self, Client};
use crate::border::call_tool;
use crate::layout::ClientId;
use crate::phase::{DONE, IN_PROGRESS, NOT_YET, finalization, set_finalization};
use crate::{buffers, contexts, thread};

/// The thread that finalizes; 0 if none does.
static OWNER: AtomicU64 = AtomicU64::new(0);

/// Finalizes a tool. If it is the only one, the library is finalized with it.
pub extern "C-unwind" fn finalize_client(id: ClientId) {
    let clients: Vec<Client> = clients::lock().clone();
    if clients.len() == 1 && clients[0].id.handle == id.handle {
        return finalize_all();
    }
    if let Some(client) = clients.iter().find(|client| client.id.handle == id.handle) {
        as_owner(|| {
            let before = finalization();
            finalize(client);
            set_finalization(before);
        });
    }
}

/// Finalizes all tools, and then the library: buffers take no records any more.
pub fn finalize_all() {
    as_owner(|| {
        if finalization() == DONE {
            return;
        }
        let clients: Vec<Client> = clients::lock().clone();
        clients.iter().for_each(finalize);
        set_finalization(DONE);
        buffers::finalize_all();
    });
}

pub extern "C" fn finalize_at_exit() {
    finalize_all();
}

/// Runs this on one thread at a time. A tool that finalizes itself while it is finalized changes nothing, and so does a second thread:
/// it may be one that the first waits for.
fn as_owner(body: impl FnOnce()) {
    if OWNER.compare_exchange(0, thread::current_id(), Ordering::AcqRel, Ordering::Acquire).is_ok() {
        body();
        OWNER.store(0, Ordering::Release);
    }
}

/// Stops a tool's contexts, delivers what waits in its buffers, and calls its own function, once. No buffer calls it afterwards.
fn finalize(client: &Client) {
    let is_first = clients::lock()
        .iter_mut()
        .find(|known| known.number == client.number)
        .is_some_and(|known| !std::mem::replace(&mut known.is_finalized, true));
    if !is_first {
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
        // SAFETY: the tool gave this function and its data.
        call_tool("the finalization", || unsafe { finalize(client.configured.tool_data) });
    }
    buffers::end_all_of(is_theirs);
}
