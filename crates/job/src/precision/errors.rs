//! What the narrower type does to single operators.

use std::fmt;

use opscope_tensor::DType;
use opscope_text::grouped;
use serde::Serialize;

use super::low_type::LowType;

/// How far the outputs of one operator are from the reference, if it alone computes in the narrower type.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OperatorError {
    /// Rounding the largest of its inputs that is not exact.
    pub input: Sums,
    /// Of its outputs before they are rounded.
    pub computed: Sums,
    /// Of its outputs after they are rounded.
    pub rounded: Sums,
    /// Elements of the outputs.
    pub elements: u64,
    /// Elements that are not finite, though those of the reference are.
    pub overflows: u64,
    /// Elements of inputs and outputs that are too small for the type and became zero, and all of them.
    pub underflows: [u64; 2],
    /// Numbers beyond the whole ones that the type has without gaps, which became others.
    pub lost_counts: u64,
    /// Whether outputs of the reference are not whole numbers.
    pub has_fractions: bool,
}

/// An operator's own error is more than rounding if it is this many rounding units.
const LARGE: f64 = 4.0;

/// Sums of squares.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    error: f64,
    reference: f64,
    has_lost: bool,
}

impl Sums {
    fn add(&mut self, number: f32, reference: f32) {
        if number == reference || (number.is_nan() && reference.is_nan()) {
            // Equal infinities have no difference.
            self.reference += if reference.is_finite() { f64::from(reference).powi(2) } else { 0.0 };
        } else if !number.is_finite() && reference.is_finite() {
            self.has_lost = true;
        } else if number.is_finite() && reference.is_finite() {
            self.error += (f64::from(number) - f64::from(reference)).powi(2);
            self.reference += f64::from(reference).powi(2);
        }
    }

    fn join(&mut self, other: &Self) {
        self.error += other.error;
        self.reference += other.reference;
        self.has_lost |= other.has_lost;
    }

    /// Returns √(Σ (x - y)² / Σ y²): infinite if an element is not finite that should be, or if only the reference is
    /// zero.
    pub fn relative(&self) -> f64 {
        match (self.has_lost, self.error > 0.0) {
            (true, _) => f64::INFINITY,
            (false, false) => 0.0,
            (false, true) => (self.error / self.reference).sqrt(),
        }
    }
}

impl OperatorError {
    /// Adds what was found at another kernel of the same operator.
    pub fn join(&mut self, other: &Self) {
        self.keep_largest(other.input);
        self.computed.join(&other.computed);
        self.rounded.join(&other.rounded);
        self.elements += other.elements;
        self.overflows += other.overflows;
        self.underflows = [0, 1].map(|part| self.underflows[part] + other.underflows[part]);
        self.lost_counts += other.lost_counts;
        self.has_fractions |= other.has_fractions;
    }

    /// Adds an input of the operator, and its rounded form. Both are little-endian float32.
    pub fn add_input(&mut self, input: &[u8], rounded: &[u8]) {
        let mut sums = Sums::default();
        for (rounded, input) in pairs(rounded, input) {
            sums.add(rounded, input);
            self.add_underflow(rounded == 0.0 && input != 0.0);
        }
        // What overflows here shows in the outputs.
        if !sums.has_lost && sums.error > 0.0 {
            self.keep_largest(sums);
        }
    }

    /// In a sum, the error of a small input says nothing about that of a large one.
    fn keep_largest(&mut self, input: Sums) {
        if input.reference > self.input.reference {
            self.input = input;
        }
    }

    /// Adds an output: as computed, rounded, and of the reference.
    pub fn add_output(&mut self, computed: &[u8], rounded: &[u8], reference: &[u8], dtype: DType) {
        let whole = if dtype == DType::Bf16 { 256.0 } else { 2048.0 };
        // Half of the smallest number of fp16. No number of float32 is too small for bf16 that is not for float32.
        let smallest = if dtype == DType::Bf16 { f32::MIN_POSITIVE } else { 2f32.powi(-25) };
        pairs(computed, reference).for_each(|(computed, reference)| self.computed.add(computed, reference));
        for (rounded, reference) in pairs(rounded, reference) {
            self.rounded.add(rounded, reference);
            self.elements += 1;
            self.overflows += u64::from(!rounded.is_finite() && reference.is_finite());
            self.add_underflow(rounded == 0.0 && reference != 0.0 && reference.abs() <= smallest);
            // From 2^23 on, every number is whole.
            self.has_fractions |= reference.fract() != 0.0 || reference.abs() >= 8_388_608.0;
            let is_count = reference.abs() > whole;
            self.lost_counts += u64::from(is_count && rounded.is_finite() && rounded != reference);
        }
    }

    /// Adds an output of the quantised operator, and that of the reference.
    pub fn add_quantised(&mut self, computed: &[u8], reference: &[u8]) {
        for (computed, reference) in pairs(computed, reference) {
            self.rounded.add(computed, reference);
            self.elements += 1;
        }
        self.computed = self.rounded;
    }

    fn add_underflow(&mut self, is_lost: bool) {
        self.underflows[0] += u64::from(is_lost);
        self.underflows[1] += 1;
    }

    /// Returns how much larger an error of the inputs is in the outputs. 1 if the inputs have no error.
    pub fn gain(&self) -> f64 {
        let (through, input) = (self.computed.relative(), self.input.relative());
        if input > 0.0 && through.is_finite() { through / input } else { 1.0 }
    }

    /// Returns why the error is larger than that of rounding, or `None` if it is not.
    pub fn cause(&self, low: LowType) -> Option<Cause> {
        let error = self.rounded.relative();
        let of = |count: u64| (count, self.elements);
        let is_common = |[count, all]: [u64; 2]| count * 1000 > all;
        let is_large = error > LARGE * low.rounding_unit();
        let Some(dtype) = low.float() else {
            return is_large.then_some(Cause::Quantisation(error));
        };
        Some(match is_large {
            _ if self.overflows > 0 => Cause::Overflow(of(self.overflows), dtype),
            _ if self.lost_counts > 0 && !self.has_fractions && is_common([self.lost_counts, self.elements]) => {
                Cause::Counts(of(self.lost_counts), dtype)
            }
            true if is_common(self.underflows) => Cause::Underflow(self.underflows.into(), dtype),
            true => Cause::Cancellation(error),
            false => return None,
        })
    }
}

fn pairs<'a>(ours: &'a [u8], theirs: &'a [u8]) -> impl Iterator<Item = (f32, f32)> + 'a {
    let numbers =
        |bytes: &'a [u8]| bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    numbers(ours).zip(numbers(theirs))
}

/// Why an operator must not compute in a narrower type. The counts are elements, of all elements of its outputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cause {
    /// Elements beyond the largest number of the type.
    Overflow((u64, u64), DType),
    /// Elements below the smallest number of the type.
    Underflow((u64, u64), DType),
    /// Whole numbers so large that the type has only every second one or fewer.
    Counts((u64, u64), DType),
    /// Integers of eight bits are too coarse: the relative error of the outputs.
    Quantisation(f64),
    /// A difference of close numbers, or another function that makes errors larger: the relative error of the outputs.
    Cancellation(f64),
}

impl Cause {
    /// Returns whether whole numbers become others.
    pub(super) fn is_of_counts(&self) -> bool {
        matches!(self, Self::Counts(..))
    }

    /// Returns the cause in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Overflow(..) => "overflow",
            Self::Underflow(..) => "underflow",
            Self::Counts(..) => "counts",
            Self::Quantisation(_) => "quantisation",
            Self::Cancellation(_) => "cancellation",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.word())?;
        let elements = |(count, all): (u64, u64)| format!("{} of {} elements", grouped(count), grouped(all));
        let is_bf16 = |dtype: DType| dtype == DType::Bf16;
        match *self {
            Self::Overflow(count, dtype) => {
                let largest = if is_bf16(dtype) { "3.39e38" } else { "65504" };
                write!(f, "{} exceed {largest} on the way or at the end", elements(count))
            }
            Self::Underflow(count, dtype) => {
                let least = if is_bf16(dtype) { "9e-41" } else { "6e-8" };
                write!(f, "{} are below {least} and become zero", elements(count))
            }
            Self::Counts(count, dtype) => {
                let whole = if is_bf16(dtype) { 256 } else { 2048 };
                write!(f, "{} are whole numbers above {whole} that become others", elements(count))
            }
            Self::Quantisation(error) => {
                write!(f, "with 256 steps for each tensor, what it gives has an error of {:.1} %", error * 100.0)
            }
            Self::Cancellation(error) => {
                write!(f, "rounding what it takes changes what it gives by {:.2} %", error * 100.0)
            }
        }
    }
}

impl Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
