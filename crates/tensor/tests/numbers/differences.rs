//! The metrics of two tensors.

use opscope_tensor::{DType, Difference, DifferenceAccumulator, Tensor};

use crate::{bytes, near};

fn of(types: (DType, DType), x: &[u8], y: &[u8], elements: usize, relative: f64) -> Difference {
    let mut accumulator = DifferenceAccumulator::new(types.0, types.1, elements, relative).unwrap();
    accumulator.update(x, y);
    accumulator.finish()
}

fn of_doubles(x: &[f64], y: &[f64]) -> Difference {
    let of = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    self::of((DType::F64, DType::F64), &of(x), &of(y), x.len(), 0.0)
}

#[test]
fn every_metric_is_that_of_numpy() {
    for line in include_str!("differences.txt").lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let types = (columns[0].parse().unwrap(), columns[1].parse().unwrap());
        let number = |at: usize| columns[at].parse::<u64>().unwrap();
        let float = |at: usize| columns[at].parse::<f64>().unwrap();
        let found = of(types, &bytes(columns[2]), &bytes(columns[3]), number(5) as usize, float(4));
        let name = format!("{} {} {}", columns[0], columns[1], columns[5]);
        assert_eq!((found.count, found.equal), (number(5), number(6)), "{name}");
        if types.0 != DType::Complex64 {
            assert_eq!((found.nan, found.infinite), ([number(7), number(8)], [number(9), number(10)]), "{name}");
        }
        assert_eq!(found.max_ulp, columns[11].parse().ok(), "{name}");
        // A block of float32 without anything special is compared in float32.
        let share = if types == (DType::F32, DType::F32) { 2e-6 } else { 1e-12 };
        let floats = [
            found.cosine.unwrap(),
            found.max_absolute,
            found.max_relative,
            found.mean_relative,
            found.rmse,
            found.sqnr.unwrap(),
            found.max_reference,
            found.excess,
        ];
        for (at, found) in floats.into_iter().enumerate() {
            assert!(near(found, float(12 + at), share), "{name}, metric {at}: {found}, not {}", float(12 + at));
        }
    }
}

#[test]
fn the_ratio_of_signal_to_noise_is_in_decibels() {
    // The ratios of the powers are 100, 1 and 1/100.
    for (x, y, sqnr) in [(11.0, 10.0, 20.0), (2.0, 1.0, 0.0), (11.0, 1.0, -20.0)] {
        assert!(near(of_doubles(&[x], &[y]).sqnr.unwrap(), sqnr, 1e-15) || sqnr == 0.0, "{x} {y}");
    }
    assert_eq!(of_doubles(&[2.0], &[1.0]).sqnr, Some(0.0));
    assert_eq!(of_doubles(&[0.0], &[0.0]).sqnr, Some(f64::INFINITY));
    assert_eq!(of_doubles(&[1.0], &[1.0]).sqnr, Some(f64::INFINITY));
    assert_eq!(of_doubles(&[1.0], &[0.0]).sqnr, None);
}

#[test]
fn the_cosine_is_that_of_the_angle() {
    for (x, y, cosine) in [
        ([1.0, 0.0], [0.0, 1.0], Some(0.0)),
        ([1.0, 1.0], [-2.0, -2.0], Some(-1.0)),
        ([3.0, 4.0], [3.0, 4.0], Some(1.0)),
        ([3.0, 4.0], [4.0, 3.0], Some(0.96)),
        ([0.0, 0.0], [0.0, 0.0], Some(1.0)),
        ([0.0, 0.0], [1.0, 0.0], None),
        ([1.0, 0.0], [0.0, 0.0], None),
    ] {
        let found = of_doubles(&x, &y).cosine;
        assert!(
            found == cosine || found.zip(cosine).is_some_and(|(found, cosine)| near(found, cosine, 1e-15)),
            "{found:?}"
        );
    }
}

#[test]
fn relative_errors_are_of_references_that_are_not_nearly_zero() {
    let found = of_doubles(&[1.5, 3.0, 1.0, 1.0], &[1.0, 4.0, 0.0, f64::EPSILON]);
    assert_eq!((found.max_relative, found.mean_relative), (0.5, (0.5 + 0.25) / 2.0));
    let found = of_doubles(&[0.0], &[2.0 * f64::EPSILON]);
    assert_eq!(found.max_relative, 1.0);
    let found = of_doubles(&[7.0], &[0.0]);
    assert_eq!((found.max_relative, found.mean_relative, found.max_absolute), (0.0, 0.0, 7.0));
}

#[test]
fn elements_that_are_not_finite_are_counted_and_left_out_of_the_rest() {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let found = of_doubles(
        &[nan, nan, 1.0, infinity, infinity, 2.0, 5.0],
        &[nan, 1.0, nan, infinity, -infinity, infinity, 4.0],
    );
    assert_eq!((found.nan, found.infinite), ([2, 2], [2, 3]));
    assert_eq!((found.nan_mismatches, found.infinite_mismatches, found.mismatches()), (2, 2, 4));
    assert_eq!((found.count, found.equal, found.max_absolute, found.rmse), (7, 2, 1.0, 1.0));
    assert_eq!((found.mean_relative, found.max_reference), (0.25, 4.0));
}

#[test]
fn integers_are_told_apart_beyond_the_precision_of_floats() {
    let of = |dtype, x: &[u8], y: &[u8]| {
        let found = of((dtype, dtype), x, y, 1, 0.0);
        (found.equal, found.max_absolute, found.excess, found.max_ulp)
    };
    let unsigned = |x: u64, y: u64| of(DType::U64, &x.to_le_bytes(), &y.to_le_bytes());
    assert_eq!(unsigned(u64::MAX, u64::MAX - 3), (0, 3.0, 3.0, None));
    assert_eq!(unsigned(u64::MAX, u64::MAX), (1, 0.0, 0.0, None));
    let signed = |x: i64, y: i64| of(DType::I64, &x.to_le_bytes(), &y.to_le_bytes());
    assert_eq!(signed(i64::MIN, i64::MIN + 2), (0, 2.0, 2.0, None));
    assert_eq!(signed(i64::MIN, i64::MAX), (0, u64::MAX as f64, u64::MAX as f64, None));
    assert_eq!(of(DType::Bool, &[1], &[0]), (0, 1.0, 1.0, None));
}

#[test]
fn half_bytes_behind_the_last_element_are_not_compared() {
    let found = of((DType::I4, DType::I4), &[0x21, 0x73], &[0x21, 0x83], 3, 0.0);
    assert_eq!((found.count, found.equal), (3, 3));
    let found = of((DType::I4, DType::I4), &[0x21, 0x73], &[0x21, 0x83], 4, 0.0);
    assert_eq!((found.count, found.equal, found.max_absolute), (4, 3, 15.0));
    // If the types differ, as many elements are compared as both have.
    let found = of((DType::U4, DType::U8), &[0x21, 0x43], &[1, 2, 9], 4, 0.0);
    assert_eq!((found.count, found.equal, found.max_absolute), (3, 2, 6.0));
}

#[test]
fn tensors_of_more_than_a_block_are_compared_in_each_block() {
    for elements in [4095, 4096, 4097, 8192, 10_000] {
        let y: Vec<f32> = vec![2.0; elements];
        let mut x = y.clone();
        (x[0], x[elements - 1]) = (2.5, 1.0);
        let (x, y) = (Tensor::from_f32(vec![elements], &x).unwrap(), Tensor::from_f32(vec![elements], &y).unwrap());
        let found = of((DType::F32, DType::F32), x.bytes(), y.bytes(), elements, 0.0);
        assert_eq!((found.count, found.equal), (elements as u64, elements as u64 - 2));
        assert_eq!((found.max_absolute, found.max_relative, found.max_reference), (1.0, 0.5, 2.0));
        assert_eq!(found.rmse, (1.25 / elements as f64).sqrt());
        assert!(near(found.mean_relative, 0.75 / elements as f64, 1e-7));
        assert!(near(found.sqnr.unwrap(), 10.0 * (4.0 * elements as f64 / 1.25).log10(), 1e-12));
    }
}
