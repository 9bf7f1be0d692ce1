//! The moments of one block of elements. The loops are plain, and `pulp` compiles them for the machine's widest
//! vectors.

use pulp::{Arch, Simd, WithSimd};
use zerocopy::IntoBytes;

use super::Moments;
use crate::groups::{STEP, each_group};
use crate::{DType, Element};

/// The numbers of partial sums and extremes, which the compiler turns into vectors. These widths were by far the
/// fastest, both with vectors of eight doubles and with smaller ones.
const WIDE_SUM_LANES: usize = 32;
const SUM_LANES: usize = 16;
const EXTREME_LANES: usize = 32;

/// Returns the moments of a block of at most `left` elements. The first block with a finite element chooses `shift`.
/// `after` is called with all bytes of the block, a few at a time, just after they were counted. Its second argument is
/// whether more bytes of the block follow.
pub(super) fn moments(
    dtype: DType,
    block: &[u8],
    left: u64,
    shift: &mut Option<f64>,
    mut after: impl FnMut(&[u8], bool),
) -> Moments {
    match dtype {
        DType::F32 => numbers::<f32, 4>(block, shift, after),
        DType::F64 => numbers::<f64, 8>(block, shift, after),
        DType::U8 | DType::Bool => numbers::<u8, 1>(block, shift, after),
        DType::I8 => numbers::<i8, 1>(block, shift, after),
        DType::U16 => numbers::<u16, 2>(block, shift, after),
        DType::I16 => numbers::<i16, 2>(block, shift, after),
        DType::U32 => numbers::<u32, 4>(block, shift, after),
        DType::I32 => numbers::<i32, 4>(block, shift, after),
        DType::U64 => numbers::<u64, 8>(block, shift, after),
        DType::I64 => numbers::<i64, 8>(block, shift, after),
        DType::Bf16 => numbers::<WideBf16, 2>(block, shift, after),
        DType::F16 => numbers::<WideF16, 2>(block, shift, after),
        _ => {
            after(block, false);
            others(dtype, block, left, shift)
        }
    }
}

/// Counts elements of the types without a fast path.
fn others(dtype: DType, block: &[u8], left: u64, shift: &mut Option<f64>) -> Moments {
    match dtype {
        DType::Complex64 | DType::Complex128 => complex(dtype, block, shift),
        _ => widened(shift, |wide| {
            let elements = (0..).map_while(|index| Element::at(dtype, block, index)).filter_map(Element::to_f64);
            wide.extend(elements.map(|value| value as f32).take(usize::try_from(left).unwrap_or(usize::MAX)));
        }),
    }
}

/// Chooses the shift of a tensor whose blocks are counted by several threads.
pub(super) fn choose_shift(dtype: DType, bytes: &[u8], shift: &mut Option<f64>) {
    let Some(size) = dtype.size() else { return };
    let first = || {
        let finite = |element: Element| element.to_f64().filter(|value| value.is_finite());
        (0..bytes.len() / size).find_map(|index| Element::at(dtype, bytes, index).and_then(finite))
    };
    // Elements that are counted as `f32` need no shift.
    let shifted = matches!(dtype, DType::F64) || !(dtype.is_float() || dtype.is_complex() || dtype.is_small_float());
    *shift = if shifted { shift.or_else(first) } else { Some(0.0) };
}

/// Counts elements that are first widened to `f32`.
fn widened(shift: &mut Option<f64>, widen: impl Fn(&mut Vec<f32>)) -> Moments {
    let mut wide = Vec::new();
    widen(&mut wide);
    // Blocks are always little-endian.
    wide.iter_mut().for_each(|value| *value = f32::from_bits(value.to_bits().to_le()));
    numbers::<f32, 4>(wide.as_bytes(), shift, |_, _| ())
}

fn numbers<T: Number<SIZE>, const SIZE: usize>(
    block: &[u8],
    shift: &mut Option<f64>,
    mut after: impl FnMut(&[u8], bool),
) -> Moments {
    let (elements, _) = block.as_chunks::<SIZE>();
    let first = || elements.iter().map(|&bytes| T::decode(bytes).to_f64()).find(|value| value.is_finite());
    *shift = if T::SHIFTED { shift.or_else(first) } else { Some(0.0) };
    let shift = shift.unwrap_or(0.0);
    let (arch, mut lanes) = (Arch::new(), Lanes::<T, SIZE>::new());
    let mut steps = block.chunks(STEP);
    while let Some(step) = steps.next() {
        arch.dispatch(Step { elements: step.as_chunks::<SIZE>().0, shift, lanes: &mut lanes });
        after(step, steps.len() > 0);
    }
    // NaN and infinity make the sum of squares infinite or NaN. So the check costs nothing for tensors without them.
    match lanes.squares.iter().sum::<f64>().is_finite() {
        true => lanes.moments(elements.len()),
        false => any::<T, SIZE>(elements, shift),
    }
}

/// Partial sums, extremes and zeros, under the assumption that all elements are finite.
struct Lanes<T, const SIZE: usize> {
    sum: [f64; WIDE_SUM_LANES],
    squares: [f64; WIDE_SUM_LANES],
    min: [T; EXTREME_LANES],
    max: [T; EXTREME_LANES],
    zeros: [u32; EXTREME_LANES],
}

impl<T: Number<SIZE>, const SIZE: usize> Lanes<T, SIZE> {
    fn new() -> Self {
        let (sum, squares) = ([0.0; WIDE_SUM_LANES], [0.0; WIDE_SUM_LANES]);
        let (min, max) = ([T::LARGEST; EXTREME_LANES], [T::SMALLEST; EXTREME_LANES]);
        Self { sum, squares, min, max, zeros: [0; EXTREME_LANES] }
    }

    fn moments(&self, count: usize) -> Moments {
        let mut moments = Moments { count: count as u64, ..Moments::default() };
        if count > 0 {
            moments.sum = self.sum.iter().sum();
            moments.squares = self.squares.iter().sum();
            moments.min = self.min.iter().fold(moments.min, |min, value| min.min(value.to_f64()));
            moments.max = self.max.iter().fold(moments.max, |max, value| max.max(value.to_f64()));
            moments.zeros = self.zeros.iter().map(|&zeros| u64::from(zeros)).sum();
        }
        moments
    }
}

/// Counts elements in two passes, because a single pass would need more vector registers than there are.
struct Step<'a, T, const SIZE: usize> {
    elements: &'a [[u8; SIZE]],
    shift: f64,
    lanes: &'a mut Lanes<T, SIZE>,
}

impl<T: Number<SIZE>, const SIZE: usize> WithSimd for Step<'_, T, SIZE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _simd: S) {
        match S::F64_LANES {
            8.. => self.sums::<S, WIDE_SUM_LANES>(),
            _ => self.sums::<S, SUM_LANES>(),
        }
        self.extremes();
    }
}

impl<T: Number<SIZE>, const SIZE: usize> Step<'_, T, SIZE> {
    #[inline(always)]
    fn sums<S: Simd, const LANES: usize>(&mut self) {
        let shift = self.shift;
        let difference = |bytes| {
            let value = T::decode(bytes).to_f64();
            if T::SHIFTED { value - shift } else { value }
        };
        let kept = self.lanes.sum.first_chunk_mut::<LANES>().zip(self.lanes.squares.first_chunk_mut::<LANES>());
        let (kept_sum, kept_squares) = kept.expect("no width is wider");
        let (mut sum, mut squares) = (*kept_sum, *kept_squares);
        let rest = each_group::<_, LANES>(self.elements, |group| {
            for lane in 0..LANES {
                let difference = difference(group[lane]);
                sum[lane] += difference;
                // Without vectors, `mul_add` is a slow function instead of an instruction.
                squares[lane] = match S::IS_SCALAR {
                    true => difference * difference + squares[lane],
                    false => difference.mul_add(difference, squares[lane]),
                };
            }
        });
        (*kept_sum, *kept_squares) = (sum, squares);
        for (&bytes, (sum, squares)) in rest.iter().zip(kept_sum.iter_mut().zip(kept_squares)) {
            let difference = difference(bytes);
            *sum += difference;
            *squares += difference * difference;
        }
    }

    #[inline(always)]
    fn extremes(&mut self) {
        let Lanes { mut min, mut max, mut zeros, .. } = *self.lanes;
        let (groups, rest) = self.elements.as_chunks::<EXTREME_LANES>();
        for group in groups {
            for lane in 0..EXTREME_LANES {
                let value = T::decode(group[lane]);
                min[lane] = if value < min[lane] { value } else { min[lane] };
                max[lane] = if value > max[lane] { value } else { max[lane] };
                zeros[lane] += u32::from(value == T::ZERO);
            }
        }
        let kept = &mut *self.lanes;
        (kept.min, kept.max, kept.zeros) = (min, max, zeros);
        for (lane, value) in rest.iter().map(|&bytes| T::decode(bytes)).enumerate() {
            kept.min[lane] = if value < kept.min[lane] { value } else { kept.min[lane] };
            kept.max[lane] = if value > kept.max[lane] { value } else { kept.max[lane] };
            kept.zeros[lane] += u32::from(value == T::ZERO);
        }
    }
}

/// Counts the moments of elements, some of which may not be finite.
#[inline(always)]
fn any<T: Number<SIZE>, const SIZE: usize>(elements: &[[u8; SIZE]], shift: f64) -> Moments {
    let mut moments = Moments { count: elements.len() as u64, ..Moments::default() };
    for value in elements.iter().map(|&bytes| T::decode(bytes).to_f64()) {
        let finite = value.is_finite();
        moments.nan += u64::from(value.is_nan());
        moments.positive_infinite += u64::from(value == f64::INFINITY);
        moments.negative_infinite += u64::from(value == f64::NEG_INFINITY);
        moments.zeros += u64::from(value == 0.0);
        let difference = if finite { value - shift } else { 0.0 };
        moments.sum += difference;
        moments.squares += difference * difference;
        moments.min = if finite { moments.min.min(value) } else { moments.min };
        moments.max = if finite { moments.max.max(value) } else { moments.max };
    }
    moments
}

/// Counts complex numbers. They have no order and no mean here, so only the squares of their magnitudes are summed.
fn complex(dtype: DType, block: &[u8], shift: &mut Option<f64>) -> Moments {
    *shift = Some(0.0);
    let mut moments = Moments::default();
    for element in (0..).map_while(|index| Element::at(dtype, block, index)) {
        let Element::Complex(re, im) = element else { unreachable!("{dtype} has complex elements") };
        moments.count += 1;
        if re.is_nan() || im.is_nan() {
            moments.nan += 1;
        } else if re.is_infinite() || im.is_infinite() {
            moments.positive_infinite += 1;
        } else {
            moments.zeros += u64::from(re == 0.0 && im == 0.0);
            moments.squares += re * re + im * im;
        }
    }
    moments
}

/// A number as it is stored in a tensor.
trait Number<const SIZE: usize>: Copy + PartialOrd {
    const ZERO: Self;
    const LARGEST: Self;
    const SMALLEST: Self;

    /// Whether sums need the shift. They do not for `f32` and smaller floats, whose squares are exact in double
    /// precision.
    const SHIFTED: bool;

    /// Decodes a number from little-endian bytes.
    fn decode(bytes: [u8; SIZE]) -> Self;

    fn to_f64(self) -> f64;
}

/// A bfloat16: the upper half of an `f32`.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct WideBf16(f32);

impl Number<2> for WideBf16 {
    const ZERO: Self = Self(0.0);
    const LARGEST: Self = Self(f32::INFINITY);
    const SMALLEST: Self = Self(f32::NEG_INFINITY);
    const SHIFTED: bool = false;

    #[inline(always)]
    fn decode(bytes: [u8; 2]) -> Self {
        Self(f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16))
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
}

/// A float16, which is widened by arithmetic that the compiler turns into vectors.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct WideF16(f32);

impl Number<2> for WideF16 {
    const ZERO: Self = Self(0.0);
    const LARGEST: Self = Self(f32::INFINITY);
    const SMALLEST: Self = Self(f32::NEG_INFINITY);
    const SHIFTED: bool = false;

    #[inline(always)]
    fn decode(bytes: [u8; 2]) -> Self {
        /// 2^(127 - 15), the difference between the biases of the exponents. The product is exact, even for subnormal
        /// numbers.
        const SCALE: f32 = f32::from_bits((127 + 127 - 15) << 23);
        let bits = u32::from(u16::from_le_bytes(bytes));
        let magnitude = bits & 0x7fff;
        let scaled = (f32::from_bits(magnitude << 13) * SCALE).to_bits();
        // In both formats infinity and NaN have the highest exponent.
        let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
        Self(f32::from_bits(scaled | special | (bits & 0x8000) << 16))
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
}

macro_rules! number {
    ($($type:ident $size:literal $largest:expr, $smallest:expr, $shifted:literal;)*) => {$(
        impl Number<$size> for $type {
            const ZERO: Self = 0 as $type;
            const LARGEST: Self = $largest;
            const SMALLEST: Self = $smallest;
            const SHIFTED: bool = $shifted;

            #[inline(always)]
            fn decode(bytes: [u8; $size]) -> Self {
                $type::from_le_bytes(bytes)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

number! {
    f32 4 f32::INFINITY, f32::NEG_INFINITY, false;
    f64 8 f64::INFINITY, f64::NEG_INFINITY, true;
    u8 1 u8::MAX, u8::MIN, true;
    i8 1 i8::MAX, i8::MIN, true;
    u16 2 u16::MAX, u16::MIN, true;
    i16 2 i16::MAX, i16::MIN, true;
    u32 4 u32::MAX, u32::MIN, true;
    i32 4 i32::MAX, i32::MIN, true;
    u64 8 u64::MAX, u64::MIN, true;
    i64 8 i64::MAX, i64::MIN, true;
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn every_float16_is_widened_to_its_value() {
        for bits in 0..=u16::MAX {
            let (found, expected) = (WideF16::decode(bits.to_le_bytes()).0, f16::from_bits(bits).to_f32());
            assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{bits:#x}");
        }
    }
}
