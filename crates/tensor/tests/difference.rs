//! Differences of tensors, against the plain formulas.

use opscope_tensor::{DType, Difference, DifferenceAccumulator, Tolerance};
use proptest::prelude::*;

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn of(dtype: DType, x: &[u8], y: &[u8], elements: usize) -> Difference {
    let mut accumulator = DifferenceAccumulator::new(dtype, dtype, elements, 0.0).unwrap();
    accumulator.update(x, y);
    accumulator.finish()
}

#[test]
fn a_tensor_is_no_way_from_itself_also_where_it_is_not_finite() {
    let values = bytes(&[1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
    let difference = of(DType::F32, &values, &values, 5);
    assert!(difference.is_within(&Tolerance::EXACT));
    assert_eq!((difference.equal, difference.max_absolute, difference.max_ulp), (5, 0.0, Some(0)));
    assert_eq!(difference.cosine, Some(1.0));
}

#[test]
fn nan_and_infinity_that_only_one_has_never_pass() {
    let wide = Tolerance { absolute: 1e30, relative: 1.0, of_max: 1.0 };
    for (x, y) in [(f32::NAN, 1.0), (1.0, f32::NAN), (f32::INFINITY, f32::NEG_INFINITY), (f32::INFINITY, f32::MAX)] {
        let difference = of(DType::F32, &bytes(&[x]), &bytes(&[y]), 1);
        assert_eq!(difference.nan_mismatches + difference.infinite_mismatches, 1, "{x} {y}");
        assert!(!difference.is_within(&wide));
    }
}

#[test]
fn neighbouring_numbers_are_one_apart_across_zero_and_in_every_float() {
    assert_eq!(of(DType::F32, &bytes(&[1.0]), &bytes(&[1.0f32.next_up()]), 1).max_ulp, Some(1));
    assert_eq!(of(DType::F32, &bytes(&[-f32::from_bits(1)]), &bytes(&[f32::from_bits(1)]), 1).max_ulp, Some(2));
    assert_eq!(of(DType::F32, &bytes(&[f32::MIN]), &bytes(&[f32::MAX]), 1).max_ulp, Some(2 * 0x7f7f_ffff));
    assert_eq!(of(DType::F16, &[0x00, 0x3c], &[0x02, 0x3c], 1).max_ulp, Some(2));
    assert_eq!(of(DType::Bf16, &[0x80, 0x3f], &[0x81, 0x3f], 1).max_ulp, Some(1));
    assert_eq!(of(DType::F64, &1f64.to_le_bytes(), &1f64.next_down().to_le_bytes(), 1).max_ulp, Some(1));
    assert_eq!(of(DType::I32, &[1, 0, 0, 0], &[2, 0, 0, 0], 1).max_ulp, None);
}

#[test]
fn integers_that_no_double_tells_apart_are_different() {
    let (x, y) = ((1i64 << 60) + 1, 1i64 << 60);
    let difference = of(DType::I64, &x.to_le_bytes(), &y.to_le_bytes(), 1);
    assert_eq!((difference.equal, difference.max_absolute), (0, 1.0));
    assert!(!difference.is_within(&Tolerance::of(DType::I64)));
}

#[test]
fn types_that_differ_are_compared_by_value() {
    let mut accumulator = DifferenceAccumulator::new(DType::F16, DType::F32, 2, 0.0).unwrap();
    accumulator.update(&[0x00, 0x3c, 0x00, 0xc0], &bytes(&[1.0, -2.5]));
    let difference = accumulator.finish();
    assert_eq!((difference.equal, difference.max_absolute, difference.max_ulp), (1, 0.5, None));
}

#[test]
fn a_zero_tensor_has_the_direction_of_another_zero_tensor_only() {
    let zero = bytes(&[0.0; 3]);
    assert_eq!(of(DType::F32, &zero, &zero, 3).cosine, Some(1.0));
    assert_eq!(of(DType::F32, &zero, &bytes(&[1.0; 3]), 3).cosine, None);
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        30 => -1e3f32..1e3,
        2 => Just(0.0f32),
        1 => any::<f32>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn the_formulas_hold(
        pairs in prop::collection::vec((number(), number(), any::<bool>()), 0..5000), relative in 0.0..0.1f64, cut in 1usize..4000,
    ) {
        let x: Vec<f32> = pairs.iter().map(|&(x, y, same)| if same { y } else { x }).collect();
        let y: Vec<f32> = pairs.iter().map(|&(_, y, _)| y).collect();
        let mut accumulator = DifferenceAccumulator::new(DType::F32, DType::F32, pairs.len(), relative).unwrap();
        for (x, y) in bytes(&x).chunks(cut * 4).zip(bytes(&y).chunks(cut * 4)) {
            accumulator.update(x, y);
        }
        let found = accumulator.finish();
        let finite: Vec<(f64, f64)> = x.iter().zip(&y).filter(|(x, y)| x.is_finite() && y.is_finite())
            .map(|(&x, &y)| (f64::from(x), f64::from(y))).collect();
        let max = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-4 * expected.abs().max(1e-30);
        let apart = max(&mut finite.iter().map(|(x, y)| (x - y).abs()));
        let shares: Vec<f64> = finite.iter().filter(|(_, y)| y.abs() > f64::EPSILON).map(|(x, y)| ((x - y) / y).abs()).collect();
        let squares: f64 = finite.iter().map(|(x, y)| (x - y) * (x - y)).sum();
        prop_assert_eq!(found.count, pairs.len() as u64);
        prop_assert!(near(found.max_absolute, apart), "{} {}", found.max_absolute, apart);
        prop_assert!(near(found.rmse, (squares / finite.len().max(1) as f64).sqrt()));
        prop_assert!(near(found.max_relative, max(&mut shares.iter().copied())));
        prop_assert!(near(found.mean_relative, shares.iter().sum::<f64>() / shares.len().max(1) as f64));
        let excess = max(&mut finite.iter().map(|(x, y)| (x - y).abs() - relative * y.abs()));
        prop_assert!((found.excess - excess).abs() <= 1e-6 * apart.max(max(&mut finite.iter().map(|(_, y)| y.abs()))));
        prop_assert_eq!(found.equal, x.iter().zip(&y).filter(|(x, y)| x == y || (x.is_nan() && y.is_nan())).count() as u64);
    }
}

#[test]
fn pieces_smaller_than_a_block_with_elements_that_are_not_finite_are_counted_once() {
    let x = vec![f32::NAN; 3000];
    let mut accumulator = DifferenceAccumulator::new(DType::F32, DType::F32, 3000, 0.0).unwrap();
    for piece in bytes(&x).chunks(4 * 700) {
        accumulator.update(piece, piece);
    }
    let found = accumulator.finish();
    assert_eq!((found.count, found.equal), (3000, 3000));
}

#[test]
fn halves_are_what_numbers_of_single_precision_round_to() {
    let singles: Vec<f32> = vec![0.1, -3.3, 70000.0, 1e-9];
    let tensor = opscope_tensor::Tensor::from_f32(vec![4], &singles).unwrap();
    let halves = tensor.cast(DType::F16).unwrap();
    for (left, right) in [(&halves, &tensor), (&tensor, &halves)] {
        let mut both = DifferenceAccumulator::new(left.dtype(), right.dtype(), 4, 0.0).unwrap();
        both.update(left.bytes(), right.bytes());
        let difference = both.finish();
        assert!(difference.is_within(&Tolerance::EXACT), "{difference:?}");
        assert_eq!((difference.infinite, difference.nan, difference.equal), ([1, 1], [0, 0], 4));
    }
}

#[test]
fn elements_that_are_not_finite_are_counted_on_either_side() {
    let difference = of(DType::F32, &bytes(&[f32::NAN, f32::NAN, 1.0]), &bytes(&[f32::NAN, f32::INFINITY, 1.0]), 3);
    assert_eq!((difference.nan, difference.infinite), ([2, 1], [0, 1]));
    assert_eq!((difference.nan_mismatches, difference.infinite_mismatches), (1, 0));
}
