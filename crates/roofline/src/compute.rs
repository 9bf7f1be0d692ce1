use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Duration;

use pulp::{Arch, Simd, WithSimd};

use crate::RooflineError;
use crate::limits::ComputePeak;
use crate::together::best_rate;

/// Independent sums of vectors. A multiply-add takes four cycles and two of them begin in a cycle, so eight are needed; more
/// than fourteen do not fit the registers of AVX2.
const CHAINS: usize = 12;

/// Multiply-adds of each sum in a repetition: some microseconds.
const STEPS: usize = 4_000;

/// Measures the multiply-add peaks of the types that processors compute natively.
pub(crate) fn peaks(threads: NonZeroUsize, time: Duration) -> Result<Vec<ComputePeak>, RooflineError> {
    let arch = Arch::new();
    let peak = |dtype: &str, lanes: usize, work: &(dyn Fn() + Sync)| {
        let rate = best_rate(threads, time, || (), |()| work())?;
        let flops = 2.0 * (STEPS * CHAINS * lanes) as f64;
        Ok(ComputePeak { dtype: dtype.to_owned(), gflops_per_s: rate * flops / 1e9 })
    };
    let (lanes32, lanes64) = arch.dispatch(Lanes);
    Ok(vec![
        peak("float32", lanes32, &|| {
            black_box(arch.dispatch(MultiplyAdd32));
        })?,
        peak("float64", lanes64, &|| {
            black_box(arch.dispatch(MultiplyAdd64));
        })?,
    ])
}

/// How many numbers of 32 and 64 bits a vector has.
struct Lanes;

impl WithSimd for Lanes {
    type Output = (usize, usize);

    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        (S::F32_LANES, S::F64_LANES)
    }
}

macro_rules! multiply_add {
    ($name:ident, $number:ty, $splat:ident, $multiply_add:ident, $sum:ident) => {
        struct $name;

        impl WithSimd for $name {
            type Output = $number;

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> $number {
                // Numbers that the compiler does not know, and that keep the sums small.
                let (a, b) = (simd.$splat(black_box(0.999)), simd.$splat(black_box(0.001)));
                let mut sums = [simd.$splat(black_box(1.0)); CHAINS];
                for _ in 0..STEPS {
                    for sum in &mut sums {
                        *sum = simd.$multiply_add(*sum, a, b);
                    }
                }
                sums.into_iter().map(|sum| simd.$sum(sum)).sum()
            }
        }
    };
}
multiply_add!(MultiplyAdd32, f32, splat_f32s, mul_add_e_f32s, reduce_sum_f32s);
multiply_add!(MultiplyAdd64, f64, splat_f64s, mul_add_e_f64s, reduce_sum_f64s);
