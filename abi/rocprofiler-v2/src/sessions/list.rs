use std::collections::{BTreeMap, HashMap};

use opscope_trace::{BufferId, Mutex, MutexGuard};

use super::targets::Wanted;
use super::{Filter, FilterKind};
use crate::border::Status;
use crate::buffers::{Buffer, drop_if_interrupting, give_up};
use crate::kinds::{HIP_OPS, HSA_OPS, ROCTX};
use crate::layout::Handle;

/// A session.
#[derive(Default)]
pub struct Session {
    pub filters: Vec<Filter>,
    pub buffers: Vec<Buffer>,
    /// How many filters and buffers were ever added.
    pub made_filters: u64,
    pub made_buffers: u64,
}

/// All sessions.
#[derive(Default)]
pub struct Sessions {
    sessions: BTreeMap<u64, Session>,
    /// The buffers of all sessions, by the ids with which records are emitted into them.
    buffers: HashMap<BufferId, Buffer>,
    made: u64,
    /// The active session.
    pub active: Option<Handle>,
}

static SESSIONS: Mutex<Option<Sessions>> = Mutex::new(None);

pub(super) fn lock() -> MutexGuard<'static, Option<Sessions>> {
    SESSIONS.lock()
}

/// Reads or changes the sessions. `body` must be quick, and must not call the tool.
pub fn with_sessions<R>(body: impl FnOnce(&mut Sessions) -> R) -> R {
    body(lock().get_or_insert_default())
}

/// Reads or changes a session.
pub fn with_session<R>(id: Handle, body: impl FnOnce(&mut Session) -> Result<R, Status>) -> Result<R, Status> {
    with_sessions(|sessions| body(sessions.get(id)?))
}

/// Returns a buffer of a session.
pub fn find_buffer(session: Handle, buffer: Handle) -> Result<Buffer, Status> {
    with_session(session, |session| session.buffer(buffer))
}

/// Emits a record into a buffer, if that needs more than a write.
#[cold]
#[inline(never)]
pub fn put_slowly(buffer: BufferId, form: u16, bytes: &[u8]) {
    // This is checked before the list is locked, because the interrupted call may hold that lock.
    if drop_if_interrupting(buffer, form) {
        return;
    }
    let found: Option<Buffer> = with_sessions(|sessions| sessions.buffers.get(&buffer).cloned());
    // The list is unlocked by now, because a full buffer waits for its callback.
    match found {
        Some(found) => found.put(form, bytes),
        None => give_up(form, bytes),
    }
}

impl Sessions {
    /// Makes a session.
    pub fn create(&mut self) -> Handle {
        self.made += 1;
        self.sessions.insert(self.made, Session::default());
        Handle(self.made)
    }

    /// Returns a session.
    pub fn get(&mut self, id: Handle) -> Result<&mut Session, Status> {
        self.sessions.get_mut(&id.0).ok_or(Status::SessionNotFound)
    }

    /// Removes a session. The caller destroys its buffers.
    pub fn remove(&mut self, id: Handle) -> Result<Session, Status> {
        let removed = self.sessions.remove(&id.0).ok_or(Status::SessionNotFound)?;
        for buffer in &removed.buffers {
            self.buffers.remove(&buffer.trace_id());
        }
        Ok(removed)
    }

    /// Adds a buffer to a session.
    pub fn add_buffer(&mut self, session: Handle, buffer: &Buffer) -> Result<(), Status> {
        self.get(session)?.buffers.push(buffer.clone());
        self.buffers.insert(buffer.trace_id(), buffer.clone());
        Ok(())
    }

    /// Removes a buffer. The caller destroys it.
    pub fn remove_buffer(&mut self, session: Handle, id: Handle) -> Result<Buffer, Status> {
        let removed = self.get(session)?.buffer(id)?;
        self.get(session)?.buffers.retain(|buffer| buffer.id != id);
        self.buffers.remove(&removed.trace_id());
        Ok(removed)
    }
}

impl Session {
    /// Returns a buffer.
    pub fn buffer(&self, id: Handle) -> Result<Buffer, Status> {
        self.buffers.iter().find(|buffer| buffer.id == id).cloned().ok_or(Status::BufferNotFound)
    }

    /// Returns a filter.
    pub fn filter(&mut self, id: Handle) -> Result<&mut Filter, Status> {
        self.filters.iter_mut().find(|filter| filter.id == id).ok_or(Status::FilterNotFound)
    }

    /// Returns the buffers that it wants records in. If several filters want the same records, the first one counts.
    ///
    /// # Errors
    /// Returns the status if the session cannot be started.
    pub fn wanted(&self) -> Result<Wanted, Status> {
        if self.filters.is_empty() {
            return Err(Status::SessionMissingFilter);
        }
        let mut wanted = Wanted::default();
        for filter in &self.filters {
            let buffer = filter.buffer.and_then(|id| self.buffer(id).ok()).map(|buffer| buffer.trace_id());
            let takes_calls = filter.sync.is_some() && filter.kind.traces(ROCTX);
            let activities = [HIP_OPS, HSA_OPS].into_iter().find(|domain| filter.kind.traces(*domain));
            // Calls that a callback receives need no buffer, whatever their domain is.
            let needs_buffer = filter.sync.is_none() || activities.is_some();
            if needs_buffer && buffer.is_none() {
                return Err(Status::SessionMissingBuffer);
            }
            if matches!(filter.kind, FilterKind::DispatchTimestamps) {
                wanted.dispatches = wanted.dispatches.or(buffer);
            }
            if takes_calls {
                wanted.sync = wanted.sync.or(filter.sync);
            } else if filter.kind.traces(ROCTX) {
                wanted.roctx = wanted.roctx.or(buffer);
            }
            wanted.activities = wanted.activities.or(buffer.zip(activities));
        }
        Ok(wanted)
    }
}

/// Forgets the damage to the parent's records, which the child of a fork does not have.
pub(super) fn reset_in_child() {
    with_sessions(|sessions| sessions.buffers.values().for_each(Buffer::reset_in_child));
}
