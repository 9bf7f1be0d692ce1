use std::slice::from_raw_parts;

use crate::border::{Status, call, call_in_callback, out, required};
use crate::buffers::{Buffer, BufferCallback, current};
use crate::layout::{BufferProperty, Handle, RecordHeader};
use crate::sessions::{find_buffer, with_session, with_sessions};

/// The property that sets the milliseconds after which a buffer is flushed by itself.
const INTERVAL_FLUSH: i32 = 0;

/// Adds a buffer to a session. A size below 4096 counts as 4096.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_create_buffer(
    session: Handle,
    callback: Option<BufferCallback>,
    size: usize,
    buffer: *mut Handle,
) -> Status {
    call(|| {
        let buffer = out(buffer)?;
        let id = with_session(session, |session| {
            required(callback)?;
            session.made_buffers += 1;
            Ok(Handle(session.made_buffers))
        })?;
        let made = Buffer::create(session, id, size, required(callback)?)?;
        with_sessions(|sessions| sessions.add_buffer(session, &made))?;
        // SAFETY: it is checked, and the tool promises that it is writable.
        unsafe { buffer.write(id) };
        Ok(())
    })
}

/// Sets properties of a buffer, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_set_buffer_properties(
    session: Handle,
    buffer: Handle,
    properties: *const BufferProperty,
    count: u32,
) -> Status {
    call(|| {
        let buffer = find_buffer(session, buffer)?;
        if properties.is_null() || !properties.is_aligned() {
            return if count == 0 { Ok(()) } else { Err(Status::InvalidArguments) };
        }
        // SAFETY: it is neither NULL nor misaligned, and the tool promises that there are `count` properties.
        let properties = unsafe { from_raw_parts(properties, count as usize) };
        if properties.iter().any(|property| property.kind != INTERVAL_FLUSH) {
            return Err(Status::InvalidArguments);
        }
        properties.iter().try_for_each(|property| buffer.set_interval(property.value))
    })
}

/// Delivers what is in a buffer, and destroys it.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_destroy_buffer(session: Handle, buffer: Handle) -> Status {
    call(|| {
        with_sessions(|sessions| sessions.remove_buffer(session, buffer))?.destroy();
        Ok(())
    })
}

/// Delivers everything that was put into a buffer before, and returns when it is delivered. In a callback that it would wait for, the
/// rest is delivered after that.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_flush_data(session: Handle, buffer: Handle) -> Status {
    call(|| find_buffer(session, buffer)?.flush())
}

/// Writes the place behind a record of a batch: the next record, or the end. In a callback it works after the end of the library's
/// use, too, and for the buffer of that callback after its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_next_record(
    record: *const RecordHeader,
    next: *mut *const RecordHeader,
    session: Handle,
    buffer: Handle,
) -> Status {
    call_in_callback(|| {
        let next = out(next)?;
        if record.is_null() || !record.is_aligned() {
            return Err(Status::InvalidArguments);
        }
        if !current::is_called((session, buffer)) {
            find_buffer(session, buffer)?;
        }
        // SAFETY: they are checked, and the tool promises that the one is readable and the other writable.
        unsafe { next.write(current::next(record)?) };
        Ok(())
    })
}
