use std::ffi::c_char;
use std::time::Duration;

use opscope::debug::{AttachOptions, EventSet};

use super::event::event_name;
use crate::border::{Failure, read_optional_text, read_or_default, sized, slice};

/// How a client attaches. All zero is the default, and so is NULL in its place.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_attach_options_t {
    /// `sizeof(opscope_attach_options_t)`.
    pub size: usize,
    /// The client's name, for messages. May be NULL.
    pub name: *const c_char,
    /// The events that it gets, each an `opscope_event_kind_t`. Breakpoints, steps, pauses and the ends of attaching and
    /// detaching always come. Without any, all that suit a person come: not the beginning and end of runs and operators.
    pub events: *const u32,
    /// The number of `events`.
    pub event_count: usize,
    /// Nanoseconds for which an event may stay unacknowledged before its thread continues without it. 0 stands for 30 s.
    pub lease: u64,
    /// Nanoseconds between two timeout events, which come while a thread waits. 0: none come.
    pub timeout: u64,
    /// How many events can wait in the async queue. 0 stands for 16,384.
    pub async_capacity: usize,
    /// 1 if every call inside of the notification callback returns `OPSCOPE_ERROR_BUSY`, also those that read and acknowledge.
    pub strict_callbacks: u32,
    /// 1 if the events of operators that finished have statistics of their outputs, in `json`.
    pub statistics: u32,
}
sized!(opscope_attach_options_t, 64);

pub(super) unsafe fn attach_options(options: *const opscope_attach_options_t) -> Result<AttachOptions, Failure> {
    // SAFETY: as the caller promises.
    let given = unsafe { read_or_default(options)? };
    let default = AttachOptions::default();
    // SAFETY: as the caller promises.
    let name = unsafe { read_optional_text(given.name, "name")? };
    // SAFETY: as the caller promises.
    let events = unsafe { event_set(given.events, given.event_count)? };
    Ok(AttachOptions {
        name: name.unwrap_or_default().to_owned(),
        events: events.unwrap_or(default.events),
        lease: if given.lease == 0 { default.lease } else { Duration::from_nanos(given.lease) },
        timeout: (given.timeout > 0).then(|| Duration::from_nanos(given.timeout)),
        strict_callbacks: given.strict_callbacks != 0,
        statistics: given.statistics != 0,
        async_capacity: if given.async_capacity == 0 { default.async_capacity } else { given.async_capacity },
        ..default
    })
}

/// Returns the set of these kinds; `None` where there are none.
pub(super) unsafe fn event_set(events: *const u32, count: usize) -> Result<Option<EventSet>, Failure> {
    // SAFETY: as the caller promises.
    let kinds = unsafe { slice(events, count, "events")? };
    let names: Result<EventSet, Failure> = kinds.iter().map(|&kind| event_name(kind)).collect();
    Ok(Some(names?).filter(|_| count > 0))
}
