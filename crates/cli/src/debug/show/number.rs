use opscope::debug::StatisticsSummary;
use opscope::debug::protocol::{HistogramInfo, Ranked};
use opscope::onnx::shown_text;
use opscope::tensor::Element;
use serde_json::{Value, json};

use super::{table, tensor_form};
use crate::debug::foreign::shown;

/// A number of things.
pub fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Statistics, in a few lines.
pub fn statistics(reference: &str, numbers: &StatisticsSummary) -> String {
    let numbers = &shown(numbers);
    let number = |number: Option<f64>| number.map_or("none".to_owned(), short);
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
        ["  xxh3".to_owned(), numbers.xxh3.clone()],
    ];
    format!("{reference}  {}\n{}", tensor_form(Some(&numbers.dtype), &numbers.shape), table(rows))
}

/// A histogram with a bar for each bin.
pub fn histogram(reference: &str, histogram: &HistogramInfo) -> String {
    const LONGEST: f64 = 40.0;
    let most = histogram.bins.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
    let rows = histogram.bins.iter().filter(|bin| bin.count > 0).map(|bin| {
        let bar = "#".repeat((bin.count as f64 / most as f64 * LONGEST).ceil() as usize);
        let (low, high) = (bin.from.min(bin.to), bin.from.max(bin.to));
        let range = if bin.to == 0.0 { "zero".to_owned() } else { format!("{} to {}", short(low), short(high)) };
        [format!("  {range}"), bin.count.to_string(), bar]
    });
    let mut text = format!("{reference}\n{}", table(rows));
    if histogram.non_finite > 0 {
        text.push_str(&format!("\n  NaN or infinite: {}", histogram.non_finite));
    }
    text
}

/// The largest elements and where they are.
pub fn top(elements: &[Ranked]) -> String {
    table(elements.iter().map(|element| [format!("  {}", shown_text(&element.value)), format!("{:?}", element.index)]))
}

/// An element as JSON. What JSON has no number for is a text: `nan`, `inf`, `-inf`.
pub fn element_json(element: Element) -> Value {
    match element {
        Element::Bool(truth) => truth.into(),
        Element::Int(number) => number.into(),
        Element::UInt(number) => number.into(),
        Element::F32(number) => match number.is_finite() {
            // The shortest text that stands for the float, not the longer one of the same number in twice the bits.
            true => format!("{number}").parse::<f64>().map_or(Value::Null, Value::from),
            false => number.to_string().to_lowercase().into(),
        },
        Element::F64(number) if !number.is_finite() => number.to_string().to_lowercase().into(),
        Element::F64(number) => number.into(),
        Element::Complex(re, im) => json!([element_json(Element::F64(re)), element_json(Element::F64(im))]),
        other => other.to_string().into(),
    }
}

/// A number with at most six digits that matter.
pub fn short(number: f64) -> String {
    let size = number.abs();
    if number != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{number:.4e}");
    }
    let digits = if size == 0.0 { 0 } else { 5 - size.log10().floor().min(5.0) as i32 };
    let text = format!("{number:.digits$}", digits = digits.max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
