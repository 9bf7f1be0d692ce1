//! The comparison of pairs of any types, one by one.

use crate::tensor::rounded;
use crate::{DType, Element, compared_in};

/// The sums over pairs. Squares, products and magnitudes count only pairs in which both elements are finite.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub count: u64,
    pub equal: u64,
    pub nan_mismatches: u64,
    pub infinite_mismatches: u64,
    /// NaN elements and infinite elements, of the tensor and of the reference.
    pub nan: [u64; 2],
    pub infinite: [u64; 2],
    pub compared: u64,
    pub with_relative: u64,
    pub squares: f64,
    pub product: f64,
    pub x_squares: f64,
    pub y_squares: f64,
    pub relative: f64,
    pub max_absolute: f64,
    pub max_relative: f64,
    pub max_reference: f64,
    pub excess: f64,
    pub max_ulp: u64,
}

impl Sums {
    pub fn add(&mut self, other: &Sums) {
        self.count += other.count;
        self.equal += other.equal;
        self.nan_mismatches += other.nan_mismatches;
        self.infinite_mismatches += other.infinite_mismatches;
        for side in 0..2 {
            self.nan[side] += other.nan[side];
            self.infinite[side] += other.infinite[side];
        }
        self.compared += other.compared;
        self.with_relative += other.with_relative;
        self.squares += other.squares;
        self.product += other.product;
        self.x_squares += other.x_squares;
        self.y_squares += other.y_squares;
        self.relative += other.relative;
        self.max_absolute = self.max_absolute.max(other.max_absolute);
        self.max_relative = self.max_relative.max(other.max_relative);
        self.max_reference = self.max_reference.max(other.max_reference);
        self.excess = self.excess.max(other.excess);
        self.max_ulp = self.max_ulp.max(other.max_ulp);
    }

    fn pair(&mut self, x: f64, y: f64, relative: f64) {
        self.equal += u64::from(x == y || (x.is_nan() && y.is_nan()));
        for (side, element) in [x, y].into_iter().enumerate() {
            self.nan[side] += u64::from(element.is_nan());
            self.infinite[side] += u64::from(element.is_infinite());
        }
        if x.is_nan() || y.is_nan() {
            self.nan_mismatches += u64::from(x.is_nan() != y.is_nan());
            return;
        }
        if x.is_infinite() || y.is_infinite() {
            self.infinite_mismatches += u64::from(x != y);
            return;
        }
        let difference = (x - y).abs();
        self.compared += 1;
        self.squares += difference * difference;
        self.product += x * y;
        self.x_squares += x * x;
        self.y_squares += y * y;
        self.max_absolute = self.max_absolute.max(difference);
        self.max_reference = self.max_reference.max(y.abs());
        self.excess = self.excess.max(difference - relative * y.abs());
        if y.abs() > f64::EPSILON {
            self.with_relative += 1;
            self.relative += difference / y.abs();
            self.max_relative = self.max_relative.max(difference / y.abs());
        }
    }
}

/// Returns whether the distance of two numbers of a type is counted in representable numbers of that type.
pub(super) fn has_ulp(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::Bf16 | DType::F32 | DType::F64)
}

/// Returns the sums of the first `pairs` pairs. A complex number counts as one pair.
pub(super) fn sums(tensor: (DType, &[u8]), reference: (DType, &[u8]), pairs: usize, relative: f64) -> Sums {
    let mut sums = Sums { count: pairs as u64, ..Sums::default() };
    let same = tensor.0 == reference.0;
    let common = compared_in(tensor.0, reference.0);
    let rounds = !same && tensor.0.is_float() && reference.0.is_float();
    for index in 0..pairs {
        let (x, y) = (Element::at(tensor.0, tensor.1, index), Element::at(reference.0, reference.1, index));
        let (Some(x), Some(y)) = (x, y) else { break };
        match (x, y) {
            // Compared as integers, because doubles cannot tell integers beyond 2^53 apart.
            (Element::Int(a), Element::Int(b)) if a != b => {
                unequal(&mut sums, a as f64, b as f64, a.abs_diff(b), relative)
            }
            (Element::UInt(a), Element::UInt(b)) if a != b => {
                unequal(&mut sums, a as f64, b as f64, a.abs_diff(b), relative);
            }
            (Element::Complex(a, b), Element::Complex(c, d)) => {
                let equal = sums.equal;
                sums.pair(a, c, relative);
                sums.pair(b, d, relative);
                sums.equal = equal + u64::from(sums.equal == equal + 2);
            }
            _ => {
                if let (Some(x), Some(y)) = (x.to_f64(), y.to_f64()) {
                    let (x, y) = if rounds { (rounded(common, x), rounded(common, y)) } else { (x, y) };
                    sums.pair(x, y, relative);
                }
            }
        }
        if same && has_ulp(tensor.0) {
            sums.max_ulp = sums.max_ulp.max(ulp(tensor.0, x, y));
        }
    }
    sums
}

/// Adds a pair of integers that differ, even if they are equal as doubles.
fn unequal(sums: &mut Sums, x: f64, y: f64, apart: u64, relative: f64) {
    let equal = sums.equal;
    sums.pair(x, y, relative);
    sums.equal = equal;
    sums.max_absolute = sums.max_absolute.max(apart as f64);
    sums.excess = sums.excess.max(apart as f64 - relative * y.abs());
}

fn ulp(dtype: DType, x: Element, y: Element) -> u64 {
    match (x, y) {
        (Element::F32(x), Element::F32(y)) if x.is_finite() && y.is_finite() => {
            let place = |value: f32| match dtype {
                DType::F16 => ordered(u64::from(half::f16::from_f32(value).to_bits()), 16),
                DType::Bf16 => ordered(u64::from(half::bf16::from_f32(value).to_bits()), 16),
                _ => ordered(u64::from(value.to_bits()), 32),
            };
            place(x).abs_diff(place(y))
        }
        (Element::F64(x), Element::F64(y)) if x.is_finite() && y.is_finite() => {
            ordered(x.to_bits(), 64).abs_diff(ordered(y.to_bits(), 64))
        }
        _ => 0,
    }
}

/// Returns the rank of a number in the order of all numbers of its type. The bits of a number are a sign and a
/// magnitude.
fn ordered(bits: u64, width: u32) -> i64 {
    let magnitude = (bits & !(1 << (width - 1))).cast_signed();
    if bits >> (width - 1) == 1 { -magnitude } else { magnitude }
}
