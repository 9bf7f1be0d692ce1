//! The order in which operators are suspected.

use opscope_onnx::{Graph, Operator};

use super::errors::{Cause, OperatorError};
use super::low_type::LowType;

/// An operator that can be lowered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'g> {
    pub operator: &'g Operator,
    /// `None` if the engine does not show the operator.
    pub error: Option<OperatorError>,
    /// The time that it takes in float32, in ticks of the clock.
    pub ticks: u64,
}

impl Candidate<'_> {
    /// Returns why the operator's error is larger than that of rounding, or `None` if it is not, or not known.
    pub fn cause(&self, low: LowType) -> Option<Cause> {
        self.error.and_then(|error| error.cause(low))
    }
}

/// Errors grow at most this much on the way through one operator and the ones behind it.
const MOST_GAIN: f64 = 1e9;
/// They become smaller at most this much: an operator may add a large number.
const LEAST_GAIN: f64 = 1e-9;

/// The error of an operator that the engine does not show, in rounding units.
const UNKNOWN: f64 = 64.0;

/// The error of a wrong count, in rounding units: it may be an index.
const COUNTS: f64 = 4096.0;

/// A gain of less than this, or of less than one through it, is none. In a deep model the small ones would add up to more
/// than a difference of close numbers has.
const SMALL_GAIN: f64 = 4.0;

fn noticed(gain: f64) -> f64 {
    let is_small = gain < SMALL_GAIN && gain > 1.0 / SMALL_GAIN;
    if is_small { 1.0 } else { gain.clamp(LEAST_GAIN, MOST_GAIN) }
}

/// Sorts candidates, the most suspect first: by the estimated effect on the model's outputs, and among those of like
/// effect by time, the cheapest first.
///
/// The effect is the operator's own error times the gain of the operators behind it. An operator whose rounded output
/// goes into a difference of close numbers is suspected as the difference is.
pub(super) fn sort(candidates: &mut [Candidate<'_>], graph: &Graph, low: LowType) {
    let unit = low.rounding_unit();
    let operators = graph.all_operators().count();
    let mut errors = vec![None; operators];
    for candidate in candidates.iter() {
        errors[candidate.operator.id.index()] = candidate.error;
    }
    // From the last operator to the first: how much an error of its outputs grows behind it.
    let mut gains = vec![1f64; operators];
    let all: Vec<&Operator> = graph.all_operators().collect();
    for operator in all.iter().rev() {
        let consumers = operator.outputs.iter().flatten().flat_map(|output| &graph.value(*output).consumers);
        let behind = consumers.map(|consumer| {
            let own = errors[consumer.index()].map_or(1.0, |error| error.gain());
            noticed(own) * gains[consumer.index()]
        });
        gains[operator.id.index()] = behind.reduce(f64::max).unwrap_or(1.0).clamp(LEAST_GAIN, MOST_GAIN);
    }
    // Effects within a factor of four are alike.
    let rank = |candidate: &Candidate<'_>| {
        let own = match candidate.error {
            None => UNKNOWN * unit,
            Some(error) => {
                let least = if error.cause(low).is_some_and(|cause| cause.is_of_counts()) { COUNTS } else { 0.25 };
                error.rounded.relative().max(least * unit)
            }
        };
        let effect = (own * gains[candidate.operator.id.index()] / unit).min(1e30);
        (effect.log2() / 2.0).round() as i64
    };
    candidates.sort_by_key(|candidate| (-rank(candidate), candidate.ticks, candidate.operator.id));
}
