//! Sigmoid and tanh, to the last bit as ONNX Runtime computes them on processors with fused multiply-add: as quotients
//! of two polynomials, with the coefficients that ONNX Runtime and Eigen share.

use pulp::{Arch, Simd, WithSimd};

/// Replaces each value by its sigmoid, with an error of about 1e-7.
pub(crate) fn sigmoids(values: &mut [f32]) {
    Arch::new().dispatch(Sigmoids(values));
}

/// Replaces each value by its hyperbolic tangent, with an error of about 1e-7.
pub(crate) fn tanhs(values: &mut [f32]) {
    Arch::new().dispatch(Tanhs(values));
}

struct Sigmoids<'a>(&'a mut [f32]);

impl WithSimd for Sigmoids<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.iter_mut().for_each(|value| *value = sigmoid(*value, multiply_add::<S>));
    }
}

struct Tanhs<'a>(&'a mut [f32]);

impl WithSimd for Tanhs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.iter_mut().for_each(|value| *value = tanh(*value, multiply_add::<S>));
    }
}

/// Returns `a * b + c`, rounded once.
#[inline(always)]
fn multiply_add<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    // Without vectors, `mul_add` is a slow function instead of an instruction.
    if S::IS_SCALAR { fused(a, b, c) } else { a.mul_add(b, c) }
}

/// Returns one half plus a quotient of polynomials, which is an odd function.
#[inline(always)]
fn sigmoid(x: f32, add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    const ODD: [f32; 5] = [4.370_31e-11, 1.156_273_2e-7, 6.085_749e-5, 8.513_771e-3, 2.482_879_5e-1];
    const EVEN: [f32; 6] =
        [6.102_473_7e-13, 5.761_021_4e-9, 6.291_068e-6, 1.701_988_2e-3, 1.168_176_5e-1, 9.931_519e-1];
    let x = x.clamp(-18.0, 18.0);
    (polynomial(&ODD, x * x, &add) * x / polynomial(&EVEN, x * x, &add) + 0.5).clamp(0.0, 1.0)
}

#[inline(always)]
fn tanh(x: f32, add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    const ODD: [f32; 7] = [
        -2.760_768_4e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297_3e-8,
        1.485_722_35e-5,
        6.372_619_5e-4,
        4.893_524_6e-3,
    ];
    const EVEN: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_7e-3, 4.893_525e-3];
    let x = x.clamp(-9.0, 9.0);
    polynomial(&ODD, x * x, &add) * x / polynomial(&EVEN, x * x, &add)
}

/// Returns the value of a polynomial. The coefficient of the highest power comes first.
#[inline(always)]
fn polynomial(coefficients: &[f32], x: f32, add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    coefficients.iter().copied().reduce(|sum, coefficient| add(sum, x, coefficient)).unwrap_or(0.0)
}

/// Returns the same as `f32::mul_add`. In double precision the product is exact. Rounding the sum twice changes the
/// result in less than one of 10^8 cases.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    (f64::from(a) * f64::from(b) + f64::from(c)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_in_double_precision_is_that_of_fused_multiplication() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let [a, b, c] = std::array::from_fn(|_| 4.0 * random.f32() - 2.0);
            assert_eq!(fused(a, b, c), a.mul_add(b, c), "{a} {b} {c}");
        }
    }

    /// The outputs of operators Sigmoid and Tanh of ONNX Runtime 1.31.1 on a processor with fused multiply-add.
    #[test]
    fn sigmoid_and_tanh_are_those_of_onnx_runtime_to_the_last_bit() {
        let cases: [(f32, u32, u32); 24] = [
            (0.0, 0x3f00_0000, 0x0000_0000),
            (1e-4, 0x3f00_01a3, 0x38d1_b715),
            (-0.0625, 0x3ef8_00ab, 0xbd7f_aacb),
            (0.1, 0x3f06_6509, 0x3dcc_1ebb),
            (-0.3, 0x3ed9_e2ac, 0xbe95_26ed),
            (0.5, 0x3f1f_597e, 0x3eec_9a9f),
            (-0.8, 0x3e9e_bbab, 0xbf29_fe52),
            (1.0, 0x3f3b_26a8, 0x3f42_f7d6),
            (1.7, 0x3f58_74f7, 0x3f6f_76f8),
            (-2.0, 0x3df4_20a8, 0xbf76_ca83),
            (2.5, 0x3f6c_948f, 0x3f7c_92c2),
            (-3.3, 0x3d11_b310, 0xbf7f_4def),
            (4.0, 0x3f7b_6541, 0x3f7f_d40a),
            (5.7, 0x3f7f_2572, 0x3f7f_fe8a),
            (-7.1, 0x3a58_1e00, 0xbf7f_ffe9),
            (8.0, 0x3f7f_ea04, 0x3f7f_fffc),
            (-8.9, 0x390f_0000, 0xbf80_0000),
            (9.0, 0x3f7f_f7ea, 0x3f80_0000),
            (10.5, 0x3f7f_fe33, 0x3f80_0000),
            (-12.0, 0x36cd_0000, 0xbf80_0000),
            (17.0, 0x3f7f_fffe, 0x3f80_0000),
            (-18.0, 0x0000_0000, 0xbf80_0000),
            (25.0, 0x3f80_0000, 0x3f80_0000),
            (-40.0, 0x0000_0000, 0xbf80_0000),
        ];
        let mut of_all = cases.map(|(x, _, _)| x);
        sigmoids(&mut of_all);
        for ((x, expected, _), found) in cases.into_iter().zip(of_all) {
            assert_eq!(found.to_bits(), expected, "sigmoid({x})");
            assert_eq!(sigmoid(x, fused).to_bits(), expected, "sigmoid({x}) without vectors");
        }
        let mut of_all = cases.map(|(x, _, _)| x);
        tanhs(&mut of_all);
        for ((x, _, expected), found) in cases.into_iter().zip(of_all) {
            assert_eq!(found.to_bits(), expected, "tanh({x})");
            assert_eq!(tanh(x, fused).to_bits(), expected, "tanh({x}) without vectors");
        }
    }
}
