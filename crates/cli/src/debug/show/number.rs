use opscope::debug::protocol::{HistogramInfo, Ranked};
use opscope::debug::{ShortNumber, StatisticsSummary};
use opscope::tensor::Element;
use opscope::text::shown_text;
use serde_json::{Value, json};

use super::printable;
use super::{table, tensor_form};

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
