use opscope::debug::StatisticsSummary;
use opscope::onnx::shown_text;
use serde_json::{Value, json};

use crate::debug::show::{element_json, short};

/// What can be asked of a tensor, in the words of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Nan,
    Inf,
    Zeros,
    Count,
    AbsMax,
    Min,
    Max,
    Mean,
    Std,
    L2,
    Shape,
    Rank,
    Dtype,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 13] = [
        Function::Nan,
        Function::Inf,
        Function::Zeros,
        Function::Count,
        Function::AbsMax,
        Function::Min,
        Function::Max,
        Function::Mean,
        Function::Std,
        Function::L2,
        Function::Shape,
        Function::Rank,
        Function::Dtype,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Function::Nan => "nan",
            Function::Inf => "inf",
            Function::Zeros => "zeros",
            Function::Count => "count",
            Function::AbsMax => "absmax",
            Function::Min => "min",
            Function::Max => "max",
            Function::Mean => "mean",
            Function::Std => "std",
            Function::L2 => "l2",
            Function::Shape => "shape",
            Function::Rank => "rank",
            Function::Dtype => "dtype",
        }
    }

    /// What it gives of a tensor with these numbers, as JSON and as text. Without a finite element there is no range, mean
    /// or norm.
    pub fn of(self, numbers: &StatisticsSummary) -> (Value, String) {
        let whole = |number: u64| (json!(number), number.to_string());
        let number = |number: Option<f64>| match number {
            Some(number) => (element_json(opscope::tensor::Element::F64(number)), short(number)),
            None => (Value::Null, "none: there is no finite element".to_owned()),
        };
        match self {
            Function::Nan => whole(numbers.nan),
            Function::Inf => whole(numbers.positive_infinite + numbers.negative_infinite),
            Function::Zeros => whole(numbers.zeros),
            Function::Count => whole(numbers.count),
            Function::AbsMax => number(numbers.min.zip(numbers.max).map(|(min, max)| min.abs().max(max.abs()))),
            Function::Min => number(numbers.min),
            Function::Max => number(numbers.max),
            Function::Mean => number(numbers.mean),
            Function::Std => number(numbers.std),
            Function::L2 => number(numbers.l2),
            Function::Shape => (json!(numbers.shape), format!("{:?}", numbers.shape)),
            Function::Rank => whole(numbers.shape.len() as u64),
            Function::Dtype => (json!(numbers.dtype), shown_text(&numbers.dtype).into_owned()),
        }
    }
}
