use opscope_border::{In, Items, Out, exported};

use crate::border::{Status, in_callback, out, required};
use crate::buffers::{Buffer, BufferCallback, current_batch};
use crate::layout::{BufferProperty, Handle, RecordHeader};
use crate::sessions::{find_buffer, with_session, with_sessions};

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
