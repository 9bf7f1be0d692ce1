//! Searches in tensors and their largest elements, against plain loops.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_tensor::{
    DType, Detail, Element, RemoteTensor, ScanQuery, ScanResult, Slice, Statistics, Tensor, TensorView, TopBy, top_k,
};
use proptest::prelude::*;

const ALL: ScanQuery = ScanQuery {
    nan: Detail::Count,
    infinite: Detail::Count,
    zeros: Detail::Count,
    range: true,
    absmax: true,
    moments: true,
};

/// The results of a loop over the elements.
#[derive(Debug, PartialEq)]
struct Naive {
    nan: u64,
    infinite: u64,
    zeros: u64,
    min: Option<f64>,
    max: Option<f64>,
    absmax: Option<f64>,
}

fn naive(elements: &[Element]) -> Naive {
    let mut found = Naive { nan: 0, infinite: 0, zeros: 0, min: None, max: None, absmax: None };
    for element in elements {
        let (re, im) = match *element {
            Element::Complex(re, im) => (re, im),
            real => (real.to_f64().unwrap(), 0.0),
        };
        if re.is_nan() || im.is_nan() {
            found.nan += 1;
        } else if re.is_infinite() || im.is_infinite() {
            found.infinite += 1;
        } else {
            found.zeros += u64::from(re == 0.0 && im == 0.0);
            found.absmax = Some(found.absmax.map_or(re.hypot(im), |absmax| absmax.max(re.hypot(im))));
            if !matches!(element, Element::Complex(..)) {
                found.min = Some(found.min.map_or(re, |min| min.min(re)));
                found.max = Some(found.max.map_or(re, |max| max.max(re)));
            }
        }
    }
    found
}

fn elements(tensor: &Tensor) -> Vec<Element> {
    (0..tensor.elements()).map(|index| Element::at(tensor.dtype(), tensor.bytes(), index).unwrap()).collect()
}

fn close(left: Option<f64>, right: Option<f64>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => (left - right).abs() <= 1e-6 * left.abs().max(right.abs()) || left == right,
        (left, right) => left == right,
    }
}

/// Bytes that are often special numbers of the float types.
fn pattern() -> impl Strategy<Value = [u8; 2]> {
    prop_oneof![
        8 => any::<[u8; 2]>(),
        4 => Just([0x00, 0x3c]),
        2 => Just([0, 0]),
        1 => Just([0x00, 0x7c]),
        1 => Just([0x80, 0xff]),
        1 => Just([0x80, 0x7f]),
        1 => Just([0xf0, 0x7f]),
    ]
}

fn tensor() -> impl Strategy<Value = Tensor> {
    let types: Vec<DType> = DType::all().filter(|dtype| *dtype != DType::String).collect();
    let bytes = prop_oneof![
        4 => prop::collection::vec(pattern(), 0..200),
        // Long patterns, in which special numbers are rare.
        1 => (prop::collection::vec(pattern(), 1..40), 1usize..8000).prop_map(|(some, length)| {
            let mut bytes = vec![[0x12, 0x34]; length];
            for (number, pattern) in some.into_iter().enumerate() {
                bytes[number * 7919 % length] = pattern;
            }
            bytes
        }),
    ];
    (prop::sample::select(types), bytes, any::<bool>()).prop_map(|(dtype, bytes, odd)| {
        let mut bytes = bytes.concat();
        if dtype == DType::Bool {
            bytes.iter_mut().for_each(|byte| *byte &= 1);
        }
        let mut elements = dtype.elements_in(bytes.len()).unwrap();
        // Half of the last byte is then not part of the tensor.
        elements -= usize::from(odd && dtype.size().is_none() && elements > 0);
        bytes.truncate(dtype.bytes_of(elements).unwrap());
        Tensor::new(dtype, vec![elements], bytes).unwrap()
    })
}

proptest! {
    #[test]
    fn a_search_finds_what_a_loop_finds_whatever_else_is_asked(
        tensor in tensor(),
        depths in prop::array::uniform3(prop::sample::select(vec![Detail::Nothing, Detail::Presence, Detail::Count])),
        (range, absmax, moments) in any::<(bool, bool, bool)>(),
    ) {
        let [nan, infinite, zeros] = depths;
        let query = ScanQuery { nan, infinite, zeros, range, absmax, moments };
        let expected = naive(&elements(&tensor));
        let found = ScanResult::of(&tensor.view(), query).unwrap();
        prop_assert_eq!(found.count, tensor.elements() as u64);
        for (detail, found, expected) in
            [(nan, found.nan, expected.nan), (infinite, found.infinite, expected.infinite), (zeros, found.zeros, expected.zeros)]
        {
            match detail {
                Detail::Count => prop_assert_eq!(found, expected),
                Detail::Presence => prop_assert_eq!(found > 0, expected > 0),
                Detail::Nothing => (),
            }
        }
        if range {
            prop_assert_eq!((found.min, found.max), (expected.min, expected.max));
        }
        if absmax {
            prop_assert!(close(found.absmax, expected.absmax), "{:?} {:?}", found.absmax, expected.absmax);
        }
        if moments {
            let statistics = Statistics::of(&tensor.view()).unwrap();
            prop_assert_eq!((found.mean, found.std, found.l2), (statistics.mean, statistics.std, statistics.l2));
        }
    }

    #[test]
    fn tensors_together_are_what_one_of_all_their_elements_is(
        values in prop::collection::vec(prop_oneof![9 => -1e3f32..1e3, 1 => Just(f32::NAN), 1 => Just(f32::INFINITY)], 0..60),
        cuts in prop::collection::vec(0usize..60, 0..4),
    ) {
        let of = |values: &[f32]| {
            ScanResult::of(&Tensor::from_f32(vec![values.len()], values).unwrap().view(), ALL).unwrap()
        };
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(values.len())).chain([0, values.len()]).collect();
        cuts.sort();
        let parts = cuts.windows(2).map(|cut| of(&values[cut[0]..cut[1]]));
        let (together, whole) = (parts.fold(ScanResult::default(), ScanResult::join), of(&values));
        prop_assert_eq!((together.count, together.nan, together.infinite), (whole.count, whole.nan, whole.infinite));
        prop_assert_eq!((together.min, together.max, together.absmax), (whole.min, whole.max, whole.absmax));
        let near = |left: Option<f64>, right: Option<f64>| match (left, right) {
            (Some(left), Some(right)) => (left - right).abs() <= 1e-6 * right.abs().max(1.0),
            (left, right) => left == right,
        };
        prop_assert!(near(together.mean, whole.mean) && near(together.l2, whole.l2));
        prop_assert!(near(together.std, whole.std), "{:?} {:?}", together.std, whole.std);
    }

    #[test]
    fn the_largest_elements_are_those_of_a_sorted_list(
        tensor in tensor(),
        k in 0usize..30,
        by in prop::sample::select(vec![TopBy::Value, TopBy::Magnitude]),
    ) {
        prop_assume!(!tensor.dtype().is_complex());
        let key = |element: Element| match by {
            TopBy::Value => element.to_f64().unwrap(),
            TopBy::Magnitude => element.to_f64().unwrap().abs(),
        };
        let mut expected: Vec<_> = elements(&tensor).into_iter().enumerate().collect();
        expected.retain(|(_, element)| !key(*element).is_nan());
        // Equal elements are in the order of the tensor. Doubles do not tell large integers apart, so those are
        // compared in full.
        expected.sort_by(|(left_at, left), (right_at, right)| {
            let order = match (by, left, right) {
                (TopBy::Value, Element::Int(left), Element::Int(right)) => right.cmp(left),
                (TopBy::Magnitude, Element::Int(left), Element::Int(right)) => {
                    right.unsigned_abs().cmp(&left.unsigned_abs())
                }
                (_, Element::UInt(left), Element::UInt(right)) => right.cmp(left),
                _ => key(*right).partial_cmp(&key(*left)).unwrap(),
            };
            order.then(left_at.cmp(right_at))
        });
        expected.truncate(k);
        prop_assert_eq!(top_k(&tensor.view(), k, by).unwrap(), expected);
    }
}

/// Memory that the host cannot address, and how much of it was read.
struct Device {
    tensor: Tensor,
    read: AtomicUsize,
}

impl RemoteTensor for Device {
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), String> {
        self.read.fetch_add(range.len(), Ordering::Relaxed);
        into.copy_from_slice(&self.tensor.bytes()[range]);
        Ok(())
    }
}

#[test]
fn a_search_for_presence_ends_with_the_first_and_reads_no_further() {
    let mut values = vec![1.0f32; 1 << 20];
    values[40_000] = f32::NAN;
    let device = Device { tensor: Tensor::from_f32(vec![1 << 20], &values).unwrap(), read: AtomicUsize::new(0) };
    let view = TensorView::remote(DType::F32, vec![1 << 20], &device);
    let presence = ScanQuery { nan: Detail::Presence, ..ScanQuery::default() };
    assert!(ScanResult::of(&view, presence).unwrap().nan > 0);
    assert!(device.read.swap(0, Ordering::Relaxed) < 1 << 20, "4 MiB would be all");
    let count = ScanQuery { nan: Detail::Count, ..ScanQuery::default() };
    assert_eq!(ScanResult::of(&view, count).unwrap().nan, 1);
    assert_eq!(device.read.swap(0, Ordering::Relaxed), 4 << 20);
    assert_eq!(ScanResult::of(&view, ScanQuery::default()).unwrap().count, 1 << 20);
    assert_eq!(device.read.load(Ordering::Relaxed), 0, "nothing was query that needs a look");
}

#[test]
fn whether_integers_are_not_finite_needs_no_look() {
    let opaque = TensorView::opaque(DType::I64, vec![5]);
    let query = ScanQuery { nan: Detail::Count, infinite: Detail::Presence, ..ScanQuery::default() };
    let found = ScanResult::of(&opaque, query).unwrap();
    assert_eq!((found.count, found.nan, found.infinite), (5, 0, 0));
    assert!(ScanResult::of(&opaque, ScanQuery { zeros: Detail::Presence, ..query }).is_err());
    assert!(ScanResult::of(&TensorView::opaque(DType::F32, vec![5]), query).is_err());
}

#[test]
fn a_part_of_a_tensor_is_searched_alone() {
    let tensor = Tensor::from_f32(vec![2, 3], &[1.0, f32::NAN, -7.0, 2.0, 0.0, 5.0]).unwrap();
    for (slice, nan, absmax) in [("[0]", 1, 7.0), ("[1]", 0, 5.0), ("[:, 0]", 0, 2.0), ("[:, ::-1]", 1, 7.0)] {
        let region = slice.parse::<Slice>().unwrap().resolve(tensor.shape()).unwrap();
        let found = ScanResult::of_region(&tensor.view(), &region, ALL).unwrap();
        assert_eq!((found.nan, found.absmax), (nan, Some(absmax)), "{slice}");
    }
}

#[test]
fn complex_numbers_have_largest_elements_by_magnitude_only() {
    let values = [1f32, 0.0, -3.0, 4.0, f32::NAN, 0.0].map(f32::to_le_bytes).concat();
    let tensor = Tensor::new(DType::Complex64, vec![3], values).unwrap();
    let error = top_k(&tensor.view(), 1, TopBy::Value).expect_err("they have no order");
    assert!(error.to_string().contains("no order"), "{error}");
    let top = top_k(&tensor.view(), 5, TopBy::Magnitude).unwrap();
    assert_eq!(top, [(1, Element::Complex(-3.0, 4.0)), (0, Element::Complex(1.0, 0.0))]);
}
