//! The program's sessions, by their handles.

use std::collections::BTreeMap;
use std::sync::Arc;

use opscope_sys::RwLock;

use crate::observed::Observed;

/// The address of a session of the program, which identifies it.
pub type SessionHandle = usize;

/// A session that the program has made while the environment asks for something.
#[derive(Clone)]
pub enum Known {
    /// It is looked at.
    Observed(Arc<Observed>),
    /// It is not observed, and a line has said why.
    LeftAlone,
}

static SESSIONS: RwLock<BTreeMap<SessionHandle, Known>> = RwLock::new(BTreeMap::new());

/// Adds a session that was just made.
pub fn add(handle: SessionHandle, session: Known) {
    let replaced = SESSIONS.write().insert(handle, session);
    drop(replaced);
}

/// Returns a session. `None` if it was made by a function that is not replaced.
pub fn find(handle: SessionHandle) -> Option<Known> {
    SESSIONS.read().get(&handle).cloned()
}

/// Forgets a session that is about to be released.
pub fn remove(handle: SessionHandle) {
    let removed = SESSIONS.write().remove(&handle);
    // Outside of the lock: a debugger may have to acknowledge that the model is gone.
    drop(removed);
}
