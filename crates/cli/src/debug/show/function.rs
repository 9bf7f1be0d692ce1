use opscope::debug::expression::{Function, Quantity};
use opscope::debug::{ShortNumber, StatisticsSummary};
use opscope::tensor::Element;
use serde_json::{Value, json};

use super::number::element_json;

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
