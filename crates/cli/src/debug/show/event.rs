use opscope::debug::{Event, Location};
use opscope::text::shown_text;

use super::printable;
use super::{count, inputs_and_outputs};
use crate::debug::events::DroppedCounts;
use crate::debug::events::RunEnd;

/// Describes a run that has stopped: why, where, and with which tensors.
pub fn stopped(event: &Event, location: Option<&Location>) -> String {
    let mut text = happened(event);
    if let Some(location) = location {
        let location = printable(location);
        let origin = location.origin.iter().flat_map(|origin| origin.lines());
        origin.for_each(|line| text.push_str(&format!("\n  {line}")));
        let tensors = inputs_and_outputs(&location);
        if !tensors.is_empty() {
            text.push('\n');
            text.push_str(&tensors);
        }
    }
    text
}

/// Describes an event.
pub fn happened(event: &Event) -> String {
    printable(event).to_string()
}

/// Describes how a run of this process's own model ended.
pub fn ended(end: &RunEnd, aborted: bool) -> String {
    let run = end.run.0;
    let text = match &end.outcome {
        Ok(outputs) => {
            let outputs: Vec<String> = outputs.iter().map(ToString::to_string).collect();
            format!("Run {run} ended: {}", outputs.join(", "))
        }
        Err(_) if aborted => format!("Run {run} was aborted"),
        Err(error) => format!("Run {run} failed: {error}"),
    };
    shown_text(&text).into_owned()
}

/// Returns the text that says how many events were dropped.
pub fn dropped(dropped: &DroppedCounts) -> String {
    let parts = [
        (dropped.ended, "more run", " ended"),
        (dropped.failed, "more run", " failed"),
        (dropped.events, "more event", ""),
    ];
    let parts = parts.iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, what, how)| count(*number, what) + how).collect();
    format!("... and {}", parts.join(", "))
}
