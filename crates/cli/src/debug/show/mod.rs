//! Events, operators and numbers as text and as JSON.

pub mod array;
mod operator;

use opscope::debug::expression::{Function, Quantity};
use opscope::debug::protocol::{HistogramInfo, Ranked};
use opscope::debug::{Event, Location, ShortNumber, StatisticsSummary};
use opscope::tensor::Element;
use opscope::text::{Column, TextTable, shown_text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::debug::events::{DroppedCounts, RunEnd};
pub use operator::{breakpoint, inputs_and_outputs, mapping, mappings, tensor_form, tensors};

/// Aligns rows in columns, with two spaces between them and none at the ends of lines.
pub fn table<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = TextTable::new([Column::Words(""); N]).without_titles();
    rows.into_iter().for_each(|row| table.row(row));
    table.text().trim_end_matches('\n').to_owned()
}

/// Returns the same data with every text in a form that can be printed in one line.
pub fn printable<T: Serialize + DeserializeOwned>(foreign: &T) -> T {
    let all = serde_json::to_value(foreign).map(|mut all| {
        make_printable(&mut all);
        all
    });
    all.and_then(serde_json::from_value).expect("a text is parsed like the text in its place")
}

/// Returns the first line of a message, printable. The lines below only show the place that it names.
pub fn first_line(message: &str) -> String {
    shown_text(message.lines().next().unwrap_or_default()).into_owned()
}

fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown_text(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(make_printable),
        Value::Object(fields) => fields.values_mut().for_each(make_printable),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a number of things with the right ending.
pub fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Shows statistics in a few lines.
pub fn statistics(reference: &str, numbers: &StatisticsSummary) -> String {
    let numbers = &printable(numbers);
    let number = |number: Option<f64>| number.map_or("none".to_owned(), |number| ShortNumber(number).to_string());
    let finite = numbers.count - numbers.nan - numbers.positive_infinite - numbers.negative_infinite;
    let rows = [
        ["  elements".to_owned(), format!("{}, of them {finite} finite", numbers.count)],
        ["  NaN".to_owned(), numbers.nan.to_string()],
        [
            "  infinite".to_owned(),
            format!("{} positive, {} negative", numbers.positive_infinite, numbers.negative_infinite),
        ],
        ["  zeros".to_owned(), numbers.zeros.to_string()],
        ["  range".to_owned(), format!("{} to {}", number(numbers.min), number(numbers.max))],
        ["  mean".to_owned(), format!("{}, standard deviation {}", number(numbers.mean), number(numbers.std))],
        ["  l2".to_owned(), number(numbers.l2)],
        ["  xxh3".to_owned(), numbers.xxh3.to_string()],
    ];
    format!("{reference}  {}\n{}", tensor_form(Some(numbers.dtype), &numbers.shape), table(rows))
}

/// Shows a histogram with a bar for each bin.
pub fn histogram(reference: &str, histogram: &HistogramInfo) -> String {
    const LONGEST: f64 = 40.0;
    let most = histogram.bins.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
    let rows = histogram.bins.iter().filter(|bin| bin.count > 0).map(|bin| {
        let bar = "#".repeat((bin.count as f64 / most as f64 * LONGEST).ceil() as usize);
        let (low, high) = (bin.from.min(bin.to), bin.from.max(bin.to));
        let range =
            if bin.to == 0.0 { "zero".to_owned() } else { format!("{} to {}", ShortNumber(low), ShortNumber(high)) };
        [format!("  {range}"), bin.count.to_string(), bar]
    });
    let mut text = format!("{reference}\n{}", table(rows));
    if histogram.non_finite > 0 {
        text.push_str(&format!("\n  NaN or infinite: {}", histogram.non_finite));
    }
    text
}

/// Shows the largest elements with their indices.
pub fn top(elements: &[Ranked]) -> String {
    table(elements.iter().map(|element| [format!("  {}", shown_text(&element.value)), format!("{:?}", element.index)]))
}

/// Returns an element as JSON. Numbers that JSON does not have are texts: `nan`, `inf`, `-inf`.
pub fn element_json(element: Element) -> Value {
    match element {
        Element::Bool(truth) => truth.into(),
        Element::Int(number) => number.into(),
        Element::UInt(number) => number.into(),
        Element::F32(number) => match number.is_finite() {
            // The shortest text of the 32-bit float; as a 64-bit float it would have more digits.
            true => format!("{number}").parse::<f64>().map_or(Value::Null, Value::from),
            false => number.to_string().to_lowercase().into(),
        },
        Element::F64(number) if !number.is_finite() => number.to_string().to_lowercase().into(),
        Element::F64(number) => number.into(),
        Element::Complex(re, im) => json!([element_json(Element::F64(re)), element_json(Element::F64(im))]),
        other => other.to_string().into(),
    }
}

/// Returns the result of a function of a tensor with these statistics, as JSON and as text. Without a finite element
/// there is no range, mean or norm.
pub fn applied(function: Function, numbers: &StatisticsSummary) -> (Value, String) {
    let quantity = match function {
        Function::Quantity(quantity) => quantity,
        Function::Shape => return (json!(numbers.shape), format!("{:?}", numbers.shape)),
        Function::Rank => return whole(numbers.shape.len() as u64),
        Function::DType => return (json!(numbers.dtype), numbers.dtype.to_string()),
    };
    match quantity {
        Quantity::Nan => whole(numbers.nan),
        Quantity::Inf => whole(numbers.positive_infinite + numbers.negative_infinite),
        Quantity::Zeros => whole(numbers.zeros),
        Quantity::Count => whole(numbers.count),
        Quantity::AbsMax => finite(numbers.min.zip(numbers.max).map(|(min, max)| min.abs().max(max.abs()))),
        Quantity::Min => finite(numbers.min),
        Quantity::Max => finite(numbers.max),
        Quantity::Mean => finite(numbers.mean),
        Quantity::Std => finite(numbers.std),
        Quantity::L2 => finite(numbers.l2),
    }
}

fn whole(number: u64) -> (Value, String) {
    (json!(number), number.to_string())
}

fn finite(number: Option<f64>) -> (Value, String) {
    match number {
        Some(number) => (element_json(Element::F64(number)), ShortNumber(number).to_string()),
        None => (Value::Null, "none: there is no finite element".to_owned()),
    }
}

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
