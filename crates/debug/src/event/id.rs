//! The numbers that events name things by, how numbers are shown, and where a run is.

use std::fmt;
use std::sync::Arc;

use opscope_model::{LoopIteration, RunId};
use serde::{Deserialize, Serialize};

/// The number of an event, from 1, counted over both queues. Requests refer to a stopped thread by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(pub u64);

/// The number of a model that the program has loaded, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(pub u32);

/// The number of a breakpoint, from 1. Numbers are not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BreakpointId(pub u32);

/// The queue in which an event waits until it is read. Each queue keeps its order. The [`Sequence`] orders the events
/// of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// Events whose thread waits until they are acknowledged.
    Sync,
    /// Events for which no thread waits.
    Async,
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for BreakpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Queue::Sync => "sync",
            Queue::Async => "async",
        })
    }
}

/// Serializes the number of a run, whose type belongs to `opscope_model`, which knows no text form.
pub(crate) mod run_number {
    use opscope_model::RunId;
    use serde::Deserialize;

    pub fn serialize<S: serde::Serializer>(run: &RunId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(run.0)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<RunId, D::Error> {
        u64::deserialize(from).map(RunId)
    }
}

/// Displays a number with at most six significant digits, and with an exponent if it is very large or very small.
#[derive(Debug, Clone, Copy)]
pub struct ShortNumber(pub f64);

impl fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if self.0 != 0.0 && !(1e-4..1e7).contains(&size) {
            return write!(f, "{:.4e}", self.0);
        }
        let decimals = if size == 0.0 { 0 } else { 5 - size.log10().floor().min(5.0) as i32 };
        let text = format!("{:.decimals$}", self.0, decimals = decimals.max(0) as usize);
        f.write_str(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text })
    }
}

/// Before or after an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Its inputs exist, and it has not been executed yet.
    Before,
    /// Its outputs exist, and no other operator has taken them yet.
    After,
}

/// Where a run is: before or after one of its operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPosition {
    /// The run.
    #[serde(with = "run_number")]
    pub run: RunId,
    /// The run's model; 0 if the program does not say.
    #[serde(default)]
    pub model: ModelId,
    /// The operator's index in the graph, from 0, in the order of execution.
    pub operator: u32,
    /// The operator's name in the file.
    pub name: Arc<str>,
    /// The operator's type.
    pub op_type: Arc<str>,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<LoopIteration>,
    /// The kernel's index in the engine's plan, from 0.
    pub kernel: u32,
    /// Before or after the operator.
    pub moment: Moment,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Moment::Before => "before",
            Moment::After => "after",
        })
    }
}

impl fmt::Display for RunPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, run {}", self.moment, self.label(), self.run.0)
    }
}

impl RunPosition {
    /// Returns the operator with its index, its type and, in a loop, the iteration: `#12 Loop_3/Add_0[17] (Add)`.
    pub fn label(&self) -> String {
        let indices = LoopIteration::indices(&self.iterations);
        format!("#{} {}{indices} ({})", self.operator, self.name, self.op_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_significant_digits_and_an_exponent_where_they_are_very_large_or_small() {
        for (number, shown) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.3"),
            (2.0 / 3.0, "0.666667"),
            (-200.0 / 3.0, "-66.6667"),
            (1234.5678, "1234.57"),
            (123_456.7, "123457"),
            (200_000.0, "200000"),
            (9_999_999.0, "9999999"),
            (9_999_999.9, "10000000"),
            (1e7, "1.0000e7"),
            (-12_345_678.0, "-1.2346e7"),
            (0.012345678, "0.0123457"),
            (0.0001, "0.0001"),
            (0.000123456789, "0.000123457"),
            (0.000099999, "9.9999e-5"),
            (-3.5e-30, "-3.5000e-30"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(ShortNumber(number).to_string(), shown, "{number:?}");
        }
    }
}
