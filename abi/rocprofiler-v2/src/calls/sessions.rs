use std::ffi::c_int;

use super::buffers::rocprofiler_create_buffer;
use super::filters::{
    rocprofiler_create_filter, rocprofiler_set_api_trace_sync_callback, rocprofiler_set_filter_buffer,
};

use crate::border::{Status, call, out};
use crate::buffers::BufferCallback;
use crate::layout::{FilterData, FilterProperty, Handle};
use crate::sessions::{API_TRACE, Session, SyncCallback, Wanted, sync, targets, with_sessions};
use crate::sources;

/// The only replay mode.
const NO_REPLAY: c_int = -1;

/// Creates a session. It is not active.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_create_session(replay_mode: c_int, session: *mut Handle) -> Status {
    call(|| {
        let session = out(session)?;
        if replay_mode != NO_REPLAY {
            return Err(Status::IncorrectReplayMode);
        }
        // SAFETY: it is checked, and the tool promises that it is writable.
        unsafe { session.write(with_sessions(|sessions| sessions.create())) };
        Ok(())
    })
}

/// Terminates a session if it is active, delivers what is in its buffers, and destroys it.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_destroy_session(session: Handle) -> Status {
    call(|| {
        let removed: Session = with_sessions(|sessions| {
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
    })
}

/// Starts a session: its filters let records through. One session is active at a time.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_start_session(session: Handle) -> Status {
    call(|| {
        with_sessions(|sessions| {
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
    })
}

/// Ends a session's activity, and waits for its callbacks for API calls that are running. What is in its buffers stays there.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_terminate_session(session: Handle) -> Status {
    call(|| {
        with_sessions(|sessions| {
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
    })
}

/// Creates a session with one filter and one buffer. `sync` is for API traces.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface has them")]
pub unsafe extern "C" fn rocprofiler_create_ready_session(
    replay_mode: c_int,
    filter_kind: c_int,
    data: FilterData,
    data_count: u64,
    buffer_size: usize,
    callback: Option<BufferCallback>,
    session: *mut Handle,
    property: FilterProperty,
    sync: Option<SyncCallback>,
) -> Status {
    call(|| {
        let place = out(session)?;
        let mut made = Handle(0);
        // SAFETY: the place is this variable.
        succeeded(unsafe { rocprofiler_create_session(replay_mode, &raw mut made) })?;
        let rest = || {
            let (mut filter, mut buffer) = (Handle(0), Handle(0));
            // SAFETY: the places are these variables; the rest is as the tool promises.
            unsafe {
                succeeded(rocprofiler_create_filter(made, filter_kind, data, data_count, &raw mut filter, property))?;
                succeeded(rocprofiler_create_buffer(made, callback, buffer_size, &raw mut buffer))?;
            }
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
        // SAFETY: it is checked, and the tool promises that it is writable.
        unsafe { place.write(made) };
        Ok(())
    })
}

fn succeeded(status: Status) -> Result<(), Status> {
    if status == Status::Success { Ok(()) } else { Err(status) }
}
