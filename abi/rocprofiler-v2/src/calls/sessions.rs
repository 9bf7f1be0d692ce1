use std::ffi::c_int;

use opscope_border::{Out, exported};

use super::buffers::rocprofiler_create_buffer;
use super::filters::{
    rocprofiler_create_filter, rocprofiler_set_api_trace_sync_callback, rocprofiler_set_filter_buffer,
};

use crate::border::{Status, out};
use crate::buffers::BufferCallback;
use crate::layout::{FilterData, FilterProperty, Handle};
use crate::sessions::{API_TRACE, Session, SyncCallback, Wanted, sync, targets, with_sessions};
use crate::sources;

/// The only replay mode.
const NO_REPLAY: c_int = -1;

/// Creates a session, which is not active yet.
#[exported]
pub fn rocprofiler_create_session(replay_mode: c_int, session: Out<'_, Handle>) -> Result<(), Status> {
    let session = out(session)?;
    if replay_mode != NO_REPLAY {
        return Err(Status::IncorrectReplayMode);
    }
    session.write(with_sessions(|sessions| sessions.create()));
    Ok(())
}

/// Terminates a session if it is active, delivers what is in its buffers, and destroys it.
#[exported]
pub fn rocprofiler_destroy_session(session: Handle) -> Result<(), Status> {
    let removed = with_sessions(|sessions| -> Result<Session, Status> {
        let removed = sessions.remove(session)?;
        if sessions.active == Some(session) {
            sessions.active = None;
            targets::set(Handle(0), &Wanted::default());
        }
        Ok(removed)
    })?;
    sources::follow_targets();
    sync::wait_for_end(session);
    for buffer in removed.buffers {
        buffer.destroy();
    }
    Ok(())
}

/// Starts a session: its filters let records through. Only one session is active at a time.
#[exported]
pub fn rocprofiler_start_session(session: Handle) -> Result<(), Status> {
    with_sessions(|sessions| -> Result<(), Status> {
        let wanted = sessions.get(session)?.wanted()?;
        if sessions.active.is_some() {
            return Err(Status::HasActiveSession);
        }
        sessions.active = Some(session);
        targets::set(session, &wanted);
        Ok(())
    })?;
    sources::follow_targets();
    Ok(())
}

/// Terminates a session, and waits until its callbacks for API calls have returned. Its buffers keep their records.
#[exported]
pub fn rocprofiler_terminate_session(session: Handle) -> Result<(), Status> {
    with_sessions(|sessions| -> Result<(), Status> {
        sessions.get(session)?;
        if sessions.active != Some(session) {
            return Err(Status::SessionNotActive);
        }
        sessions.active = None;
        targets::set(Handle(0), &Wanted::default());
        Ok(())
    })?;
    sources::follow_targets();
    sync::wait_for_end(session);
    Ok(())
}

/// Creates a session with one filter and one buffer. `sync` is for API traces.
#[exported]
#[allow(clippy::too_many_arguments, reason = "the interface has them")]
pub fn rocprofiler_create_ready_session(
    replay_mode: c_int,
    filter_kind: c_int,
    data: FilterData<'_>,
    data_count: u64,
    buffer_size: usize,
    callback: Option<BufferCallback>,
    session: Out<'_, Handle>,
    property: FilterProperty,
    sync: Option<SyncCallback>,
) -> Result<(), Status> {
    let place = out(session)?;
    let mut made = Handle(0);
    succeeded(rocprofiler_create_session(replay_mode, Out::from(&mut made)))?;
    let rest = || {
        let (mut filter, mut buffer) = (Handle(0), Handle(0));
        succeeded(rocprofiler_create_filter(made, filter_kind, data, data_count, Out::from(&mut filter), property))?;
        succeeded(rocprofiler_create_buffer(made, callback, buffer_size, Out::from(&mut buffer)))?;
        succeeded(rocprofiler_set_filter_buffer(made, filter, buffer))?;
        if sync.is_some() && filter_kind == API_TRACE {
            succeeded(rocprofiler_set_api_trace_sync_callback(made, filter, sync))?;
        }
        Ok(())
    };
    if let Err(status) = rest() {
        rocprofiler_destroy_session(made);
        return Err(status);
    }
    place.write(made);
    Ok(())
}

fn succeeded(status: Status) -> Result<(), Status> {
    if status == Status::Success { Ok(()) } else { Err(status) }
}
