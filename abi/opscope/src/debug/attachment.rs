//! Attachments of debug clients, and how a stopped run continues.

use std::os::fd::AsRawFd;

use opscope::debug::{Attachment, DebugError, Resume, Sequence, Target};
use opscope::model::RunId;
use opscope_border::{
    Answer, Items, Out, SizedCounted, SizedIn, SizedItems, SizedOut, Text, UserData, counted, exported, sized,
};

use super::debugger::{attach_options, event_set, opscope_attach_options_t, opscope_debugger_t};
use super::event::{can_read_events, event_for_c, opscope_event_t, queue};
use crate::border::opscope_status_t::OPSCOPE_EMPTY;
use crate::border::{Failure, constant, get, handle, insert, opscope_status_t, remove};
use crate::dump::OPSCOPE_NO_RUN;
use crate::tensor::{opscope_tensor_t, tensor_from_c};

/// A client that is attached to a debugger in its own process. Detach it with `opscope_attachment_free`: threads that
/// wait then continue.
///
/// Inside the notification callback, only calls that read and acknowledge events are allowed; the others return
/// `OPSCOPE_ERROR_BUSY`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_attachment_t {
    /// 0 is no attachment.
    pub id: u64,
}
handle!(opscope_attachment_t => Attachment, "attachment");

/// Called when events have arrived; one call may stand for several. It is always called on the same thread, and must
/// not throw.
pub type opscope_notification_callback_t = Option<extern "C" fn(user: UserData)>;

/// Attaches a client. A debugger has one client at a time. Its first events report the existing models and runs.
#[exported]
pub fn opscope_debugger_attach(
    debugger: opscope_debugger_t,
    options: SizedIn<'_, opscope_attach_options_t<'_>>,
    attachment: Out<'_, opscope_attachment_t>,
) -> Result<(), Failure> {
    let (debugger, attachment) = (get(debugger)?, attachment.place("attachment")?);
    let attached = debugger.attach(attach_options(options)?)?;
    attachment.write(insert(attached));
    Ok(())
}

/// Takes the next event from a queue, an `opscope_queue_t`, and writes it to `event`, whose `size` must be set. Returns
/// `OPSCOPE_EMPTY` if none is waiting.
#[exported]
pub fn opscope_attachment_next_event(
    attachment: opscope_attachment_t,
    queue_number: u32,
    event: SizedOut<'_, opscope_event_t>,
) -> opscope_status_t {
    let mut empty = false;
    let status = Answer::answer(|| -> Result<(), Failure> {
        let attachment = get(attachment)?;
        event.check_given("event")?;
        let queue = queue(queue_number)?;
        // An event that could not be written would be lost.
        can_read_events()?;
        let event = event.place()?;
        let Some(next) = attachment.next_event(queue)? else {
            empty = true;
            return Ok(());
        };
        event.write(&event_for_c(&next)?);
        Ok(())
    });
    if empty { OPSCOPE_EMPTY } else { status }
}

/// Resumes the run that an event has stopped. `how` may be NULL: then the run continues until something stops it.
/// Acknowledging an event that stopped no run has no effect.
#[exported]
pub fn opscope_attachment_acknowledge(
    attachment: opscope_attachment_t,
    sequence: u64,
    how: SizedIn<'_, opscope_resume_t<'_>>,
) -> Result<(), Failure> {
    Ok(get(attachment)?.acknowledge(Sequence(sequence), resume(how)?)?)
}

/// Resumes all runs whose events were read, and writes their number to `count` unless that is NULL. Runs whose events
/// were not read stay stopped.
#[exported]
pub fn opscope_attachment_acknowledge_all(
    attachment: opscope_attachment_t,
    count: Out<'_, usize>,
) -> Result<(), Failure> {
    let resumed = get(attachment)?.acknowledge_sync_events()?;
    count.write_if_given(resumed);
    Ok(())
}

/// Restarts the lease of an event.
#[exported]
pub fn opscope_attachment_renew(attachment: opscope_attachment_t, sequence: u64) -> Result<(), Failure> {
    Ok(get(attachment)?.renew(Sequence(sequence))?)
}

/// Sets the function that is called when events have arrived; NULL removes it. After this returns, the previous
/// function is not called again.
#[exported]
pub fn opscope_attachment_set_notification_callback(
    attachment: opscope_attachment_t,
    callback: opscope_notification_callback_t,
    user: UserData,
) -> Result<(), Failure> {
    let callback = callback.map(|callback| -> Box<dyn FnMut() + Send> { Box::new(move || callback(user)) });
    Ok(get(attachment)?.set_notification_callback(callback)?)
}

/// Writes to `descriptor` a file descriptor that is readable while events are waiting. It is meant for `poll`: it must
/// be neither read nor closed, and is valid until the attachment is freed.
#[exported]
pub fn opscope_attachment_descriptor(
    attachment: opscope_attachment_t,
    descriptor: Out<'_, i32>,
) -> Result<(), Failure> {
    let descriptor = descriptor.place("descriptor")?;
    let number = get(attachment)?.notification_fd().as_raw_fd();
    descriptor.write(number);
    Ok(())
}

/// Replaces the kinds of events that the client receives, each an `opscope_event_kind_t`; a `count` of 0 selects the
/// default.
#[exported]
pub fn opscope_attachment_subscribe(
    attachment: opscope_attachment_t,
    #[counted_by(count)] events: Items<'_, u32>,
    count: usize,
) -> Result<(), Failure> {
    Ok(get(attachment)?.subscribe(event_set(events)?.unwrap_or_default())?)
}

/// Stops a run at its next operator. `OPSCOPE_NO_RUN` stops all runs, or the next run if none is running. Writes the
/// number of runs that will stop to `count` unless that is NULL.
#[exported]
pub fn opscope_attachment_pause(
    attachment: opscope_attachment_t,
    run: u64,
    count: Out<'_, usize>,
) -> Result<(), Failure> {
    let will_stop = get(attachment)?.pause((run != OPSCOPE_NO_RUN).then_some(RunId(run)))?;
    count.write_if_given(will_stop);
    Ok(())
}

/// Detaches the client: its breakpoints are removed, and threads that wait continue. It can still read waiting events;
/// the last one is `OPSCOPE_DETACH_COMPLETE`.
#[exported]
pub fn opscope_attachment_detach(attachment: opscope_attachment_t) -> Result<(), Failure> {
    Ok(get(attachment)?.detach()?)
}

/// Detaches the client if it is attached, and frees the attachment. The notification callback is not called afterwards;
/// if it makes this call itself, that is its last call.
#[exported]
pub fn opscope_attachment_free(attachment: opscope_attachment_t) -> Result<(), Failure> {
    let freed = remove(attachment)?;
    // Another call may still use the attachment, so it is ended here. Inside the callback both calls fail; it then ends
    // with the last use.
    let _ = freed.set_notification_callback(None);
    let _ = freed.detach();
    Ok(())
}

/// How a stopped run continues.
#[repr(C)]
pub enum opscope_resume_action_t {
    /// It continues until something stops it.
    OPSCOPE_RESUME_CONTINUE = 0,
    /// It continues to its next operator.
    OPSCOPE_RESUME_STEP = 1,
    /// It continues to the end of this operator; from there, to the end of the next one.
    OPSCOPE_RESUME_FINISH = 2,
    /// It continues to one of the operators in `text`, or to its end.
    OPSCOPE_RESUME_UNTIL = 3,
    /// It continues without executing the operator that it is stopped before; `outputs` replace the operator's.
    OPSCOPE_RESUME_SKIP = 4,
    /// It ends immediately: the run fails with `text` as its reason.
    OPSCOPE_RESUME_ABORT = 5,
}

/// How a stopped run continues. It continues with the tensors that were replaced while it was stopped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_resume_t<'a> {
    /// `sizeof(opscope_resume_t)`.
    pub size: usize,
    /// The target of `OPSCOPE_RESUME_UNTIL`, the reason of `OPSCOPE_RESUME_ABORT`.
    pub text: Text<'a>,
    /// The outputs of `OPSCOPE_RESUME_SKIP`, one for each slot.
    pub outputs: SizedItems<'a, opscope_tensor_t<'a>>,
    /// The number of `outputs`.
    pub output_count: usize,
    /// An `opscope_resume_action_t`.
    pub action: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_resume_t<'a>, 40);
counted!(opscope_resume_t<'a> { outputs[output_count] -> SizedCounted<'a, opscope_tensor_t<'a>> });

type Read = fn(&opscope_resume_t<'_>) -> Result<Resume, Failure>;

/// Reads how a run continues, by the number of the action.
const ACTIONS: [Read; 6] = [
    |_| Ok(Resume::Continue),
    |_| Ok(Resume::Step),
    |_| Ok(Resume::Finish),
    |given| {
        let target = given.text.str("text")?.parse::<Target>();
        Ok(Resume::Until(target.map_err(DebugError::from)?))
    },
    |given| {
        let outputs = given.outputs().get()?;
        let outputs: Result<_, Failure> = outputs.iter().map(|output| tensor_from_c(output)).collect();
        Ok(Resume::Skip(outputs?))
    },
    |given| Ok(Resume::Abort(given.text.str("text")?.to_owned())),
];

pub(super) fn resume(how: SizedIn<'_, opscope_resume_t<'_>>) -> Result<Resume, Failure> {
    let given = how.get_or_default()?;
    let read = constant(given.action, "opscope_resume_action_t", &ACTIONS)?;
    read(&given)
}
