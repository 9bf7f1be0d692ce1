use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Duration;

use pulp::{Arch, Simd, WithSimd};

use crate::limits::ComputePeak;
use crate::repetition::{CHAINS, Repetition, STEPS};
use crate::together::best_rate;
use crate::{RooflineError, narrow};

/// Measures the multiply-add peaks of the types that this processor computes.
pub(crate) fn peaks(threads: NonZeroUsize, time: Duration) -> Result<Vec<ComputePeak>, RooflineError> {
    let measured = |repetition: Repetition| {
        let work = |(): &mut ()| {
            black_box((repetition.run)());
        };
        let rate = best_rate(threads, time, || (), work)?;
        Ok(ComputePeak { dtype: repetition.dtype.to_owned(), gflops_per_s: rate * repetition.flops() / 1e9 })
    };
    let mut peaks = repetitions().into_iter().map(measured).collect::<Result<Vec<_>, _>>()?;
    let float32 = peaks[0].gflops_per_s;
    let widened = narrow::widened().map(|dtype| ComputePeak { dtype: dtype.to_owned(), gflops_per_s: float32 });
    peaks.extend(widened);
    Ok(peaks)
}

/// Returns the element types whose peaks are measured.
pub(crate) fn dtypes() -> Vec<&'static str> {
    repetitions().iter().map(|repetition| repetition.dtype).chain(narrow::widened()).collect()
}

/// Returns the repetitions that are measured, `float32` first.
fn repetitions() -> Vec<Repetition> {
    let (lanes32, lanes64) = Arch::new().dispatch(Lanes);
    let mut repetitions = vec![
        Repetition {
            dtype: "float32",
            chains: CHAINS,
            lanes: lanes32,
            run: || Arch::new().dispatch(MultiplyAdd32).into(),
        },
        Repetition { dtype: "float64", chains: CHAINS, lanes: lanes64, run: || Arch::new().dispatch(MultiplyAdd64) },
    ];
    repetitions.extend(narrow::repetitions());
    repetitions
}

/// Returns how many 32-bit and 64-bit numbers a vector holds.
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
