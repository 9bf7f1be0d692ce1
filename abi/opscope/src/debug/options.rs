use std::time::Duration;

use opscope::debug::{AttachOptions, EventSet};
use opscope_border::{Counted, Items, SizedIn, Text, counted, sized};

use super::event::event_name;
use crate::border::{Failure, slice};

/// The options for attaching a client. All fields zero, or NULL in place of the struct, selects the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_attach_options_t<'a> {
    /// `sizeof(opscope_attach_options_t)`.
    pub size: usize,
    /// The client's name, for messages. May be NULL.
    pub name: Text<'a>,
    /// The events that it receives, each an `opscope_event_kind_t`. Breakpoints, steps, pauses and the ends of
    /// attaching and detaching are always included. Without any, all events that are useful to a person are selected:
    /// not the beginning and end of runs and operators.
    pub events: Items<'a, u32>,
    /// The number of `events`.
    pub event_count: usize,
    /// Nanoseconds for which an event may stay unacknowledged before its thread continues without it. 0 stands for 30
    /// s.
    pub lease: u64,
    /// Nanoseconds between two timeout events while a thread waits. 0: there are none.
    pub timeout: u64,
    /// How many events can wait in the async queue. 0 stands for 16,384.
    pub async_capacity: usize,
    /// 1 if every call inside the notification callback returns `OPSCOPE_ERROR_BUSY`, including those that read and
    /// acknowledge.
    pub strict_callbacks: u32,
    /// 1 if the events of finished operators have statistics of their outputs, in `json`.
    pub statistics: u32,
}
sized!(opscope_attach_options_t<'a>, 64);
counted!(opscope_attach_options_t<'a> { events[event_count] -> Counted<'a, u32> });

pub(super) fn attach_options(options: SizedIn<'_, opscope_attach_options_t<'_>>) -> Result<AttachOptions, Failure> {
    let given = options.get_or_default()?;
    let default = AttachOptions::default();
    let name = given.name.given_str("name")?;
    let events = event_set(given.events())?;
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

/// Returns the set of these kinds of events; `None` if there are none.
pub(super) fn event_set(events: Counted<'_, u32>) -> Result<Option<EventSet>, Failure> {
    let kinds = slice(events, "events")?;
    let names: Result<EventSet, Failure> = kinds.iter().map(|&kind| event_name(kind)).collect();
    Ok(Some(names?).filter(|_| !kinds.is_empty()))
}
