//! Slices, against a naive reading of numpy's rules.

use std::ops::{ControlFlow, Range};

use opscope_tensor::{Axis, DType, Element, RemoteTensor, Slice, SliceError, Tensor, TensorError, TensorView};
use proptest::prelude::*;

fn counting(shape: &[usize]) -> Tensor {
    let values: Vec<i64> = (0..shape.iter().product::<usize>() as i64).collect();
    Tensor::from_i64(shape.to_vec(), &values).unwrap()
}

fn values(tensor: &Tensor) -> Vec<i64> {
    tensor.bytes().as_chunks::<8>().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()
}

fn of(tensor: &Tensor, text: &str) -> Result<Tensor, SliceError> {
    text.parse::<Slice>()?.of(&tensor.view(), usize::MAX)
}

#[test]
fn slices_choose_what_they_choose_in_numpy() {
    let tensor = counting(&[2, 3, 4]);
    // The results of numpy for np.arange(24).reshape(2, 3, 4).
    for (text, shape, expected) in [
        ("[0, 1]", vec![4], vec![4, 5, 6, 7]),
        ("[..., -1]", vec![2, 3], vec![3, 7, 11, 15, 19, 23]),
        ("[1, ::-2, :2]", vec![2, 2], vec![20, 21, 12, 13]),
        ("[-1, -1, -1]", vec![], vec![23]),
        ("[0, 0, 10:1:-1]", vec![2], vec![3, 2]),
        ("[:, 5:]", vec![2, 0, 4], vec![]),
        ("[1:, ..., -9:1]", vec![1, 3, 1], vec![12, 16, 20]),
        ("[0, 2, 3:0]", vec![0], vec![]),
        ("[:, 0, ::3]", vec![2, 2], vec![0, 3, 12, 15]),
    ] {
        let found = of(&tensor, text).unwrap();
        assert_eq!((found.shape(), values(&found)), (&shape[..], expected), "{text}");
    }
}

#[test]
fn an_index_outside_names_the_axis_and_its_size() {
    let tensor = counting(&[2, 3]);
    let error = of(&tensor, "[1, 3]").expect_err("3 is outside");
    assert_eq!(error, SliceError::OutOfRange { axis: 1, size: 3, index: 3 });
    assert_eq!(
        error.to_string(),
        "index 3 is outside of axis 1, whose size is 3; 0 to 2 are right, and -3 to -1 from the end"
    );
    assert!(matches!(of(&tensor, "[..., -4]"), Err(SliceError::OutOfRange { axis: 1, size: 3, index: -4 })));
    assert!(matches!(of(&tensor, "[0, 0, 0]"), Err(SliceError::TooManyAxes { entries: 3, .. })));
    assert!(matches!(of(&counting(&[0]), "[0]"), Err(SliceError::OutOfRange { size: 0, .. })));
}

#[test]
fn more_than_is_wanted_is_an_error_and_pages_give_it_all() {
    let tensor = counting(&[10, 10]);
    let slice: Slice = "[1:, ::3]".parse().unwrap();
    assert_eq!(slice.of(&tensor.view(), 35), Err(SliceError::TooMany { elements: 36, most: 35 }));
    let whole = values(&slice.of(&tensor.view(), 36).unwrap());
    let region = slice.resolve(tensor.shape()).unwrap();
    let pages = (0..40).step_by(7).flat_map(|offset| values(&region.page(&tensor.view(), offset, 7).unwrap()));
    assert_eq!(pages.collect::<Vec<_>>(), whole);
}

#[test]
fn what_lies_together_is_given_without_a_copy() {
    let tensor = counting(&[4, 5, 6]);
    for (text, range) in [("[...]", 0..120), ("[2]", 60..90), ("[1, 2:4]", 42..54), ("[3, 4, 5]", 119..120)] {
        let region = text.parse::<Slice>().unwrap().resolve(tensor.shape()).unwrap();
        assert_eq!(region.contiguous(), Some(range.clone()), "{text}");
        let mut calls = 0;
        region
            .pieces(&tensor.view(), |bytes| {
                calls += 1;
                assert_eq!(bytes.as_ptr_range(), tensor.bytes()[range.start * 8..range.end * 8].as_ptr_range());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(calls, 1);
    }
    assert_eq!("[:, 0]".parse::<Slice>().unwrap().resolve(tensor.shape()).unwrap().contiguous(), None);
}

#[test]
fn shapes_that_no_memory_holds_are_refused() {
    for shape in [vec![usize::MAX, 2], vec![1 << 40, 1 << 40, 4]] {
        assert!(matches!(Slice::all().resolve(&shape), Err(SliceError::Tensor(_))), "{shape:?}");
    }
    let region = "[:, 1, ::-1]".parse::<Slice>().unwrap().resolve(&[0, 1 << 40, 1 << 40]).unwrap();
    assert_eq!(region.elements(), 0);
}

#[test]
#[allow(clippy::reversed_empty_ranges)]
fn a_range_of_bytes_that_is_reversed_or_too_long_is_an_error() {
    let tensor = counting(&[2]);
    for range in [5..3, 14..17] {
        let mut into = vec![0; range.len()];
        let error = tensor.view().read(range.clone(), &mut into).unwrap_err();
        assert!(matches!(error, TensorError::OutOfRange { length: 16, .. }), "{range:?}: {error}");
    }
}

/// Memory that the host cannot address.
struct Device(Tensor);

impl RemoteTensor for Device {
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), String> {
        into.copy_from_slice(&self.0.bytes()[range]);
        Ok(())
    }
}

/// Returns the positions that a range chooses, in order.
fn naive_places(size: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<usize> {
    let size = size as i64;
    let from_end = |number: i64| if number < 0 { number + size } else { number };
    let mut place = match (start.map(from_end), step > 0) {
        (None, true) => 0,
        (None, false) => size - 1,
        (Some(start), true) => start.max(0),
        (Some(start), false) => start.min(size - 1),
    };
    let stop = stop.map(from_end);
    let mut places = Vec::new();
    while (0..size).contains(&place) && stop.is_none_or(|stop| if step > 0 { place < stop } else { place > stop }) {
        places.push(place as usize);
        place = place.saturating_add(step);
    }
    places
}

/// Returns the shape and the flat indices of the elements that a slice chooses, or `None` if an index is outside of the
/// tensor.
fn naive(shape: &[usize], axes: &[Axis]) -> Option<(Vec<usize>, Vec<usize>)> {
    let whole = Axis::Range { start: None, stop: None, step: 1 };
    let mut entries: Vec<Axis> = axes.to_vec();
    match entries.iter().position(|axis| *axis == Axis::Ellipsis) {
        Some(at) => {
            entries.splice(at..=at, vec![whole; (shape.len() + 1).checked_sub(axes.len())?]);
        }
        None => entries.extend(vec![whole; shape.len().checked_sub(axes.len())?]),
    }
    let (mut found, mut flat) = (Vec::new(), vec![0usize]);
    for (&size, axis) in shape.iter().zip(entries) {
        let places = match axis {
            Axis::Index(index) => {
                let place = if index < 0 { index + size as i64 } else { index };
                vec![usize::try_from(place).ok().filter(|&place| place < size)?]
            }
            Axis::Range { start, stop, step } => naive_places(size, start, stop, step),
            Axis::Ellipsis => unreachable!("it was replaced"),
        };
        if !matches!(axis, Axis::Index(_)) {
            found.push(places.len());
        }
        flat = flat.iter().flat_map(|&flat| places.iter().map(move |place| flat * size + place)).collect();
    }
    Some((found, flat))
}

fn axis() -> impl Strategy<Value = Axis> {
    let bound = || proptest::option::of(-8i64..8);
    let step = prop_oneof![(-4i64..=-1), (1i64..5), Just(i64::MIN), Just(i64::MAX)];
    prop_oneof![
        (-6i64..6).prop_map(Axis::Index),
        (bound(), bound(), step).prop_map(|(start, stop, step)| Axis::Range { start, stop, step }),
        Just(Axis::Ellipsis),
    ]
}

proptest! {
    #[test]
    fn a_slice_is_what_the_naive_reading_gives_in_every_type_and_memory(
        shape in prop::collection::vec(0usize..6, 0..5),
        axes in prop::collection::vec(axis(), 1..5),
        dtype in prop::sample::select(vec![DType::U8, DType::F16, DType::F32, DType::I64, DType::Complex128, DType::I4]),
        page in (0usize..40, 0usize..40),
    ) {
        prop_assume!(axes.iter().filter(|axis| **axis == Axis::Ellipsis).count() <= 1);
        let slice = Slice::new(axes.clone()).unwrap();
        prop_assert_eq!(&slice.to_string().parse::<Slice>().unwrap(), &slice);
        let elements = shape.iter().product();
        let bytes: Vec<u8> = (0..dtype.bytes_of(elements).unwrap()).map(|byte| (byte * 37) as u8).collect();
        let tensor = Tensor::new(dtype, shape.clone(), bytes).unwrap();
        let device = Device(tensor.clone());
        let elements = |tensor: &Tensor| -> Vec<_> {
            (0..tensor.elements()).map(|index| Element::at(dtype, tensor.bytes(), index).unwrap().to_string()).collect()
        };
        let all = elements(&tensor);
        for view in [tensor.view(), TensorView::remote(dtype, shape.clone(), &device)] {
            let Some((expected, flat)) = naive(&shape, &axes) else {
                prop_assert!(slice.of(&view, usize::MAX).is_err());
                continue;
            };
            let expected_elements: Vec<_> = flat.iter().map(|&flat| all[flat].clone()).collect();
            let found = slice.of(&view, usize::MAX).unwrap();
            prop_assert_eq!(found.shape(), &expected[..]);
            prop_assert_eq!(&elements(&found), &expected_elements);

            let region = slice.resolve(&shape).unwrap();
            let (offset, count) = page;
            let found = elements(&region.page(&view, offset, count).unwrap());
            let expected_page: Vec<_> = expected_elements.iter().skip(offset).take(count).cloned().collect();
            prop_assert_eq!(found, expected_page);

            let mut pieces = Vec::new();
            region.pieces(&view, |bytes| { pieces.extend_from_slice(bytes); ControlFlow::Continue(()) }).unwrap();
            let pieces = Tensor::new(dtype, region.shape().to_vec(), pieces).unwrap();
            prop_assert_eq!(elements(&pieces), expected_elements);
        }
    }
}
