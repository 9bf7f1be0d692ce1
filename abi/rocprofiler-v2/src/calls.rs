//! The functions for sessions, filters and buffers.

use std::ffi::c_int;

use opscope_border::{In, Items, Out, exported};

use crate::border::{Status, in_callback, out, required};
use crate::buffers::{Buffer, BufferCallback, current_batch};
use crate::layout::{BufferProperty, FilterData, FilterProperty, Handle, RecordHeader};
use crate::sessions::{
    API_TRACE, Filter, FilterKind, Session, SyncCallback, Wanted, find_buffer, sync, targets, with_session,
    with_sessions,
};
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

/// Adds a filter to a session: for dispatches with their times, or for API calls. Other kinds are not supported.
#[exported]
pub fn rocprofiler_create_filter(
    session: Handle,
    kind: c_int,
    #[counted_by(data_count)] data: FilterData<'_>,
    data_count: u64,
    filter: Out<'_, Handle>,
    property: FilterProperty,
) -> Result<(), Status> {
    let filter = out(filter)?;
    with_session(session, |session| {
        let kind = FilterKind::read(kind, data, &property)?;
        session.made_filters += 1;
        let id = Handle(session.made_filters);
        session.filters.push(Filter { id, kind, buffer: None, sync: None });
        filter.write(id);
        Ok(())
    })
}

/// Sets the buffer that a filter's records go into, from the next start of the session on.
#[exported]
pub fn rocprofiler_set_filter_buffer(session: Handle, filter: Handle, buffer: Handle) -> Result<(), Status> {
    with_session(session, |session| {
        let buffer = session.buffer(buffer)?.id;
        session.filter(filter)?.buffer = Some(buffer);
        Ok(())
    })
}

/// Sets a callback that receives the calls of an API trace filter in place of the buffer, on the thread that makes
/// them.
#[exported]
pub fn rocprofiler_set_api_trace_sync_callback(
    session: Handle,
    filter: Handle,
    callback: Option<SyncCallback>,
) -> Result<(), Status> {
    with_session(session, |session| {
        let filter = session.filter(filter)?;
        if !matches!(filter.kind, FilterKind::ApiTrace(_)) {
            return Err(Status::FilterNotSupported);
        }
        filter.sync = Some(required(callback)?);
        Ok(())
    })
}

/// Removes a filter. An active session keeps using it until it is terminated.
#[exported]
pub fn rocprofiler_destroy_filter(session: Handle, filter: Handle) -> Result<(), Status> {
    with_session(session, |session| {
        session.filter(filter)?;
        session.filters.retain(|known| known.id != filter);
        Ok(())
    })
}

/// The property that sets the milliseconds after which a buffer is flushed automatically.
const INTERVAL_FLUSH: i32 = 0;

/// Adds a buffer to a session. A size below 4096 is raised to 4096.
#[exported]
pub fn rocprofiler_create_buffer(
    session: Handle,
    callback: Option<BufferCallback>,
    size: usize,
    buffer: Out<'_, Handle>,
) -> Result<(), Status> {
    let buffer = out(buffer)?;
    let id = with_session(session, |session| {
        required(callback)?;
        session.made_buffers += 1;
        Ok(Handle(session.made_buffers))
    })?;
    let made = Buffer::create(session, id, size, required(callback)?)?;
    with_sessions(|sessions| sessions.add_buffer(session, &made))?;
    buffer.write(id);
    Ok(())
}

/// Sets properties of a buffer, at any time.
#[exported]
pub fn rocprofiler_set_buffer_properties(
    session: Handle,
    buffer: Handle,
    #[counted_by(count)] properties: Items<'_, BufferProperty>,
    count: u32,
) -> Result<(), Status> {
    let buffer = find_buffer(session, buffer)?;
    let properties = properties.get("properties")?;
    if properties.iter().any(|property| property.kind != INTERVAL_FLUSH) {
        return Err(Status::InvalidArguments);
    }
    properties.iter().try_for_each(|property| buffer.set_interval(property.value))
}

/// Delivers what is in a buffer, and destroys it.
#[exported]
pub fn rocprofiler_destroy_buffer(session: Handle, buffer: Handle) -> Result<(), Status> {
    with_sessions(|sessions| sessions.remove_buffer(session, buffer))?.destroy();
    Ok(())
}

/// Delivers every record that was emitted into a buffer before this call, and then returns. Inside a callback for which
/// this would have to wait, the rest is delivered after the callback.
#[exported]
pub fn rocprofiler_flush_data(session: Handle, buffer: Handle) -> Result<(), Status> {
    find_buffer(session, buffer)?.flush()
}

/// Writes the address after a record of a batch: the next record, or the end. Inside a callback, this also works after
/// the library is finalized, and for the callback's own buffer even after it is destroyed.
#[exported(in_callback)]
pub fn rocprofiler_next_record(
    record: In<'_, RecordHeader>,
    next: Out<'_, *const RecordHeader>,
    session: Handle,
    buffer: Handle,
) -> Result<(), Status> {
    let next = out(next)?;
    if record.is_unusable() {
        return Err(Status::InvalidArguments);
    }
    if !current_batch::is_called((session, buffer)) {
        find_buffer(session, buffer)?;
    }
    next.write(current_batch::next(record)?);
    Ok(())
}
