//! Loops of multiply-adds for the types, besides `float32`, that processors have instructions for.
//!
//! `pulp` offers none of these instructions. A function that uses them is unsafe to call only on a processor that lacks
//! them, so each call follows the check for its instructions.
#![allow(unsafe_code)]

use crate::repetition::Repetition;

/// Returns the repetitions that this processor has instructions for.
pub(crate) fn repetitions() -> Vec<Repetition> {
    #[cfg(target_arch = "x86_64")]
    return [x86_64::int8(), x86_64::bfloat16()].into_iter().flatten().collect();
    #[cfg(not(target_arch = "x86_64"))]
    return Vec::new();
}

/// Returns the types that this processor can compute only as `float32`, after a conversion.
pub(crate) fn widened() -> impl Iterator<Item = &'static str> {
    #[cfg(target_arch = "x86_64")]
    let widened = [
        (!is_x86_feature_detected!("avx512fp16")).then_some("float16"),
        x86_64::widens_bfloat16().then_some("bfloat16"),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let widened: [Option<&str>; 0] = [];
    widened.into_iter().flatten()
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use crate::limits::has_flag;
    use crate::repetition::{CHAINS, Repetition, STEPS};

    /// Independent sums in the 32 registers of AVX-512.
    const WIDE: usize = 24;

    /// Returns the repetition of products of unsigned and signed bytes, added up in 32 bits. Returns `None` on a
    /// processor that multiplies tiles of them (AMX), which is several times faster than what is measured here.
    pub(super) fn int8() -> Option<Repetition> {
        if has_flag("amx_int8") {
            return None;
        }
        let of = |chains, lanes, run| Some(Repetition { dtype: "int8", chains, lanes, run });
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the processor has these instructions.
            return of(WIDE, 64, || unsafe { dot_avx512_vnni() });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni") {
            // SAFETY: the processor has these instructions.
            return of(CHAINS, 32, || unsafe { dot_avx_vnni() });
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has these instructions.
            return of(WIDE, 64, || unsafe { pairs_avx512() });
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return of(CHAINS, 32, || unsafe { pairs_avx2() });
        }
        None
    }

    /// Returns the repetition of products of pairs, added up in `float32`. Returns `None` with AMX, as above.
    pub(super) fn bfloat16() -> Option<Repetition> {
        if has_flag("amx_bf16") {
            return None;
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16") {
            // SAFETY: the processor has these instructions.
            let run = || unsafe { pairs_avx512_bf16() };
            return Some(Repetition { dtype: "bfloat16", chains: WIDE, lanes: 32, run });
        }
        None
    }

    /// Returns whether the processor has no instructions for products of `bfloat16`.
    pub(super) fn widens_bfloat16() -> bool {
        !has_flag("amx_bf16") && !is_x86_feature_detected!("avx512bf16")
    }

    /// Defines a function that repeats a step for all sums. The compiler does not know the initial sums, so it cannot
    /// merge them.
    macro_rules! repeat {
        ($name:ident, $features:literal, $chains:ident, $operands:expr, $begin:expr, $step:expr, $element:expr) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name() -> f64 {
                let operands = $operands;
                let mut sums = black_box([$begin; $chains]);
                for _ in 0..STEPS {
                    for sum in &mut sums {
                        *sum = $step(*sum, operands);
                    }
                }
                $element(black_box(sums)[0])
            }
        };
    }

    repeat!(
        dot_avx512_vnni,
        "avx512f,avx512vnni",
        WIDE,
        (_mm512_set1_epi8(black_box(3)), _mm512_set1_epi8(black_box(-2))),
        _mm512_setzero_si512(),
        |sum, (a, b)| _mm512_dpbusd_epi32(sum, a, b),
        |sum| f64::from(_mm512_cvtsi512_si32(sum))
    );

    repeat!(
        dot_avx_vnni,
        "avx2,avxvnni",
        CHAINS,
        (_mm256_set1_epi8(black_box(3)), _mm256_set1_epi8(black_box(-2))),
        _mm256_setzero_si256(),
        |sum, (a, b)| _mm256_dpbusd_avx_epi32(sum, a, b),
        |sum| f64::from(_mm256_cvtsi256_si32(sum))
    );

    // Without an instruction for dot products, bytes are multiplied and added in pairs, the pairs are added in pairs,
    // and these are added to the sum. The bytes are taken from the sum. Otherwise the compiler would multiply only
    // once.
    repeat!(
        pairs_avx512,
        "avx512f,avx512bw",
        WIDE,
        (_mm512_set1_epi8(black_box(2)), _mm512_set1_epi16(black_box(1)), _mm512_set1_epi32(black_box(1))),
        _mm512_setzero_si512(),
        |sum, (b, ones, c)| _mm512_add_epi32(_mm512_madd_epi16(_mm512_maddubs_epi16(sum, b), ones), c),
        |sum| f64::from(_mm512_cvtsi512_si32(sum))
    );

    repeat!(
        pairs_avx2,
        "avx2",
        CHAINS,
        (_mm256_set1_epi8(black_box(2)), _mm256_set1_epi16(black_box(1)), _mm256_set1_epi32(black_box(1))),
        _mm256_setzero_si256(),
        |sum, (b, ones, c)| _mm256_add_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(sum, b), ones), c),
        |sum| f64::from(_mm256_cvtsi256_si32(sum))
    );

    repeat!(
        pairs_avx512_bf16,
        "avx512f,avx512bf16",
        WIDE,
        (
            _mm512_cvtne2ps_pbh(_mm512_set1_ps(black_box(0.5)), _mm512_set1_ps(black_box(0.5))),
            _mm512_cvtne2ps_pbh(_mm512_set1_ps(black_box(0.25)), _mm512_set1_ps(black_box(0.25)))
        ),
        _mm512_setzero_ps(),
        |sum, (a, b)| _mm512_dpbf16_ps(sum, a, b),
        |sum| f64::from(_mm512_cvtss_f32(sum))
    );

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Returns what the steps without a dot-product instruction make of a sum.
        fn pairs() -> f64 {
            let step = |sum: u32| 1 + sum.to_le_bytes().map(|byte| 2 * u32::from(byte)).iter().sum::<u32>();
            f64::from((0..STEPS).fold(0, |sum, _| step(sum)))
        }

        #[test]
        fn every_loop_does_its_multiply_adds() {
            let each = STEPS as f64;
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                // SAFETY: the processor has these instructions.
                assert_eq!(unsafe { dot_avx512_vnni() }, each * 4.0 * -6.0);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxvnni") {
                // SAFETY: the processor has these instructions.
                assert_eq!(unsafe { dot_avx_vnni() }, each * 4.0 * -6.0);
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                // SAFETY: the processor has these instructions.
                assert_eq!(unsafe { pairs_avx512() }, pairs());
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has these instructions.
                assert_eq!(unsafe { pairs_avx2() }, pairs());
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16") {
                // SAFETY: the processor has these instructions.
                assert_eq!(unsafe { pairs_avx512_bf16() }, each * 2.0 * 0.125);
            }
        }
    }
}
