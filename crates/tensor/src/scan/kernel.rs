//! The inner loops of a scan, one per question. The loops are plain, and `pulp` compiles them for the machine's widest
//! vectors.

use std::marker::PhantomData;

use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};

use super::bits::{Counter, Float, Integer};
use super::{Detail, Part, ScanQuery};
use crate::DType;
use crate::groups::each_group;

/// The number of extremes that are found side by side, which the compiler turns into vectors.
const LANES: usize = 64;

/// The scan of one step of elements, for one element type.
pub(super) struct Step {
    query: ScanQuery,
    arch: Arch,
    look: fn(&Self, &[u8], &mut Part),
}

impl Step {
    /// Returns `None` for types whose elements are scanned one by one.
    pub fn of(dtype: DType, query: ScanQuery) -> Option<Self> {
        let look = match dtype {
            DType::F16 => Self::floats::<f16, 2>,
            DType::Bf16 => Self::floats::<bf16, 2>,
            DType::F32 => Self::floats::<f32, 4>,
            DType::F64 => Self::floats::<f64, 8>,
            DType::U8 | DType::Bool => Self::integers::<u8, 1>,
            DType::I8 => Self::integers::<i8, 1>,
            DType::U16 => Self::integers::<u16, 2>,
            DType::I16 => Self::integers::<i16, 2>,
            DType::U32 => Self::integers::<u32, 4>,
            DType::I32 => Self::integers::<i32, 4>,
            DType::U64 => Self::integers::<u64, 8>,
            DType::I64 => Self::integers::<i64, 8>,
            _ => return None,
        };
        Some(Self { query, arch: Arch::new(), look })
    }

    pub fn look(&self, bytes: &[u8], part: &mut Part) {
        (self.look)(self, bytes, part);
    }

    fn floats<F: Float<SIZE>, const SIZE: usize>(&self, bytes: &[u8], part: &mut Part) {
        let (elements, _) = bytes.as_chunks::<SIZE>();
        let (query, arch) = (self.query, self.arch);
        if query.zeros > Detail::Nothing {
            let is_zero = |bytes| F::magnitude(bytes) == F::ZERO;
            part.zeros += arch.dispatch(Count::<_, F::Bits, SIZE>::new(elements, is_zero));
        }
        let rest = query.nan.max(query.infinite) > Detail::Nothing || query.absmax || query.range;
        if !rest || elements.is_empty() {
            return;
        }
        let top = arch.dispatch(Extreme { elements, of: F::magnitude, start: F::ZERO, join: Ord::max });
        // The largest magnitude shows whether there are elements that are not finite, at no extra cost.
        let is_finite = top < F::INFINITY;
        if is_finite && query.absmax {
            part.add_absmax(F::magnitude_to_f64(top));
        }
        if !is_finite {
            let nan =
                arch.dispatch(Count::<_, F::Bits, SIZE>::new(elements, |bytes| F::magnitude(bytes) > F::INFINITY));
            let infinite =
                arch.dispatch(Count::<_, F::Bits, SIZE>::new(elements, |bytes| F::magnitude(bytes) == F::INFINITY));
            part.nan += nan;
            part.infinite += infinite;
            if nan + infinite == elements.len() as u64 {
                return;
            }
            if query.absmax {
                let of = |bytes| Some(F::magnitude(bytes)).filter(|&bits| bits < F::INFINITY).unwrap_or(F::ZERO);
                let top = arch.dispatch(Extreme { elements, of, start: F::ZERO, join: Ord::max });
                part.add_absmax(F::magnitude_to_f64(top));
            }
        }
        if query.range {
            let finite = |bytes, otherwise| match is_finite || F::magnitude(bytes) < F::INFINITY {
                true => F::ordered(bytes),
                false => otherwise,
            };
            let of = |bytes| finite(bytes, F::HIGHEST);
            let lowest = arch.dispatch(Extreme { elements, of, start: F::HIGHEST, join: Ord::min });
            let of = |bytes| finite(bytes, F::LOWEST);
            let highest = arch.dispatch(Extreme { elements, of, start: F::LOWEST, join: Ord::max });
            part.add_min(F::ordered_to_f64(lowest));
            part.add_max(F::ordered_to_f64(highest));
        }
    }

    fn integers<I: Integer<SIZE>, const SIZE: usize>(&self, bytes: &[u8], part: &mut Part) {
        let (elements, _) = bytes.as_chunks::<SIZE>();
        let (query, arch) = (self.query, self.arch);
        if query.zeros > Detail::Nothing {
            part.zeros +=
                arch.dispatch(Count::<_, I::Counter, SIZE>::new(elements, |bytes| I::decode(bytes) == I::ZERO));
        }
        if !(query.absmax || query.range) || elements.is_empty() {
            return;
        }
        let min = arch.dispatch(Extreme { elements, of: I::decode, start: I::MAX, join: Ord::min }).to_f64();
        let max = arch.dispatch(Extreme { elements, of: I::decode, start: I::MIN, join: Ord::max }).to_f64();
        if query.range {
            part.add_min(min);
            part.add_max(max);
        }
        if query.absmax {
            part.add_absmax(min.abs().max(max.abs()));
        }
    }
}

/// Finds the lowest or the highest value that `of` returns for the elements.
struct Extreme<'a, T, O, J, const SIZE: usize> {
    elements: &'a [[u8; SIZE]],
    of: O,
    start: T,
    join: J,
}

impl<T: Copy, O: Fn([u8; SIZE]) -> T, J: Fn(T, T) -> T, const SIZE: usize> WithSimd for Extreme<'_, T, O, J, SIZE> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> T {
        let mut lanes = [self.start; LANES];
        let rest = each_group::<_, LANES>(self.elements, |group| {
            for lane in 0..LANES {
                lanes[lane] = (self.join)(lanes[lane], (self.of)(group[lane]));
            }
        });
        let rest = rest.iter().map(|&bytes| (self.of)(bytes)).fold(self.start, &self.join);
        lanes.into_iter().fold(rest, &self.join)
    }
}

/// Counts the elements for which a predicate holds. A counter is as wide as an element, so that both fill vectors
/// alike.
struct Count<'a, P, T, const SIZE: usize> {
    elements: &'a [[u8; SIZE]],
    is_one: P,
    counter: PhantomData<T>,
}

impl<'a, P: Fn([u8; SIZE]) -> bool, T: Counter, const SIZE: usize> Count<'a, P, T, SIZE> {
    fn new(elements: &'a [[u8; SIZE]], is_one: P) -> Self {
        Self { elements, is_one, counter: PhantomData }
    }
}

impl<P: Fn([u8; SIZE]) -> bool, T: Counter, const SIZE: usize> WithSimd for Count<'_, P, T, SIZE> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> u64 {
        let count = |elements: &[[u8; SIZE]]| {
            elements.iter().fold(T::ZERO, |count, &bytes| count.plus((self.is_one)(bytes))).to_u64()
        };
        self.elements.chunks(T::MOST).map(count).sum()
    }
}
