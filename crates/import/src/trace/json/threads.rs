//! The processes and threads of events.

use xxhash_rust::xxh3::xxh3_64;

use super::value::{ChromeEvent, text, whole};
use crate::trace::assemble::Assembler;
use crate::trace::event::Track;

/// Returns the thread of an event. A trace may call processes and threads by names; those get a number of their own.
pub(super) fn thread(event: &ChromeEvent<'_>, into: &mut Assembler) -> Track {
    let track = into.thread(number(event.pid), number(event.tid));
    if whole(event.tid).is_none() {
        // A thread without a name is called as its process.
        let (thread, process) = (text(event.tid), text(event.pid));
        into.name_track(track, if thread.is_empty() { &process } else { &thread });
    }
    track
}

/// Returns the number of a process or a thread.
pub(super) fn number(value: Option<&str>) -> u64 {
    match whole(value) {
        Some(number) => number.cast_unsigned(),
        // Above all numbers that a system gives.
        None => value.map_or(0, |value| xxh3_64(value.as_bytes()) | 1 << 63),
    }
}
