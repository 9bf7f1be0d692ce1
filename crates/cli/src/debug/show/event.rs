use opscope::debug::{Event, EventKind, Exception, Location, NonFinite, NonFiniteInput, Origin, OutputSummary, Place};

use opscope::onnx::shown_text;

use super::number::short;
use super::{count, inputs_and_outputs};
use crate::debug::board::Untold;
use crate::debug::debuggee::RunEnd;
use crate::debug::foreign::shown;

/// A run that stopped: why and where, and what can be looked at.
pub fn stopped(event: &Event, location: Option<&Location>) -> String {
    let event = &shown(event);
    let mut text = match &event.kind {
        EventKind::Breakpoint { place, breakpoints } => {
            let numbers: Vec<String> = breakpoints.iter().map(ToString::to_string).collect();
            let word = if numbers.len() == 1 { "Breakpoint" } else { "Breakpoints" };
            format!("{word} {}, {}", numbers.join(", "), at(place))
        }
        EventKind::Paused { place } => format!("Paused {}", at(place)),
        EventKind::StepComplete { place } => at(place),
        EventKind::Exception {
            place: Some(place),
            exception: Exception::NonFinite { breakpoints, inputs, outputs },
            ..
        } => {
            let numbers: Vec<String> = breakpoints.iter().map(ToString::to_string).collect();
            format!("Breakpoint {}, {}: {}", numbers.join(", "), at(place), not_finite(inputs, outputs))
        }
        _ => told(event),
    };
    if let Some(location) = location {
        let tensors = inputs_and_outputs(&shown(location));
        if !tensors.is_empty() {
            text.push('\n');
            text.push_str(&tensors);
        }
    }
    text
}

/// Something that happened.
pub fn told(event: &Event) -> String {
    let event = &shown(event);
    let more = match event.coalesced {
        0 => String::new(),
        count => format!(" (and {count} more of this kind)"),
    };
    let text = match &event.kind {
        EventKind::ModelLoaded { model, name, path, fidelity, operators } => {
            let operators = count(u64::from(*operators), "operator");
            format!("Model {model}: {name} ({path}), {operators}, {fidelity}")
        }
        EventKind::ModelUnloaded { model } => format!("Model {model} is gone"),
        EventKind::RunCreated { run, model } => format!("Run {} of model {model} was prepared", run.0),
        EventKind::RunDestroyed { run } => format!("What belonged to run {} is gone", run.0),
        EventKind::RunPushed { run } => format!("Run {} begins on thread {}", run.0, event.thread),
        EventKind::RunPopped { run, error: None } => format!("Run {} ended", run.0),
        EventKind::RunPopped { run, error: Some(error) } => format!("Run {} failed: {error}", run.0),
        EventKind::OperatorReady { place } => format!("Ready: {}", at(place)),
        EventKind::OperatorFinished { place, outputs } => {
            format!("Finished: {}{}", at(place), outputs.iter().map(in_short).collect::<String>())
        }
        EventKind::Exception { run, place, exception } => {
            let place =
                place.as_ref().map(|place| format!(" at #{} {} ({})", place.operator, place.name, place.op_type));
            match exception {
                Exception::Engine { message } => {
                    format!("Run {} failed{}: {message}", run.0, place.unwrap_or_default())
                }
                Exception::NonFinite { inputs, outputs, .. } => {
                    format!("Run {}{}: {}", run.0, place.unwrap_or_default(), not_finite(inputs, outputs))
                }
                _ => format!("Run {}: something went wrong{}", run.0, place.unwrap_or_default()),
            }
        }
        EventKind::InternalError { message } => format!("The debugger failed in something: {message}"),
        other => other.name().as_str().replace('_', " "),
    };
    text + &more
}

/// How a run of our own ended.
pub fn ended(end: &RunEnd, aborted: bool) -> String {
    let run = end.run.0;
    let text = match &end.outcome {
        Ok(outputs) => {
            let outputs: Vec<String> = outputs.iter().map(ToString::to_string).collect();
            format!("Run {run} ended: {}", outputs.join(", "))
        }
        Err(_) if aborted => format!("Run {run} was ended"),
        Err(error) => format!("Run {run} failed: {error}"),
    };
    shown_text(&text).into_owned()
}

/// What happened that nobody looked at for too long.
pub fn untold(untold: &Untold) -> String {
    let parts = [
        (untold.ended, "more run", " ended"),
        (untold.failed, "more run", " failed"),
        (untold.events, "more event", ""),
    ];
    let parts = parts.iter().filter(|(number, ..)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, what, how)| count(*number, what) + how).collect();
    format!("... and {}", parts.join(", "))
}

/// An output's range, and what in it is no number.
fn in_short(output: &OutputSummary) -> String {
    let Some(statistics) = &output.statistics else { return String::new() };
    let mut text = format!(": output[{}]", output.slot);
    if let (Some(min), Some(max)) = (statistics.min, statistics.max) {
        text.push_str(&format!(" {} to {}", short(min), short(max)));
    }
    let infinite = statistics.positive_infinite + statistics.negative_infinite;
    for (count, what) in [(statistics.nan, "NaN"), (infinite, "infinite")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

/// What has elements that are not finite: what enters the run, and outputs.
fn not_finite(inputs: &[NonFiniteInput], outputs: &[NonFinite]) -> String {
    let has = |what: String, value: &Option<String>, nan: u64, infinite: u64| {
        let value = value.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
        let counts = [(nan, "NaN"), (infinite, "infinite")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        format!("{what}{value} has {}", counts.collect::<Vec<_>>().join(" and "))
    };
    let input = |input: &NonFiniteInput| {
        let what = match input.origin {
            Origin::Input => "the model's input",
            Origin::Initializer => "the initializer",
            Origin::Constant => "a constant",
        };
        has(what.to_owned(), &input.value, input.nan, input.infinite)
    };
    let output =
        |output: &NonFinite| has(format!("output[{}]", output.slot), &output.value, output.nan, output.infinite);
    inputs.iter().map(input).chain(outputs.iter().map(output)).collect::<Vec<_>>().join(", ")
}

fn at(place: &Place) -> String {
    format!("{} #{} {} ({}), run {}", place.moment, place.operator, place.name, place.op_type, place.run.0)
}
