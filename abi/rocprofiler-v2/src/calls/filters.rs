use std::ffi::c_int;

use opscope_border::{Out, exported};

use crate::border::{Status, out, required};
use crate::layout::{FilterData, FilterProperty, Handle};
use crate::sessions::{Filter, FilterKind, SyncCallback, with_session};

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
