use std::cell::RefCell;
use std::ffi::c_char;
use std::ptr;

use opscope::debug::{Event, EventName, Moment, Queue, StopCause};
use opscope_border::sized;

use crate::border::{Failure, KeptText, can_keep, constant, keep};
use crate::dump::OPSCOPE_NO_RUN;

/// The kind of an event. `docs/debug-protocol.md` describes them all.
#[repr(C)]
pub enum opscope_event_kind_t {
    /// A model is ready: breakpoints can be set on its operators.
    OPSCOPE_MODEL_LOADED = 0,
    /// A model was unloaded.
    OPSCOPE_MODEL_UNLOADED = 1,
    /// A run was prepared.
    OPSCOPE_RUN_CREATED = 2,
    /// The resources of a run were released.
    OPSCOPE_RUN_DESTROYED = 3,
    /// A run begins.
    OPSCOPE_RUN_PUSHED = 4,
    /// A run is over.
    OPSCOPE_RUN_POPPED = 5,
    /// An operator is about to be executed.
    OPSCOPE_OPERATOR_READY = 6,
    /// An operator was executed.
    OPSCOPE_OPERATOR_FINISHED = 7,
    /// A run is stopped at breakpoints.
    OPSCOPE_BREAKPOINT = 8,
    /// A run is stopped after a step.
    OPSCOPE_STEP_COMPLETE = 9,
    /// A run is stopped because the client paused it.
    OPSCOPE_PAUSED = 10,
    /// Something went wrong in a run.
    OPSCOPE_EXCEPTION = 11,
    /// The client has received all events that report what happened before it attached.
    OPSCOPE_ATTACH_COMPLETE = 12,
    /// The client is detached. This is its last event.
    OPSCOPE_DETACH_COMPLETE = 13,
    /// Threads have been waiting for an acknowledgement.
    OPSCOPE_TIMEOUT = 14,
    /// The debugger itself failed.
    OPSCOPE_INTERNAL_ERROR = 15,
}

/// The queues in which events wait until they are read.
#[repr(C)]
pub enum opscope_queue_t {
    /// Events whose thread waits until they are acknowledged.
    OPSCOPE_SYNC = 0,
    /// Events at which no thread waits.
    OPSCOPE_ASYNC = 1,
}

/// Before or after an operator.
#[repr(C)]
pub enum opscope_moment_t {
    /// In an event: at no operator. In a breakpoint: after the operator if the condition needs outputs, else before it.
    OPSCOPE_ANY_MOMENT = 0,
    /// Before the operator: its inputs exist.
    OPSCOPE_BEFORE = 1,
    /// After the operator: its outputs exist.
    OPSCOPE_AFTER = 2,
}

/// The reason why the run of an event is stopped.
#[repr(C)]
pub enum opscope_stop_cause_t {
    /// The run is not stopped. Its thread waits only for the acknowledgement, if at all.
    OPSCOPE_NOT_STOPPED = 0,
    /// The run is stopped by a breakpoint, a step or a pause.
    OPSCOPE_STOPPED_BY_REQUEST = 1,
    /// The run has failed. Its tensors are gone.
    OPSCOPE_STOPPED_BY_FAILURE = 2,
}

/// One event. Its texts are valid until the same thread reads the next event.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_event_t {
    /// `sizeof(opscope_event_t)`.
    pub size: usize,
    /// Its number, from 1, across both queues: an event with a lower number happened earlier.
    pub sequence: u64,
    /// When it was raised, in nanoseconds of CLOCK_BOOTTIME.
    pub timestamp: u64,
    /// The run, or `OPSCOPE_NO_RUN`.
    pub run: u64,
    /// How many later events of the same kind were coalesced into this one because the queue was not read.
    pub coalesced: u64,
    /// What happened, in one line for people.
    pub text: *const c_char,
    /// The whole event, as a JSON object that `docs/debug-protocol.md` describes.
    pub json: *const c_char,
    /// The name of the operator that the run has reached; NULL if there is none.
    pub operator_name: *const c_char,
    /// The type of that operator; NULL if there is none.
    pub operator_type: *const c_char,
    /// The breakpoints that were hit.
    pub breakpoints: *const u32,
    /// The number of `breakpoints`.
    pub breakpoint_count: usize,
    /// An `opscope_event_kind_t`.
    pub kind: u32,
    /// An `opscope_queue_t`.
    pub queue: u32,
    /// An `opscope_moment_t`: whether the run is before or after that operator.
    pub moment: u32,
    /// The id of that operator; 0 if there is none.
    pub operator_id: u32,
    /// The system's number of the thread that raised it; 0 if it was not a thread of the program.
    pub thread: u32,
    /// 1 if that thread was waiting for the acknowledgement when the event was read, else 0.
    pub waiting: u32,
    /// 1 if the event happened before the client attached, else 0.
    pub replayed: u32,
    /// An `opscope_stop_cause_t`.
    pub stop: u32,
}
sized!(opscope_event_t, 120);

/// The texts of an event.
struct Texts {
    text: KeptText,
    json: KeptText,
    operator: Option<(KeptText, KeptText)>,
    breakpoints: Vec<u32>,
}

thread_local! {
    /// The texts of the last event that this thread has read.
    static TEXTS: RefCell<Option<Texts>> = const { RefCell::new(None) };
}

/// Describes an event for C, and keeps its texts for this thread.
pub(super) fn event_for_c(event: &Event) -> Result<opscope_event_t, Failure> {
    let position = event.kind.position();
    let texts = Texts {
        text: KeptText::new(&event.to_string()),
        json: KeptText::new(&serde_json::to_string(event).map_err(|error| Failure::argument(error.to_string()))?),
        operator: position.map(|position| (KeptText::new(&position.name), KeptText::new(&position.op_type))),
        breakpoints: event.kind.breakpoints().iter().map(|breakpoint| breakpoint.0).collect(),
    };
    keep(&TEXTS, texts, |texts| described(event, texts))
}

/// Checks that this thread can read an event.
pub(super) fn can_read_events() -> Result<(), Failure> {
    can_keep(&TEXTS)
}

fn described(event: &Event, texts: &Texts) -> opscope_event_t {
    let position = event.kind.position();
    let operator = texts.operator.as_ref();
    opscope_event_t {
        size: size_of::<opscope_event_t>(),
        sequence: event.sequence.0,
        timestamp: event.at.as_nanos(),
        run: event.kind.run().map_or(OPSCOPE_NO_RUN, |run| run.0),
        coalesced: event.coalesced,
        text: texts.text.as_ptr(),
        json: texts.json.as_ptr(),
        operator_name: operator.map_or(ptr::null(), |(name, _)| name.as_ptr()),
        operator_type: operator.map_or(ptr::null(), |(_, op_type)| op_type.as_ptr()),
        breakpoints: if texts.breakpoints.is_empty() { ptr::null() } else { texts.breakpoints.as_ptr() },
        breakpoint_count: texts.breakpoints.len(),
        kind: EventName::ALL.iter().position(|name| *name == event.kind.name()).unwrap_or(usize::MAX) as u32,
        queue: event.queue() as u32,
        moment: position.map_or(opscope_moment_t::OPSCOPE_ANY_MOMENT, |position| moment(position.moment)) as u32,
        operator_id: position.map_or(0, |position| position.operator),
        thread: event.thread,
        waiting: u32::from(event.waiting),
        replayed: u32::from(event.replayed),
        stop: match event.kind.stop_cause() {
            None => opscope_stop_cause_t::OPSCOPE_NOT_STOPPED,
            Some(StopCause::Request) => opscope_stop_cause_t::OPSCOPE_STOPPED_BY_REQUEST,
            Some(StopCause::Failure) => opscope_stop_cause_t::OPSCOPE_STOPPED_BY_FAILURE,
        } as u32,
    }
}

/// Returns the kind of events with this number.
pub(super) fn event_name(number: u32) -> Result<EventName, Failure> {
    constant(number, "opscope_event_kind_t", &EventName::ALL)
}

/// Returns the queue with this number.
pub(super) fn queue(number: u32) -> Result<Queue, Failure> {
    constant(number, "opscope_queue_t", &[Queue::Sync, Queue::Async])
}

pub(super) fn moment(moment: Moment) -> opscope_moment_t {
    match moment {
        Moment::Before => opscope_moment_t::OPSCOPE_BEFORE,
        Moment::After => opscope_moment_t::OPSCOPE_AFTER,
    }
}

const _: () = assert!(EventName::ALL.len() == opscope_event_kind_t::OPSCOPE_INTERNAL_ERROR as usize + 1);
const _: () = assert!(EventName::InternalError as u32 == opscope_event_kind_t::OPSCOPE_INTERNAL_ERROR as u32);
const _: () = assert!(EventName::Breakpoint as u32 == opscope_event_kind_t::OPSCOPE_BREAKPOINT as u32);
const _: () = assert!(Queue::Async as u32 == opscope_queue_t::OPSCOPE_ASYNC as u32);
