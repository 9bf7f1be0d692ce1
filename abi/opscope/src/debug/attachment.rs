use std::ffi::c_void;
use std::os::fd::AsRawFd;

use opscope::debug::{Attachment, Sequence};
use opscope::model::RunId;

use super::debugger::opscope_debugger_t;
use super::event::{can_read_events, event_for_c, opscope_event_t, queue};
use super::options::{attach_options, event_set, opscope_attach_options_t};
use super::resume::{opscope_resume_t, resume};
use crate::border::opscope_status_t::{self, OPSCOPE_EMPTY};
use crate::border::{UserData, call, check_place, get, handle, insert, out, remove, write};
use crate::dump::OPSCOPE_NO_RUN;

/// A client that is attached to a debugger of its own process. Detach it with `opscope_attachment_free`: threads that wait
/// continue.
///
/// Inside of the notification callback only the calls that read and acknowledge events are allowed; the others return
/// `OPSCOPE_ERROR_BUSY`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_attachment_t {
    /// 0 is no attachment.
    pub id: u64,
}
handle!(opscope_attachment_t => Attachment, "attachment");

/// Called when events have come; one call may stand for several. It is always called on the same thread, and must not throw.
pub type opscope_notification_callback_t = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Attaches a client. A debugger has one at a time. Its first events tell of the models and runs that exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_debugger_attach(
    debugger: opscope_debugger_t,
    options: *const opscope_attach_options_t,
    attachment: *mut opscope_attachment_t,
) -> opscope_status_t {
    call(|| {
        let (debugger, attachment) = (get(debugger)?, out(attachment, "attachment")?);
        // SAFETY: as the caller promises.
        let attached = debugger.attach(unsafe { attach_options(options)? })?;
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { attachment.write(insert(attached)) };
        Ok(())
    })
}

/// Takes the next event out of a queue, an `opscope_queue_t`, and writes it to `event`, whose `size` must be set. Returns
/// `OPSCOPE_EMPTY` where none waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_next_event(
    attachment: opscope_attachment_t,
    queue_number: u32,
    event: *mut opscope_event_t,
) -> opscope_status_t {
    let mut empty = false;
    let status = call(|| {
        let (attachment, event, queue) = (get(attachment)?, out(event, "event")?, queue(queue_number)?);
        // An event that could not be written would be lost.
        can_read_events()?;
        // SAFETY: as the caller promises.
        unsafe { check_place(event)? };
        let Some(next) = attachment.next_event(queue)? else {
            empty = true;
            return Ok(());
        };
        // SAFETY: as the caller promises.
        unsafe { write(event, &event_for_c(&next)?) }
    });
    if empty { OPSCOPE_EMPTY } else { status }
}

/// Resumes the run that an event has stopped. `how` may be NULL: it continues until something stops it. Acknowledging an event
/// that stopped no run has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_acknowledge(
    attachment: opscope_attachment_t,
    sequence: u64,
    how: *const opscope_resume_t,
) -> opscope_status_t {
    // SAFETY: as the caller promises.
    call(|| Ok(get(attachment)?.acknowledge(Sequence(sequence), unsafe { resume(how)? })?))
}

/// Resumes all runs whose events were read, and writes their number to `count` unless that is NULL. Runs whose events were not
/// read stay stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_acknowledge_all(
    attachment: opscope_attachment_t,
    count: *mut usize,
) -> opscope_status_t {
    call(|| {
        let resumed = get(attachment)?.acknowledge_sync_events()?;
        if !count.is_null() {
            // SAFETY: it is not NULL, and the caller promises that it is writable.
            unsafe { count.write(resumed) };
        }
        Ok(())
    })
}

/// Restarts the lease of an event.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_attachment_renew(attachment: opscope_attachment_t, sequence: u64) -> opscope_status_t {
    call(|| Ok(get(attachment)?.renew(Sequence(sequence))?))
}

/// Sets the function that is called when events have come; NULL removes it. When this returns, the function that was set before
/// is not called any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_set_notification_callback(
    attachment: opscope_attachment_t,
    callback: opscope_notification_callback_t,
    user: *mut c_void,
) -> opscope_status_t {
    call(|| {
        let user = UserData(user);
        let callback = callback.map(|callback| -> Box<dyn FnMut() + Send> {
            // SAFETY: the program promises that the function takes this argument until it is removed.
            Box::new(move || unsafe { callback(user.pointer()) })
        });
        Ok(get(attachment)?.set_notification_callback(callback)?)
    })
}

/// Writes a file descriptor that is readable while events wait to `descriptor`. It is for `poll`: it must be neither read nor
/// closed, and is valid until the attachment is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_descriptor(
    attachment: opscope_attachment_t,
    descriptor: *mut i32,
) -> opscope_status_t {
    call(|| {
        let descriptor = out(descriptor, "descriptor")?;
        let number = get(attachment)?.notification_fd().as_raw_fd();
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { descriptor.write(number) };
        Ok(())
    })
}

/// Replaces the events that the client gets, each an `opscope_event_kind_t`; with a `count` of 0 by the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_subscribe(
    attachment: opscope_attachment_t,
    events: *const u32,
    count: usize,
) -> opscope_status_t {
    // SAFETY: as the caller promises.
    call(|| Ok(get(attachment)?.subscribe(unsafe { event_set(events, count)? }.unwrap_or_default())?))
}

/// Stops a run at its next operator, or with `OPSCOPE_NO_RUN` all runs; where there is none, the next one. Writes how many will
/// stop to `count` unless that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_pause(
    attachment: opscope_attachment_t,
    run: u64,
    count: *mut usize,
) -> opscope_status_t {
    call(|| {
        let will_stop = get(attachment)?.pause((run != OPSCOPE_NO_RUN).then_some(RunId(run)))?;
        if !count.is_null() {
            // SAFETY: it is not NULL, and the caller promises that it is writable.
            unsafe { count.write(will_stop) };
        }
        Ok(())
    })
}

/// Detaches the client: its breakpoints are removed, and threads that wait continue. It can still read the events that wait; the
/// last is `OPSCOPE_DETACH_COMPLETE`.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_attachment_detach(attachment: opscope_attachment_t) -> opscope_status_t {
    call(|| Ok(get(attachment)?.detach()?))
}

/// Detaches the client if it is attached, and frees the attachment. The notification callback is not called afterwards; where this is
/// called inside of it, that is its last call.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_attachment_free(attachment: opscope_attachment_t) -> opscope_status_t {
    call(|| {
        let freed = remove(attachment)?;
        // Another call may use it still. Both fail inside of the callback, which ends with the last use.
        let _ = freed.set_notification_callback(None);
        let _ = freed.detach();
        Ok(())
    })
}
