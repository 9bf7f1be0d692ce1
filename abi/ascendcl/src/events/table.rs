//! All events, by their handles.

use std::ffi::c_void;
use std::sync::Arc;

use super::event::Event;
use crate::border::{Failure, codes, given};
use crate::forks::Shared;
use crate::handles::{Handles, Kind};

#[allow(non_camel_case_types)]
pub type aclrtEvent = *mut c_void;

/// The child of a fork has no events, because their streams exist only in the parent.
static EVENTS: Shared<Handles<Event>> = Shared::new(Handles::new(Kind::Event), || EVENTS.held(Handles::forget));

pub fn create() -> usize {
    EVENTS.lock().insert(Arc::new(Event::default()))
}

pub fn event(event: aclrtEvent) -> Result<Arc<Event>, Failure> {
    let number = given(event, "event")?.addr();
    EVENTS.read().get(number).cloned().ok_or_else(|| unknown(number))
}

pub fn take(event: aclrtEvent) -> Result<Arc<Event>, Failure> {
    let number = given(event, "event")?.addr();
    EVENTS.lock().remove(number).ok_or_else(|| unknown(number))
}

fn unknown(number: usize) -> Failure {
    let reason = "it was destroyed, or never created";
    Failure::wrong_value_of(codes::RT_PARAM_INVALID, "event", format!("{number:#x}"), reason)
}
