//! Statistics, against the plain formulas.

use opscope_tensor::{Accumulator, DType, Statistics, Tensor};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

fn of(values: &[f32]) -> Statistics {
    Statistics::of(&Tensor::from_f32(vec![values.len()], values).unwrap().view()).unwrap()
}

fn close(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= 1e-9 * expected.abs().max(1.0))
}

#[test]
fn a_tensor_without_finite_elements_has_counts_but_no_mean() {
    for values in [vec![], vec![f32::NAN; 40], vec![f32::INFINITY; 3]] {
        let statistics = of(&values);
        assert_eq!((statistics.min, statistics.max, statistics.mean), (None, None, None));
        assert_eq!(statistics.nan + statistics.positive_infinite, values.len() as u64);
    }
}

#[test]
fn numbers_far_from_zero_keep_their_deviation() {
    let values: Vec<u8> = (0..1000i64).flat_map(|n| (1_000_000_000 + n % 2).to_le_bytes()).collect();
    let tensor = Tensor::new(DType::I64, vec![1000], values).unwrap();
    let statistics = Statistics::of(&tensor.view()).unwrap();
    assert!(close(statistics.std, 0.5), "{statistics:?}");
    assert!(close(statistics.mean, 1_000_000_000.5));
}

#[test]
fn every_type_is_counted_by_the_value_of_its_elements() {
    let cases: [(DType, Vec<u8>, f64, f64, u64); 8] = [
        (DType::F16, vec![0x00, 0x3c, 0x00, 0xc0], -2.0, 1.0, 0),
        (DType::Bf16, vec![0x80, 0x3f, 0x00, 0xc0], -2.0, 1.0, 0),
        (DType::Bool, vec![0, 1], 0.0, 1.0, 1),
        (DType::I8, vec![0xff, 3], -1.0, 3.0, 0),
        (DType::U16, vec![0, 0, 0xff, 0xff], 0.0, 65535.0, 1),
        (DType::I4, vec![0x8f, 0x07], -8.0, 7.0, 0),
        (DType::F8E5M2, vec![0x7b, 0x00], 0.0, 57344.0, 1),
        (DType::F64, [1.5f64, -0.0].map(f64::to_le_bytes).concat(), -0.0, 1.5, 1),
    ];
    for (dtype, bytes, min, max, zeros) in cases {
        let elements = if dtype == DType::I4 { 3 } else { 2 };
        let statistics = Statistics::of(&Tensor::new(dtype, vec![elements], bytes).unwrap().view()).unwrap();
        assert_eq!((statistics.min, statistics.max), (Some(min), Some(max)), "{dtype}");
        assert_eq!((statistics.count, statistics.zeros), (elements as u64, zeros), "{dtype}");
    }
}

#[test]
fn integers_are_not_rounded_to_single_precision() {
    // 2^24 + 1 is the first integer that a float of 32 bits does not represent. 2^53 is the last power of two up to
    // which a double represents all integers.
    let (most, two_53) = (4_294_967_295.0, 9_007_199_254_740_992.0);
    let cases: [(DType, Vec<u8>, f64, f64); 4] = [
        (DType::I32, [16_777_217i32, -16_777_219].map(i32::to_le_bytes).concat(), -16_777_219.0, 16_777_217.0),
        (DType::U32, [16_777_217u32, 4_294_967_295].map(u32::to_le_bytes).concat(), 16_777_217.0, most),
        (DType::I64, [1i64 << 53, 1 - (1 << 53)].map(i64::to_le_bytes).concat(), 1.0 - two_53, two_53),
        (DType::U64, [16_777_217u64, (1 << 53) - 1].map(u64::to_le_bytes).concat(), 16_777_217.0, two_53 - 1.0),
    ];
    for (dtype, bytes, min, max) in cases {
        let statistics = Statistics::of(&Tensor::new(dtype, vec![2], bytes).unwrap().view()).unwrap();
        assert_eq!((statistics.min, statistics.max), (Some(min), Some(max)), "{dtype}");
        // The sums are those of differences from the first element, which a double may round.
        let (mean, expected) = (statistics.mean.unwrap(), min / 2.0 + max / 2.0);
        assert!((mean - expected).abs() <= max * f64::EPSILON, "{dtype}: {mean}, not {expected}");
    }
}

#[test]
fn complex_numbers_have_a_norm_and_no_order() {
    let tensor = Tensor::new(DType::Complex64, vec![2], [3f32, 4.0, 0.0, 0.0].map(f32::to_le_bytes).concat()).unwrap();
    let statistics = Statistics::of(&tensor.view()).unwrap();
    assert_eq!((statistics.count, statistics.zeros, statistics.min, statistics.mean), (2, 1, None, None));
    assert!(close(statistics.l2, 5.0));
}

#[test]
fn a_piece_that_threads_share_has_the_statistics_of_its_parts_to_the_last_bit() {
    let elements = 4_000_000usize;
    let floats: Vec<u8> = (0..elements).flat_map(|n| (n as f32 * 0.1).sin().to_le_bytes()).collect();
    let longs: Vec<u8> = (0..elements).flat_map(|n| (1_000_000_007 + n as i64 % 5).to_le_bytes()).collect();
    for (dtype, bytes) in [(DType::F32, floats.clone()), (DType::I64, longs), (DType::F16, floats)] {
        let size = dtype.size().unwrap();
        let tensor = Tensor::new(dtype, vec![bytes.len() / size], bytes.clone()).unwrap();
        let shared = Statistics::of(&tensor.view()).unwrap();
        let mut accumulator = Accumulator::new(dtype, bytes.len() / size).unwrap();
        bytes.chunks(1 << 20).for_each(|piece| accumulator.update(piece));
        let alone = accumulator.finish();
        assert_eq!(shared, alone, "{dtype}");
    }
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        20 => -1e6f32..1e6,
        1 => Just(0.0f32),
        1 => Just(-0.0f32),
        1 => Just(f32::NAN),
        1 => Just(f32::INFINITY),
        1 => Just(f32::NEG_INFINITY),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pieces_of_any_size_give_the_statistics_of_the_whole(
        values in prop::collection::vec(number(), 0..9000), piece in 1usize..5000,
    ) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut accumulator = Accumulator::new(DType::F32, values.len()).unwrap();
        bytes.chunks(piece * 4).for_each(|piece| accumulator.update(piece));
        let found = accumulator.finish();

        let finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).map(f64::from).collect();
        let n = finite.len() as f64;
        prop_assert_eq!(found.count, values.len() as u64);
        prop_assert_eq!(found.nan, values.iter().filter(|x| x.is_nan()).count() as u64);
        prop_assert_eq!(found.positive_infinite, values.iter().filter(|&&x| x == f32::INFINITY).count() as u64);
        prop_assert_eq!(found.negative_infinite, values.iter().filter(|&&x| x == f32::NEG_INFINITY).count() as u64);
        prop_assert_eq!(found.zeros, values.iter().filter(|&&x| x == 0.0).count() as u64);
        prop_assert_eq!(found.xxh3.0, xxh3_64(&bytes));
        prop_assert_eq!(found.min, finite.iter().copied().reduce(f64::min));
        prop_assert_eq!(found.max, finite.iter().copied().reduce(f64::max));
        if !finite.is_empty() {
            let mean = finite.iter().sum::<f64>() / n;
            let variance = finite.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            prop_assert!(close(found.mean, mean), "{:?} {}", found.mean, mean);
            prop_assert!(close(found.std, variance.sqrt()), "{:?} {}", found.std, variance.sqrt());
            prop_assert!(close(found.l2, finite.iter().map(|x| x * x).sum::<f64>().sqrt()));
        }
    }
}
