mod float32;
mod scalar;

use crate::{DType, TensorError};
use scalar::Sums;

/// How far a tensor is from a reference.
///
/// If the types are two different floating-point types, numbers are first rounded to [the coarser
/// one](crate::compared_in). Pairs in which an element is not finite do not enter the sums; if the two differ, they
/// count as mismatches. In the formulas, `x` is an element of the tensor and `y` one of the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The number of pairs.
    pub count: u64,
    /// Pairs that are equal, bit by bit or as numbers.
    pub equal: u64,
    /// Pairs in which exactly one element is NaN.
    pub nan_mismatches: u64,
    /// Pairs in which one element is infinite and the other differs from it, but neither is NaN.
    pub infinite_mismatches: u64,
    /// NaN elements of the tensor and of the reference.
    pub nan: [u64; 2],
    /// Infinite elements of the tensor and of the reference.
    pub infinite: [u64; 2],
    /// The cosine of the angle between the two tensors as vectors: 1 if both are zero, `None` if only one is.
    pub cosine: Option<f64>,
    /// max |x - y|.
    pub max_absolute: f64,
    /// max |x - y| / |y|, over pairs with |y| above the rounding unit of double precision (2.2e-16).
    pub max_relative: f64,
    /// The mean of |x - y| / |y| over these pairs.
    pub mean_relative: f64,
    /// The root of the mean of (x - y)².
    pub rmse: f64,
    /// The ratio of the reference to the error, in decibels: 10 log10(Σ y² / Σ (x - y)²). Infinite if no pair differs,
    /// `None` if the reference is zero and the tensor is not.
    pub sqnr: Option<f64>,
    /// The largest distance between x and y, counted in representable numbers of the type (units in the last place).
    /// `None` for integers, and if the two types differ.
    pub max_ulp: Option<u64>,
    /// max |y|.
    pub max_reference: f64,
    /// max (|x - y| - r |y|) with the relative tolerance r: what the absolute tolerance must cover.
    pub excess: f64,
}

/// How far apart two numbers may be: |x - y| <= absolute + relative |y| + of_max max|y|.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// An absolute distance.
    pub absolute: f64,
    /// A fraction of the reference's element.
    pub relative: f64,
    /// A fraction of the reference's largest magnitude. Sums of many terms have errors of this size near zero.
    pub of_max: f64,
}

impl Tolerance {
    /// No tolerance at all.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0, of_max: 0.0 };

    /// Returns the default tolerance for a type. It covers the difference between two correct implementations of the
    /// same operators: a few hundred rounding units of the type, and zero for integers.
    pub fn of(dtype: DType) -> Self {
        let floats = |absolute, relative, of_max| Self { absolute, relative, of_max };
        match dtype {
            DType::F32 | DType::Complex64 => floats(1e-7, 1e-4, 5e-5),
            DType::F64 | DType::Complex128 => floats(1e-14, 1e-9, 1e-9),
            DType::F16 => floats(1e-4, 1e-2, 2e-3),
            DType::Bf16 => floats(1e-3, 5e-2, 1e-2),
            DType::F8E4M3Fn | DType::F8E4M3FnUz | DType::F8E5M2 | DType::F8E5M2FnUz | DType::F4E2M1 => {
                floats(1e-2, 0.25, 0.1)
            }
            DType::Bool | DType::String => Self::EXACT,
            DType::U4 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => Self::EXACT,
            DType::I4 | DType::I8 | DType::I16 | DType::I32 | DType::I64 => Self::EXACT,
        }
    }
}

impl Difference {
    /// Returns the number of pairs in which one element is NaN or infinite and the other differs from it.
    pub fn mismatches(&self) -> u64 {
        self.nan_mismatches + self.infinite_mismatches
    }

    /// Returns whether the tensor is equal to the reference within a tolerance. Its relative tolerance must be the one
    /// that the difference was computed with.
    pub fn is_within(&self, tolerance: &Tolerance) -> bool {
        self.mismatches() == 0 && self.excess <= tolerance.absolute + tolerance.of_max * self.max_reference
    }
}

/// Computes the difference of two tensors that arrive in pieces.
pub struct DifferenceAccumulator {
    types: (DType, DType),
    relative: f64,
    elements: u64,
    sums: Sums,
}

/// The number of pairs that are compared together.
const BLOCK_ELEMENTS: usize = 4096;

impl DifferenceAccumulator {
    /// Creates an accumulator for a tensor and a reference of these types and of `elements` elements each, with a
    /// relative tolerance.
    ///
    /// # Errors
    /// Returns an error if a type has no byte form.
    pub fn new(tensor: DType, reference: DType, elements: usize, relative: f64) -> Result<Self, TensorError> {
        for dtype in [tensor, reference] {
            if dtype == DType::String {
                return Err(TensorError::NoBytes(dtype));
            }
        }
        let types = (tensor, reference);
        Ok(Self { types, relative, elements: elements as u64, sums: Sums::default() })
    }

    /// Adds the next elements of both tensors. Both pieces have the same number of elements, and whole bytes of 4-bit
    /// types.
    pub fn update(&mut self, tensor: &[u8], reference: &[u8]) {
        let (left, right) = self.types;
        let (Some(left_block), Some(right_block)) = (left.bytes_of(BLOCK_ELEMENTS), right.bytes_of(BLOCK_ELEMENTS))
        else {
            return;
        };
        for (x, y) in tensor.chunks(left_block).zip(reference.chunks(right_block)) {
            let pairs = elements(left, x).min(elements(right, y));
            // The last byte of a 4-bit type may hold only one element.
            let pairs = pairs.min(self.elements.saturating_sub(self.sums.count) as usize);
            let fast = match self.types {
                (DType::F32, DType::F32) => float32::sums(x, y, self.relative),
                _ => None,
            };
            let sums = fast.unwrap_or_else(|| scalar::sums((left, x), (right, y), pairs, self.relative));
            self.sums.add(&sums);
        }
    }

    /// Returns the difference of all pairs that were added.
    pub fn finish(self) -> Difference {
        let sums = &self.sums;
        let comparable = sums.compared.max(1) as f64;
        let cosine = match (sums.x_squares > 0.0, sums.y_squares > 0.0) {
            (true, true) => Some((sums.product / (sums.x_squares.sqrt() * sums.y_squares.sqrt())).clamp(-1.0, 1.0)),
            (false, false) => Some(1.0),
            _ => None,
        };
        Difference {
            count: sums.count,
            equal: sums.equal,
            nan_mismatches: sums.nan_mismatches,
            infinite_mismatches: sums.infinite_mismatches,
            nan: sums.nan,
            infinite: sums.infinite,
            cosine: cosine.filter(|cosine| !cosine.is_nan()),
            max_absolute: sums.max_absolute,
            max_relative: sums.max_relative,
            mean_relative: sums.relative / sums.with_relative.max(1) as f64,
            rmse: (sums.squares / comparable).sqrt(),
            sqnr: match (sums.squares > 0.0, sums.y_squares > 0.0) {
                (false, _) => Some(f64::INFINITY),
                (true, true) => Some(10.0 * (sums.y_squares / sums.squares).log10()),
                (true, false) => None,
            },
            max_ulp: (self.types.0 == self.types.1 && scalar::has_ulp(self.types.0)).then_some(sums.max_ulp),
            max_reference: sums.max_reference,
            excess: sums.excess,
        }
    }
}

/// Returns the number of elements that fit into `bytes`.
fn elements(dtype: DType, bytes: &[u8]) -> usize {
    dtype.size().map_or(bytes.len() * 2, |size| bytes.len() / size)
}
