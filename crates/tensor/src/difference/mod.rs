mod float32;
mod scalar;

use crate::{DType, TensorError};
use scalar::Sums;

/// How far a tensor is from a reference, in numbers.
///
/// Numbers of two floating-point types are compared [in the coarser one](crate::compared_in): the others are rounded first.
/// Pairs of which one or both are not finite are left out of the sums; where they are not the same they are counted as
/// mismatches. With `x` of the tensor and `y` of the reference:
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// All pairs.
    pub count: u64,
    /// Pairs that are equal to the last bit, or as numbers.
    pub equal: u64,
    /// Pairs of which exactly one is NaN.
    pub nan_mismatches: u64,
    /// Pairs of which one is infinite and the other is something else, NaN apart.
    pub infinite_mismatches: u64,
    /// Elements that are NaN: of the tensor and of the reference.
    pub nan: [u64; 2],
    /// Elements that are infinite: of the tensor and of the reference.
    pub infinite: [u64; 2],
    /// The cosine of the angle between the two as vectors: 1 where both are zero, none where one is.
    pub cosine: Option<f64>,
    /// max |x - y|.
    pub max_absolute: f64,
    /// max |x - y| / |y|, over pairs with |y| above the rounding unit of double precision (2.2e-16).
    pub max_relative: f64,
    /// The mean of |x - y| / |y| over these pairs.
    pub mean_relative: f64,
    /// The root of the mean of (x - y)².
    pub rmse: f64,
    /// The most numbers of the type that lie between x and y; none for types without it (integers, and where the two
    /// types differ).
    pub max_ulp: Option<u64>,
    /// max |y|.
    pub max_reference: f64,
    /// max (|x - y| - r |y|) with the relative tolerance r: what an absolute tolerance has to cover.
    pub excess: f64,
}

/// How far apart two numbers may be: |x - y| <= absolute + relative |y| + of_max max|y|.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// A number.
    pub absolute: f64,
    /// A share of the reference's element.
    pub relative: f64,
    /// A share of the reference's largest magnitude. Sums of many terms err by this much near zero.
    pub of_max: f64,
}

impl Tolerance {
    /// None at all.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0, of_max: 0.0 };

    /// What two correct implementations of the same operators are apart: a few hundred rounding units of the type, and
    /// nothing for integers.
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
            _ => Self::EXACT,
        }
    }
}

impl Difference {
    /// Pairs of which one element is NaN or infinite and the other is not the same.
    pub fn mismatches(&self) -> u64 {
        self.nan_mismatches + self.infinite_mismatches
    }

    /// Whether the tensor is the reference as far as a tolerance asks. It must be the tolerance that the difference was
    /// taken with.
    pub fn is_within(&self, tolerance: &Tolerance) -> bool {
        self.mismatches() == 0 && self.excess <= tolerance.absolute + tolerance.of_max * self.max_reference
    }
}

/// The difference of two tensors that come in pieces.
pub struct DifferenceAccumulator {
    types: (DType, DType),
    relative: f64,
    elements: u64,
    sums: Sums,
}

/// Pairs that are compared together.
const BLOCK_ELEMENTS: usize = 4096;

impl DifferenceAccumulator {
    /// For a tensor and a reference of these types, of so many elements each, with a relative tolerance.
    ///
    /// # Errors
    /// When a type has no bytes.
    pub fn new(tensor: DType, reference: DType, elements: usize, relative: f64) -> Result<Self, TensorError> {
        for dtype in [tensor, reference] {
            if dtype == DType::String {
                return Err(TensorError::NoBytes(dtype));
            }
        }
        let types = (tensor, reference);
        Ok(Self { types, relative, elements: elements as u64, sums: Sums::default() })
    }

    /// Takes the next elements of both: as many of one as of the other, and whole bytes of 4-bit types.
    pub fn update(&mut self, tensor: &[u8], reference: &[u8]) {
        let (left, right) = self.types;
        let (Some(left_block), Some(right_block)) = (left.bytes_of(BLOCK_ELEMENTS), right.bytes_of(BLOCK_ELEMENTS))
        else {
            return;
        };
        for (x, y) in tensor.chunks(left_block).zip(reference.chunks(right_block)) {
            let pairs = elements(left, x).min(elements(right, y));
            // The last byte of a 4-bit type may hold one element only.
            let pairs = pairs.min(self.elements.saturating_sub(self.sums.count) as usize);
            let fast = match self.types {
                (DType::F32, DType::F32) => float32::sums(x, y, self.relative),
                _ => None,
            };
            let sums = fast.unwrap_or_else(|| scalar::sums((left, x), (right, y), pairs, self.relative));
            self.sums.add(&sums);
        }
    }

    /// The difference of all that was taken.
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
            max_ulp: (self.types.0 == self.types.1 && scalar::has_ulp(self.types.0)).then_some(sums.max_ulp),
            max_reference: sums.max_reference,
            excess: sums.excess,
        }
    }
}

/// How many elements have room in bytes.
fn elements(dtype: DType, bytes: &[u8]) -> usize {
    dtype.size().map_or(bytes.len() * 2, |size| bytes.len() / size)
}
