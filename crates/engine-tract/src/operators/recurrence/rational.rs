//! Sigmoid and tanh to the last bit as ONNX Runtime computes them on processors with fused multiplication and addition: as
//! quotients of two polynomials, with the coefficients that it and Eigen share.

/// 1 / (1 + e^-x), within some 1e-7; a half plus an odd quotient.
pub(super) fn sigmoid(x: f32) -> f32 {
    const ODD: [f32; 5] = [4.370_31e-11, 1.156_273_2e-7, 6.085_749e-5, 8.513_771e-3, 2.482_879_5e-1];
    const EVEN: [f32; 6] =
        [6.102_473_7e-13, 5.761_021_4e-9, 6.291_068e-6, 1.701_988_2e-3, 1.168_176_5e-1, 9.931_519e-1];
    let x = x.clamp(-18.0, 18.0);
    (polynomial(&ODD, x * x) * x / polynomial(&EVEN, x * x) + 0.5).clamp(0.0, 1.0)
}

/// The hyperbolic tangent, within some 1e-7.
pub(super) fn tanh(x: f32) -> f32 {
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
    polynomial(&ODD, x * x) * x / polynomial(&EVEN, x * x)
}

/// The coefficient of the highest power first.
fn polynomial(coefficients: &[f32], x: f32) -> f32 {
    coefficients.iter().copied().reduce(|sum, coefficient| fused(sum, x, coefficient)).unwrap_or(0.0)
}

/// The product and the sum, rounded once. `f32::mul_add` is a slow function where the program is built for every processor;
/// in double precision the product is exact, and a sum that is rounded twice is another one in less than one of 10^8 cases.
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
}
