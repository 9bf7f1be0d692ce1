//! Tensors as numpy shows arrays: rows in brackets, columns aligned, the middle of large ones cut out.

mod numbers;

use std::ops::Range;

use opscope::tensor::{DType, Element};

/// Larger arrays are cut in the middle, as in numpy.
const WHOLE: usize = 1000;
/// How many elements are shown at either end of an axis that is cut.
const EDGE: usize = 3;

/// The elements of a tensor that are shown, in ranges of consecutive elements.
#[derive(Debug)]
pub struct Elements {
    dtype: DType,
    shape: Vec<usize>,
    ranges: Vec<ElementRange>,
}

/// Consecutive elements.
#[derive(Debug)]
struct ElementRange {
    /// The index of the first element in the whole tensor.
    start: usize,
    count: usize,
    bytes: Vec<u8>,
}

/// Returns the elements that are needed to show a tensor of this shape: ascending ranges of indices in row-major order.
pub fn shown(shape: &[usize]) -> Vec<Range<usize>> {
    let elements = shape.iter().product();
    if elements <= WHOLE {
        return std::iter::once(0..elements).collect();
    }
    let mut ranges: Vec<Range<usize>> = std::iter::once(0..1).collect();
    for &size in shape {
        let places: Vec<Range<usize>> =
            if size > 2 * EDGE { vec![0..EDGE, size - EDGE..size] } else { vec![0..size; 1] };
        // Each range so far covers positions of the axes before this one.
        let within = ranges.into_iter().flatten().flat_map(|outer| {
            places.clone().into_iter().map(move |places| outer * size + places.start..outer * size + places.end)
        });
        ranges = joined(within);
    }
    ranges
}

fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

impl Elements {
    /// Makes an empty list of the elements of a tensor of this type and shape.
    pub fn of(dtype: DType, shape: &[usize]) -> Self {
        Self { dtype, shape: shape.to_vec(), ranges: Vec::new() }
    }

    /// Adds `count` elements from index `start` on, which lie after all others that were added.
    pub fn add(&mut self, start: usize, count: usize, bytes: Vec<u8>) {
        self.ranges.push(ElementRange { start, count, bytes });
    }

    fn at(&self, index: usize) -> Option<Element> {
        let next = self.ranges.partition_point(|range| range.start + range.count <= index);
        let range = self.ranges.get(next).filter(|range| range.start <= index)?;
        Element::at(self.dtype, &range.bytes, index - range.start)
    }

    /// Returns the text. All elements of [`shown`] must have been added.
    pub fn text(&self) -> String {
        let indices = numbers::indices(&self.shape);
        let elements: Vec<Element> = indices.into_iter().filter_map(|index| self.at(index)).collect();
        numbers::text(&self.shape, &numbers::texts(self.dtype, &elements, self.shape.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arange(dtype: DType, shape: &[usize], element: impl Fn(usize) -> Vec<u8>) -> String {
        let mut elements = Elements::of(dtype, shape);
        for range in shown(shape) {
            elements.add(range.start, range.len(), range.flat_map(&element).collect());
        }
        elements.text()
    }

    fn floats(values: &[f32]) -> String {
        arange(DType::F32, &[values.len()], |index| values[index].to_le_bytes().to_vec())
    }

    fn ints(shape: &[usize]) -> String {
        arange(DType::I64, shape, |index| (index as i64).to_le_bytes().to_vec())
    }

    #[test]
    fn rows_are_wrapped_and_aligned_as_numpy_does() {
        assert_eq!(ints(&[2, 3]), "[[0 1 2]\n [3 4 5]]");
        assert_eq!(ints(&[2, 1, 2]), "[[[0 1]]\n\n [[2 3]]]");
        let wrapped = "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]";
        assert_eq!(ints(&[30]), wrapped);
        assert_eq!(ints(&[0, 3]), "[]");
    }

    #[test]
    fn the_middle_of_large_arrays_is_cut_out() {
        assert_eq!(ints(&[1001]), "[   0    1    2 ...  998  999 1000]");
        let square = "[[   0    1    2 ...   37   38   39]\n [  40   41   42 ...   77   78   79]\n \
                      [  80   81   82 ...  117  118  119]\n ...\n [1480 1481 1482 ... 1517 1518 1519]\n \
                      [1520 1521 1522 ... 1557 1558 1559]\n [1560 1561 1562 ... 1597 1598 1599]]";
        assert_eq!(ints(&[40, 40]), square);
        let cube = ints(&[2, 600, 2]);
        assert!(cube.starts_with("[[[   0    1]\n  [   2    3]\n  [   4    5]\n  ...\n"), "{cube}");
        assert!(cube.ends_with("\n  ...\n  [2394 2395]\n  [2396 2397]\n  [2398 2399]]]"), "{cube}");
    }

    #[test]
    fn only_the_edges_of_large_arrays_are_needed() {
        assert_eq!(shown(&[10, 100]), vec![0..1000; 1]);
        assert_eq!(shown(&[1, 1001]), [0..3, 998..1001]);
        assert_eq!(shown(&[7, 200]), [0..3, 197..203, 397..403, 597..600, 800..803, 997..1003, 1197..1203, 1397..1400]);
        assert_eq!(shown(&[500_000, 3]), [0..9, 1_499_991..1_500_000]);
    }

    #[test]
    fn floats_have_as_many_digits_as_tell_them_apart_and_eight_at_most() {
        assert_eq!(floats(&[1.0, 2.5, -3.0]), "[ 1.   2.5 -3. ]");
        assert_eq!(floats(&[0.1, 0.25]), "[0.1  0.25]");
        assert_eq!(floats(&[1.0 / 3.0, 100.0]), "[  0.33333334 100.        ]");
        assert_eq!(floats(&[1e-5, 2.0]), "[1.e-05 2.e+00]");
        // Digits beyond those that distinguish the float are those of its exact value, not zeros.
        assert_eq!(floats(&[0.103_644_04, 1.2345e-5, 0.101148605]), "[1.03644043e-01 1.23450000e-05 1.01148605e-01]");
        assert_eq!(floats(&[-0.462_890_63, 0.5]), "[-0.46289062  0.5       ]");
        let wrapped = "[-0.115321  -0.115321  -0.115321  -0.115321  -0.115321  -0.115321\n  1.2345678]";
        assert_eq!(floats(&[-0.115321, -0.115321, -0.115321, -0.115321, -0.115321, -0.115321, 1.2345678]), wrapped);
        assert_eq!(floats(&[1.5e9, -2.0]), "[ 1.5e+09 -2.0e+00]");
        assert_eq!(floats(&[f32::NAN, 1.0, f32::NEG_INFINITY]), "[ nan   1. -inf]");
        assert_eq!(floats(&[f32::NAN, f32::INFINITY]), "[nan inf]");
        assert_eq!(floats(&[0.0, 0.0]), "[0. 0.]");
        assert_eq!(floats(&[f32::NAN, 1e-10]), "[   nan 1.e-10]");
        let half = arange(DType::F16, &[2], |index| [0x2e66u16, 0x3555][index].to_le_bytes().to_vec());
        assert_eq!(half, "[0.1    0.3333]");
    }

    #[test]
    fn scalars_and_booleans_have_their_own_forms() {
        assert_eq!(arange(DType::F32, &[], |_| 0.1f32.to_le_bytes().to_vec()), "0.1");
        assert_eq!(arange(DType::Bool, &[3], |index| vec![u8::from(index == 1)]), "[False  True False]");
        assert_eq!(arange(DType::Bool, &[1], |_| vec![1]), "[ True]");
        assert_eq!(arange(DType::Bool, &[], |_| vec![1]), "True");
    }
}
