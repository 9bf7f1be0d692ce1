//! Counts, extremes, means, deviations and norms.

use std::ops::Range;

use opscope_tensor::DType::{self, *};
use opscope_tensor::{
    Bin, Detail, Histogram, RemoteTensor, ScanQuery, ScanResult, Slice, Statistics, Tensor, TensorView, TopBy, top_k,
};

use crate::{bytes, near};

const ALL: ScanQuery = ScanQuery {
    nan: Detail::Count,
    infinite: Detail::Count,
    zeros: Detail::Count,
    range: true,
    absmax: true,
    moments: true,
};

#[test]
fn statistics_are_those_of_numpy() {
    for line in include_str!("statistics.txt").lines() {
        let columns: Vec<&str> = line.split(' ').collect();
        let dtype: DType = columns[0].parse().unwrap();
        let number = |at: usize| columns[at].parse::<u64>().unwrap();
        let float = |at: usize| columns[at].parse::<f64>().unwrap();
        let tensor = Tensor::new(dtype, vec![number(2) as usize], bytes(columns[1])).unwrap();
        let found = Statistics::of(&tensor.view()).unwrap();
        let name = format!("{dtype} {}", columns[2]);
        let counts = [found.count, found.nan, found.positive_infinite, found.negative_infinite, found.zeros];
        assert_eq!(counts, [2, 3, 4, 5, 6].map(number), "{name}");
        assert_eq!((found.min, found.max), (Some(float(7)), Some(float(8))), "{name}");
        let close = |found: Option<f64>, at: usize| {
            near(found.unwrap(), float(at), 1e-10) || (found.unwrap() - float(at)).abs() < 1e-10 * float(8).abs()
        };
        assert!(close(found.mean, 9) && close(found.std, 10) && close(found.l2, 11), "{name}: {found:?}");
        assert_eq!(found.has_non_finite(), number(3) + number(4) + number(5) > 0);

        let scanned = ScanResult::of(&tensor.view(), ALL).unwrap();
        assert_eq!(
            (scanned.count, scanned.nan, scanned.infinite, scanned.zeros),
            (number(2), number(3), number(4) + number(5), number(6))
        );
        assert_eq!((scanned.min, scanned.max), (found.min, found.max));
        assert_eq!(scanned.absmax, Some(float(7).abs().max(float(8).abs())), "{name}");
        assert_eq!((scanned.mean, scanned.std, scanned.l2), (found.mean, found.std, found.l2));
        let few = ScanResult::of(&tensor.view(), ScanQuery { moments: false, ..ALL }).unwrap();
        assert_eq!(
            (few.nan, few.infinite, few.zeros, few.min, few.max, few.absmax, few.mean),
            (scanned.nan, scanned.infinite, scanned.zeros, scanned.min, scanned.max, scanned.absmax, None)
        );
    }
}

/// Memory that a host cannot address.
struct Device(Tensor);

impl RemoteTensor for Device {
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), std::string::String> {
        into.copy_from_slice(&self.0.bytes()[range]);
        Ok(())
    }
}

#[test]
fn a_tensor_of_a_device_is_read_in_pieces_and_counted_as_one() {
    // A piece has 1 MiB.
    for elements in [1, 262_143, 262_144, 262_145, 600_000] {
        let values: Vec<f32> = (0..elements).map(|number| (number % 1000) as f32 - 3.0).collect();
        let tensor = Tensor::from_f32(vec![elements], &values).unwrap();
        let own = Statistics::of(&tensor.view()).unwrap();
        let device = Device(tensor);
        let found = Statistics::of(&TensorView::remote(F32, vec![elements], &device)).unwrap();
        assert_eq!((found.count, found.min, found.max, found.xxh3), (own.count, own.min, own.max, own.xxh3));
        assert!(near(found.mean.unwrap(), own.mean.unwrap(), 1e-9) && near(found.std.unwrap(), own.std.unwrap(), 1e-9));
    }
    let nothing = Device(Tensor::from_f32(vec![0], &[]).unwrap());
    assert_eq!(Statistics::of(&TensorView::remote(F32, vec![0], &nothing)).unwrap().count, 0);
}

#[test]
fn half_a_byte_behind_the_last_element_is_not_counted_however_many_pieces_there_are() {
    // Pieces have 4 KiB and 64 KiB, which are 8192 and 131,072 elements. The last byte holds one element, 1, and a
    // zero.
    for elements in [1, 8191, 8193, 16_385, 131_071, 131_073, 262_145] {
        let mut bytes = vec![0x11; elements / 2];
        bytes.push(0x01);
        let tensor = Tensor::new(U4, vec![elements], bytes).unwrap();
        let found = Statistics::of(&tensor.view()).unwrap();
        assert_eq!((found.count, found.zeros, found.mean), (elements as u64, 0, Some(1.0)), "{elements}");
        for moments in [false, true] {
            let query = ScanQuery { moments, ..ALL };
            let scanned = ScanResult::of(&tensor.view(), query).unwrap();
            assert_eq!((scanned.count, scanned.zeros, scanned.min), (elements as u64, 0, Some(1.0)), "{elements}");
        }
    }
}

#[test]
fn one_infinity_of_either_sign_is_not_finite() {
    for (element, counts) in
        [(f32::INFINITY, (0, 1, 0)), (f32::NEG_INFINITY, (0, 0, 1)), (f32::NAN, (1, 0, 0)), (f32::MAX, (0, 0, 0))]
    {
        let found = Statistics::of(&Tensor::from_f32(vec![2], &[1.0, element]).unwrap().view()).unwrap();
        assert_eq!((found.nan, found.positive_infinite, found.negative_infinite), counts);
        assert_eq!(found.has_non_finite(), counts != (0, 0, 0));
    }
}

#[test]
fn small_floats_and_complex_numbers_have_statistics_too() {
    // 1, -2, 448 and NaN; 0, infinity, 1.5 and -1.5.
    let of = |dtype, bytes: &[u8], elements| {
        let found = Statistics::of(&Tensor::new(dtype, vec![elements], bytes.to_vec()).unwrap().view()).unwrap();
        (found.nan, found.positive_infinite, found.zeros, found.min, found.max, found.mean)
    };
    assert_eq!(of(F8E4M3Fn, &[0x38, 0xc0, 0x7e, 0x7f], 4), (1, 0, 0, Some(-2.0), Some(448.0), Some(149.0)));
    assert_eq!(of(F8E5M2, &[0x00, 0x7c, 0x3e, 0xbe], 4), (0, 1, 1, Some(-1.5), Some(1.5), Some(0.0)));
    assert_eq!(of(F4E2M1, &[0x72, 0x0f], 3), (0, 0, 0, Some(-6.0), Some(6.0), Some(1.0 / 3.0)));
    assert_eq!(of(U4, &[0x4f, 0x01], 4), (0, 0, 1, Some(0.0), Some(15.0), Some(5.0)));
    let complex =
        [3f32, -4.0, f32::NAN, 0.0, 0.0, f32::NEG_INFINITY, 0.0, 0.0, 0.0, 12.0].map(f32::to_le_bytes).concat();
    let tensor = Tensor::new(Complex64, vec![5], complex).unwrap();
    let found = Statistics::of(&tensor.view()).unwrap();
    assert_eq!((found.nan, found.positive_infinite, found.zeros, found.l2), (1, 1, 1, Some(13.0)));
    let scanned = ScanResult::of(&tensor.view(), ALL).unwrap();
    assert_eq!(
        (scanned.nan, scanned.infinite, scanned.zeros, scanned.absmax, scanned.min),
        (1, 1, 1, Some(12.0), None)
    );
}

#[test]
fn scans_together_have_the_moments_of_all() {
    let of =
        |values: &[f32]| ScanResult::of(&Tensor::from_f32(vec![values.len()], values).unwrap().view(), ALL).unwrap();
    // Of 1, 3 and 5, 7, 9 the mean is 5, and the squares of the distances are 16 + 4 + 0 + 4 + 16.
    let joined = of(&[1.0, 3.0]).join(of(&[5.0, 7.0, 9.0, f32::NAN]));
    assert_eq!(
        (joined.count, joined.nan, joined.mean, joined.min, joined.max),
        (6, 1, Some(5.0), Some(1.0), Some(9.0))
    );
    assert!(near(joined.std.unwrap(), 8f64.sqrt(), 1e-12) && near(joined.l2.unwrap(), 165f64.sqrt(), 1e-12));
    let again = joined.join(of(&[-5.0]));
    assert!(
        near(again.mean.unwrap(), 20.0 / 6.0, 1e-12)
            && near(again.std.unwrap(), (190.0f64 / 6.0 - 400.0 / 36.0).sqrt(), 1e-12)
    );
    assert_eq!((again.absmax, again.zeros, of(&[f32::NAN]).join(of(&[2.0])).mean), (Some(9.0), 0, Some(2.0)));
}

#[test]
fn a_query_asks_for_what_one_of_two_asks_for_and_not_for_what_was_found() {
    let (nothing, presence) =
        (ScanQuery::default(), ScanQuery { nan: Detail::Presence, range: true, ..ScanQuery::default() });
    let count = ScanQuery { nan: Detail::Count, zeros: Detail::Presence, absmax: true, ..nothing };
    let both = ScanQuery { nan: Detail::Count, zeros: Detail::Presence, range: true, absmax: true, ..nothing };
    assert_eq!((presence.or(count), count.or(presence), nothing.or(nothing)), (both, both, nothing));
    assert_eq!(nothing.or(ScanQuery { moments: true, ..nothing }), ScanQuery { moments: true, ..nothing });
    let mut found = ScanResult::default();
    (found.nan, found.zeros, found.infinite) = (1, 1, 1);
    assert_eq!(presence.without_present(&found), ScanQuery { range: true, ..nothing });
    assert_eq!(presence.without_present(&ScanResult::default()), presence);
    assert_eq!(count.without_present(&found), ScanQuery { zeros: Detail::Nothing, ..count });
    let infinite = ScanQuery { infinite: Detail::Presence, ..nothing };
    assert_eq!(infinite.without_present(&found), nothing);
    assert_eq!(ScanQuery::NON_FINITE, ScanQuery { nan: Detail::Count, infinite: Detail::Count, ..nothing });
}

#[test]
fn what_was_not_asked_for_is_not_said() {
    let zeros = |dtype: DType| Tensor::new(dtype, vec![2], vec![0; dtype.bytes_of(2).unwrap()]).unwrap();
    for dtype in [F32, F16, F64, Bf16, I32, U8, Complex64, F8E5M2, U4] {
        let tensor = zeros(dtype);
        let range = ScanQuery { range: true, absmax: true, ..ScanQuery::default() };
        let found = ScanResult::of(&tensor.view(), range).unwrap();
        assert_eq!((found.zeros, found.absmax, found.mean), (0, Some(0.0), None), "{dtype}");
        let count = ScanQuery { zeros: Detail::Count, ..ScanQuery::default() };
        let found = ScanResult::of(&tensor.view(), count).unwrap();
        assert_eq!((found.zeros, found.absmax, found.min, found.max), (2, None, None, None), "{dtype}");
    }
}

#[test]
fn parts_of_a_tensor_of_a_device_are_read_from_their_places() {
    let values: Vec<f32> = (0..24u8).map(f32::from).collect();
    let device = Device(Tensor::from_f32(vec![2, 3, 4], &values).unwrap());
    let view = TensorView::remote(F32, vec![2, 3, 4], &device);
    for (text, expected) in [
        ("[1]", &[12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23][..]),
        ("[:, 1]", &[4, 5, 6, 7, 16, 17, 18, 19]),
        ("[1, :, 2]", &[14, 18, 22]),
        ("[:, ::-2, 1:3]", &[9, 10, 1, 2, 21, 22, 13, 14]),
        ("[0, 2, 3]", &[11]),
    ] {
        let slice: Slice = text.parse().unwrap();
        let found = slice.of(&view, 24).unwrap();
        let numbers: Vec<u8> =
            found.bytes().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes) as u8).collect();
        assert_eq!(numbers, expected, "{text}");
    }
    let too_many = "[...]".parse::<Slice>().unwrap();
    assert!(too_many.of(&view, 24).is_ok());
    let error = too_many.of(&view, 23).unwrap_err().to_string();
    assert!(error.contains("chooses 24 elements, and at most 23 are given at once"), "{error}");
}

#[test]
fn bins_are_powers_of_two_from_minus_64_to_64_and_hold_what_is_beyond() {
    let bins = |values: &[f64]| {
        let mut histogram = Histogram::default();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        histogram.update(F64, &bytes, values.len());
        (histogram.bins(), histogram.non_finite())
    };
    let bin = |from: i32, to: i32, count| Bin { from: 2f64.powi(from), to: 2f64.powi(to), count };
    for (value, from) in [
        (2f64.powi(-64), -64),
        (2f64.powi(-65), -64),
        (5e-324, -64),
        (1.99 * 2f64.powi(-64), -64),
        (2f64.powi(-63), -63),
        (0.999, -1),
        (1.0, 0),
        (1.999, 0),
        (2.0, 1),
        (2f64.powi(63), 63),
        (2f64.powi(64), 64),
        (f64::MAX, 64),
    ] {
        assert_eq!(bins(&[value]), (vec![bin(from, from + 1, 1)], 0), "{value}");
        let Bin { from, to, .. } = bin(from, from + 1, 1);
        assert_eq!(bins(&[-value]), (vec![Bin { from: -from, to: -to, count: 1 }], 0), "{value}");
    }
    // Bins of negative numbers from the lowest, zeros, and positive numbers, including the empty bins between them.
    let negative = |to: i32, from: i32, count| Bin { from: -2f64.powi(from), to: -2f64.powi(to), count };
    assert_eq!(
        bins(&[4.0, -1.5, 0.0, -4.5, 1.0, 5.0, f64::NAN, -0.0, f64::NEG_INFINITY]),
        (
            vec![
                negative(3, 2, 1),
                negative(2, 1, 0),
                negative(1, 0, 1),
                Bin { from: 0.0, to: 0.0, count: 2 },
                bin(0, 1, 1),
                bin(1, 2, 0),
                bin(2, 3, 2)
            ],
            2
        )
    );
}

#[test]
fn the_largest_elements_come_first_and_of_equal_ones_the_first() {
    let floats = Tensor::from_f32(vec![6], &[2.0, -7.0, f32::NAN, 5.0, f32::NEG_INFINITY, 5.0]).unwrap();
    let places = |tensor: &Tensor, k, by| {
        top_k(&tensor.view(), k, by).unwrap().into_iter().map(|(place, _)| place).collect::<Vec<_>>()
    };
    assert_eq!(places(&floats, 3, TopBy::Value), [3, 5, 0]);
    assert_eq!(places(&floats, 9, TopBy::Value), [3, 5, 0, 1, 4]);
    assert_eq!(places(&floats, 3, TopBy::Magnitude), [4, 1, 3]);
    assert_eq!(places(&floats, 0, TopBy::Value), [0; 0]);
    // The largest elements are in later blocks of 4096 elements.
    let mut many = vec![1.0f32; 10_000];
    (many[4095], many[4096], many[9999]) = (3.0, 4.0, -5.0);
    let many = Tensor::from_f32(vec![100, 100], &many).unwrap();
    assert_eq!(places(&many, 3, TopBy::Value), [4096, 4095, 0]);
    assert_eq!(places(&many, 3, TopBy::Magnitude), [9999, 4096, 4095]);
    // Infinity in a later block, after smaller numbers. It is larger than all elements that were kept.
    for infinity in [f32::INFINITY, f32::NEG_INFINITY] {
        let mut many = vec![1.0f32; 10_000];
        many[9000] = infinity;
        let many = Tensor::from_f32(vec![10_000], &many).unwrap();
        let first = if infinity > 0.0 { 9000 } else { 0 };
        assert_eq!((places(&many, 1, TopBy::Value), places(&many, 1, TopBy::Magnitude)), (vec![first], vec![9000]));
    }
    let integers = Tensor::from_i64(vec![3], &[i64::MAX - 1, i64::MAX, i64::MIN]).unwrap();
    assert_eq!(places(&integers, 2, TopBy::Value), [1, 0]);
    assert_eq!(places(&integers, 2, TopBy::Magnitude), [2, 1]);
    // Smaller elements of a later block are included, too, while there is space for them.
    let falling: Vec<f32> = (0..5000u16).rev().map(f32::from).collect();
    let falling = Tensor::from_f32(vec![5000], &falling).unwrap();
    assert_eq!(places(&falling, 4500, TopBy::Value), (0..4500).collect::<Vec<_>>());
    // A double represents 2^53 but not the next number, which is in a later block.
    let mut close = vec![1i64 << 53; 10_000];
    close[9000] += 1;
    let close = Tensor::from_i64(vec![10_000], &close).unwrap();
    assert_eq!((places(&close, 1, TopBy::Value), places(&close, 2, TopBy::Magnitude)), (vec![9000], vec![9000, 0]));
    let opaque = TensorView::opaque(F32, vec![1]);
    assert!(top_k(&opaque, 1, TopBy::Value).is_err());
}
