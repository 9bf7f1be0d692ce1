//! One block of elements. The loops are plain; `pulp` compiles them once more for the machine's widest vectors.

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::Arch;

use super::moments::Moments;
use crate::{DType, Element};

/// Sums that are kept side by side. The compiler turns them into vectors.
const LANES: usize = 16;

/// The moments of a block of at most `left` elements. `shift` is chosen by the first block with a finite element.
pub(super) fn moments(dtype: DType, block: &[u8], left: u64, shift: &mut Option<f64>) -> Moments {
    match dtype {
        DType::F32 => numbers::<f32, 4>(block, shift),
        DType::F64 => numbers::<f64, 8>(block, shift),
        DType::U8 | DType::Bool => numbers::<u8, 1>(block, shift),
        DType::I8 => numbers::<i8, 1>(block, shift),
        DType::U16 => numbers::<u16, 2>(block, shift),
        DType::I16 => numbers::<i16, 2>(block, shift),
        DType::U32 => numbers::<u32, 4>(block, shift),
        DType::I32 => numbers::<i32, 4>(block, shift),
        DType::U64 => numbers::<u64, 8>(block, shift),
        DType::I64 => numbers::<i64, 8>(block, shift),
        DType::F16 => widened(block, shift, |half, wide| {
            let halves: Vec<f16> = half.chunks_exact(2).map(|two| f16::from_le_bytes([two[0], two[1]])).collect();
            wide.resize(halves.len(), 0.0);
            halves.convert_to_f32_slice(wide);
        }),
        DType::Bf16 => widened(block, shift, |half, wide| {
            wide.extend(half.chunks_exact(2).map(|two| f32::from_le_bytes([0, 0, two[0], two[1]])));
        }),
        DType::Complex64 | DType::Complex128 => complex(dtype, block, shift),
        _ => widened(block, shift, |bytes, wide| {
            let elements = (0..).map_while(|index| Element::at(dtype, bytes, index)).filter_map(Element::to_f64);
            wide.extend(elements.map(|value| value as f32).take(usize::try_from(left).unwrap_or(usize::MAX)));
        }),
    }
}

/// Elements that are counted as `f32`.
fn widened(block: &[u8], shift: &mut Option<f64>, widen: impl Fn(&[u8], &mut Vec<f32>)) -> Moments {
    let mut wide = Vec::with_capacity(block.len() * 2);
    widen(block, &mut wide);
    let bytes: Vec<u8> = wide.iter().flat_map(|value| value.to_le_bytes()).collect();
    numbers::<f32, 4>(&bytes, shift)
}

fn numbers<T: Number<SIZE>, const SIZE: usize>(block: &[u8], shift: &mut Option<f64>) -> Moments {
    let chosen = shift.or_else(|| {
        let mut values = block.chunks_exact(SIZE).map(|bytes| T::decode(bytes).to_f64());
        values.find(|value| value.is_finite())
    });
    *shift = chosen;
    let arch = Arch::new();
    let finite = arch.dispatch(|| all_finite::<T, SIZE>(block, chosen.unwrap_or(0.0)));
    // A sum of squares that is not finite is how NaN and infinity show, at no cost to those who have none.
    if finite.squares.is_finite() { finite } else { any::<T, SIZE>(block, chosen.unwrap_or(0.0)) }
}

/// Moments if all elements are finite; otherwise `squares` is not.
#[inline(always)]
fn all_finite<T: Number<SIZE>, const SIZE: usize>(block: &[u8], shift: f64) -> Moments {
    let (mut sum, mut squares) = ([0f64; LANES], [0f64; LANES]);
    let (mut min, mut max) = ([T::LARGEST; LANES], [T::SMALLEST; LANES]);
    let mut zeros = [0u32; LANES];
    let mut groups = block.chunks_exact(LANES * SIZE);
    for group in &mut groups {
        for lane in 0..LANES {
            let value = T::decode(&group[lane * SIZE..(lane + 1) * SIZE]);
            let difference = value.to_f64() - shift;
            sum[lane] += difference;
            squares[lane] += difference * difference;
            min[lane] = if value < min[lane] { value } else { min[lane] };
            max[lane] = if value > max[lane] { value } else { max[lane] };
            zeros[lane] += u32::from(value == T::ZERO);
        }
    }
    let mut all = any::<T, SIZE>(groups.remainder(), shift);
    if all.nan + all.positive_infinite + all.negative_infinite > 0 {
        all.squares = f64::NAN;
    }
    let grouped = (block.len() - groups.remainder().len()) / SIZE;
    if grouped == 0 {
        return all;
    }
    all.count += grouped as u64;
    for lane in 0..LANES {
        all.sum += sum[lane];
        all.squares += squares[lane];
        all.min = all.min.min(min[lane].to_f64());
        all.max = all.max.max(max[lane].to_f64());
        all.zeros += u64::from(zeros[lane]);
    }
    all
}

/// Moments whatever the elements are.
#[inline(always)]
fn any<T: Number<SIZE>, const SIZE: usize>(block: &[u8], shift: f64) -> Moments {
    let mut moments = Moments { count: (block.len() / SIZE) as u64, ..Moments::default() };
    for value in block.chunks_exact(SIZE).map(|bytes| T::decode(bytes).to_f64()) {
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

/// Complex numbers have no order and no mean here: only the squares of their magnitudes are summed.
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

/// A number as it lies in a tensor.
trait Number<const SIZE: usize>: Copy + PartialOrd {
    const ZERO: Self;
    const LARGEST: Self;
    const SMALLEST: Self;

    /// From exactly `SIZE` little-endian bytes.
    fn decode(bytes: &[u8]) -> Self;

    fn to_f64(self) -> f64;
}

macro_rules! number {
    ($($type:ident $size:literal $largest:expr, $smallest:expr;)*) => {$(
        impl Number<$size> for $type {
            const ZERO: Self = 0 as $type;
            const LARGEST: Self = $largest;
            const SMALLEST: Self = $smallest;

            #[inline(always)]
            fn decode(bytes: &[u8]) -> Self {
                $type::from_le_bytes(bytes.try_into().expect("blocks are cut into elements"))
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

number! {
    f32 4 f32::INFINITY, f32::NEG_INFINITY;
    f64 8 f64::INFINITY, f64::NEG_INFINITY;
    u8 1 u8::MAX, u8::MIN;
    i8 1 i8::MAX, i8::MIN;
    u16 2 u16::MAX, u16::MIN;
    i16 2 i16::MAX, i16::MIN;
    u32 4 u32::MAX, u32::MIN;
    i32 4 i32::MAX, i32::MIN;
    u64 8 u64::MAX, u64::MIN;
    i64 8 i64::MAX, i64::MIN;
}
