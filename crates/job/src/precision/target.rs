//! What a model's outputs must keep of the original's: a metric and a bound.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use opscope_tensor::{DType, DifferenceAccumulator, Element, Tensor};
use serde::Serialize;

/// A way to measure how far outputs are from those of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The cosine of the angle between the two outputs as vectors: Σ x y / √(Σ x² Σ y²). 1 is equal.
    Cosine,
    /// √(Σ (x - y)² / Σ y²). 0 is equal.
    RelativeError,
    /// The share of rows along the last axis whose largest element is at the same place.
    Argmax,
    /// The share of the reference's k largest elements along the last axis that are among the k largest, too.
    Top(usize),
    /// 10 log10(Σ y² / Σ (x - y)²), in decibels.
    Sqnr,
}

/// A metric, and the bound that it must keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// What is measured.
    pub metric: Metric,
    /// The least value, or for [`Metric::RelativeError`] the largest.
    pub bound: f64,
}

/// The error for a text that is not a [`Target`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no target; give a metric and a bound, such as 'cosine >= 0.9999', 'relative_error <= 1e-3', 'argmax >= 0.99', \
     'top5 >= 0.99' or 'sqnr >= 40'"
)]
pub struct InvalidTarget(pub String);

impl Metric {
    /// Returns whether a small value is good.
    pub fn is_an_error(self) -> bool {
        self == Self::RelativeError
    }

    /// Returns the value for several sets of inputs: the mean, or for [`Metric::Sqnr`] the ratio of the mean error, in
    /// decibels.
    pub fn mean(self, values: &[f64]) -> f64 {
        self.of_term(values.iter().map(|value| self.term(*value)).sum::<f64>() / values.len() as f64)
    }

    /// Returns the number of which the mean over several sets of inputs is taken.
    pub(super) fn term(self, value: f64) -> f64 {
        if self == Self::Sqnr { 10f64.powf(-value / 10.0) } else { value }
    }

    /// Returns the value of such a number.
    pub(super) fn of_term(self, term: f64) -> f64 {
        if self == Self::Sqnr { -10.0 * term.max(0.0).log10() } else { term }
    }

    /// Returns the best value that there can be.
    fn best(self) -> f64 {
        match self {
            Self::Cosine | Self::Argmax | Self::Top(_) => 1.0,
            Self::RelativeError => 0.0,
            Self::Sqnr => f64::INFINITY,
        }
    }

    /// Measures the worst of the outputs that are floating-point numbers. Returns `None` if an output has a NaN or an
    /// infinity that the reference does not have, or if no output has floating-point numbers.
    pub fn of(self, outputs: &[Tensor], references: &[Tensor]) -> Option<f64> {
        let floats = outputs.iter().zip(references).filter(|(_, reference)| is_float(reference.dtype()));
        let values: Option<Vec<f64>> = floats.map(|(output, reference)| self.of_one(output, reference)).collect();
        let worst = |a: f64, b: f64| if self.is_an_error() { a.max(b) } else { a.min(b) };
        values?.into_iter().reduce(worst)
    }

    fn of_one(self, output: &Tensor, reference: &Tensor) -> Option<f64> {
        if output.shape() != reference.shape() {
            return None;
        }
        if output.dtype() == reference.dtype() && output.bytes() == reference.bytes() {
            return Some(self.best());
        }
        let difference = || {
            let types = (output.dtype(), reference.dtype());
            let mut difference = DifferenceAccumulator::new(types.0, types.1, output.elements(), 0.0).ok()?;
            difference.update(output.bytes(), reference.bytes());
            Some(difference.finish()).filter(|difference| difference.mismatches() == 0)
        };
        match self {
            Self::Cosine => difference()?.cosine,
            Self::Sqnr => difference()?.sqnr,
            // From the ratio of the same sums in decibels.
            Self::RelativeError => difference()?.sqnr.map(|sqnr| 10f64.powf(-sqnr / 20.0)),
            Self::Argmax => difference().and_then(|_| agreement(output, reference, 1)),
            Self::Top(k) => difference().and_then(|_| agreement(output, reference, k)),
        }
    }
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
}

/// Returns the mean share of the `k` largest elements of each row that two tensors have in common.
fn agreement(output: &Tensor, reference: &Tensor, k: usize) -> Option<f64> {
    let row = output.shape().last().copied().unwrap_or(1);
    let rows = output.elements().checked_div(row)?;
    let k = k.min(row);
    let common = |start: usize| {
        let [ours, theirs] = [output, reference].map(|tensor| largest(tensor, start..start + row, k));
        theirs.iter().filter(|place| ours.contains(place)).count()
    };
    let common: usize = (0..rows).map(|index| common(index * row)).sum();
    (rows > 0).then(|| common as f64 / (rows * k) as f64)
}

/// Returns the places of the `k` largest elements; of equal ones, the first.
fn largest(tensor: &Tensor, range: std::ops::Range<usize>, k: usize) -> Vec<usize> {
    let at = |index: &usize| {
        Element::at(tensor.dtype(), tensor.bytes(), *index).and_then(Element::to_f64).unwrap_or(f64::NEG_INFINITY)
    };
    let descending = |a: &usize, b: &usize| at(b).partial_cmp(&at(a)).unwrap_or(Ordering::Equal).then(a.cmp(b));
    let start = range.start;
    let mut places: Vec<usize> = range.collect();
    if k < places.len() {
        places.select_nth_unstable_by(k, descending);
        places.truncate(k);
    }
    places.iter().map(|place| place - start).collect()
}

impl Target {
    /// Returns whether the mean of `all` values can still keep the bound, after these ones.
    pub fn can_be_met(&self, values: &[f64], all: usize) -> bool {
        let mut values = values.to_vec();
        values.resize(all, self.metric.best());
        self.is_met(Some(self.metric.mean(&values)))
    }

    /// Returns whether a value keeps the bound. A value that could not be measured does not.
    pub fn is_met(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| match self.metric.is_an_error() {
            true => value <= self.bound,
            false => value >= self.bound,
        })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cosine => f.write_str("cosine"),
            Self::RelativeError => f.write_str("relative_error"),
            Self::Argmax => f.write_str("argmax"),
            Self::Top(k) => write!(f, "top{k}"),
            Self::Sqnr => f.write_str("sqnr"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.metric, if self.metric.is_an_error() { "<=" } else { ">=" }, self.bound)
    }
}

impl FromStr for Target {
    type Err = InvalidTarget;

    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        let invalid = || InvalidTarget(text.to_owned());
        let is_upper = text.contains("<=");
        let (name, bound) = text.split_once(if is_upper { "<=" } else { ">=" }).ok_or_else(invalid)?;
        let metric = match name.trim() {
            "cosine" => Metric::Cosine,
            "relative_error" => Metric::RelativeError,
            "argmax" => Metric::Argmax,
            "sqnr" => Metric::Sqnr,
            other => {
                let k = other.strip_prefix("top").and_then(|k| k.parse().ok()).filter(|k| *k > 0);
                Metric::Top(k.ok_or_else(invalid)?)
            }
        };
        let bound = bound.trim().parse().ok().filter(|bound: &f64| bound.is_finite()).ok_or_else(invalid)?;
        if metric.is_an_error() != is_upper {
            return Err(invalid());
        }
        Ok(Self { metric, bound })
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: Metric, output: &[f32], reference: &[f32]) -> Option<f64> {
        let tensor = |values: &[f32]| Tensor::from_f32(vec![values.len()], values).unwrap();
        metric.of(&[tensor(output)], &[tensor(reference)])
    }

    #[test]
    fn each_metric_is_its_formula() {
        // By hand: x·y = 25 + 0.3, |y|² = 25, |x - y|² = 0.01.
        let (x, y) = ([3.1, 4.0], [3.0, 4.0]);
        let close =
            |value: Option<f64>, expected: f64| assert!((value.unwrap() / expected - 1.0).abs() < 1e-6, "{value:?}");
        close(of(Metric::Cosine, &x, &y), 25.3 / (25.0f64 * 25.61).sqrt());
        close(of(Metric::RelativeError, &x, &y), (0.01f64 / 25.0).sqrt());
        close(of(Metric::Sqnr, &x, &y), 10.0 * (25.0f64 / 0.01).log10());
    }

    #[test]
    fn rows_agree_where_the_largest_elements_are_at_the_same_places() {
        let tensor = |values: &[f32]| Tensor::from_f32(vec![2, 3], values).unwrap();
        let (x, y) = (tensor(&[1.0, 3.0, 2.0, 9.0, 8.0, 7.0]), tensor(&[1.0, 3.0, 2.0, 7.0, 8.0, 9.0]));
        assert_eq!(Metric::Argmax.of(std::slice::from_ref(&x), std::slice::from_ref(&y)), Some(0.5));
        assert_eq!(Metric::Top(2).of(std::slice::from_ref(&x), std::slice::from_ref(&y)), Some(0.75));
        assert_eq!(Metric::Top(9).of(&[x], &[y]), Some(1.0), "there are only three");
    }

    #[test]
    fn what_is_not_finite_only_on_one_side_misses_every_target() {
        for bad in [f32::NAN, f32::INFINITY] {
            for metric in [Metric::Cosine, Metric::RelativeError, Metric::Argmax, Metric::Top(1), Metric::Sqnr] {
                assert_eq!(of(metric, &[bad, 1.0], &[1.0, 1.0]), None);
            }
        }
        assert!(!Target { metric: Metric::Cosine, bound: -1.0 }.is_met(None));
    }

    #[test]
    fn the_worst_output_counts() {
        let tensor = |values: &[f32]| Tensor::from_f32(vec![2], values).unwrap();
        let (good, bad, reference) = (tensor(&[1.0, 0.0]), tensor(&[0.0, 1.0]), tensor(&[1.0, 0.0]));
        let worst = Metric::Cosine.of(&[good.clone(), bad.clone()], &[reference.clone(), reference.clone()]);
        assert_eq!(worst, Some(0.0));
        let worst = Metric::RelativeError.of(&[good, bad], &[reference.clone(), reference]).unwrap();
        assert!((worst - 2f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_mean_can_be_met_as_long_as_the_best_values_would_do() {
        let target: Target = "cosine >= 0.9".parse().unwrap();
        assert!(target.can_be_met(&[0.61], 4) && !target.can_be_met(&[0.59], 4));
        let target: Target = "relative_error <= 0.1".parse().unwrap();
        assert!(target.can_be_met(&[0.39], 4) && !target.can_be_met(&[0.41], 4));
        let target: Target = "sqnr >= 40".parse().unwrap();
        // Half of the error of the first set: 3 dB more.
        assert!(target.can_be_met(&[37.1], 2) && !target.can_be_met(&[36.9], 2));
    }

    #[test]
    fn targets_are_read_as_they_are_written_and_other_texts_are_refused() {
        for text in ["cosine >= 0.9999", "relative_error <= 0.001", "argmax >= 1", "top5 >= 0.99", "sqnr >= 40"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["", "cosine", "cosine <= 1", "relative_error >= 1", "top0 >= 1", "cosine >= NaN", "mse <= 1"] {
            assert_eq!(text.parse::<Target>(), Err(InvalidTarget(text.to_owned())));
        }
    }
}
