use std::ops::Range;

use opscope_tensor::{DType, RemoteTensor, Tensor, TensorError, TensorView};

/// A tensor in the memory of a program, whose elements may lie anywhere in it.
#[derive(Debug, Clone)]
pub struct Strided<'a> {
    dtype: DType,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<usize>,
    /// From the first element to the end of the last one.
    bytes: &'a [u8],
    size: usize,
}

impl<'a> Strided<'a> {
    /// Returns the number of bytes from the first element to the end of the last one, or `None` if that number is too
    /// large or the elements have no size.
    pub fn extent(dtype: DType, shape: &[usize], strides: &[usize]) -> Option<usize> {
        if shape.contains(&0) {
            return Some(0);
        }
        let Some(size) = dtype.size() else {
            // Elements that share bytes must be contiguous.
            return dtype.bytes_of(shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim))?);
        };
        let furthest = shape
            .iter()
            .zip(strides)
            .try_fold(0usize, |all, (&dim, &stride)| all.checked_add((dim - 1).checked_mul(stride)?))?;
        furthest.checked_add(1)?.checked_mul(size)
    }

    /// Creates a tensor. `strides` are in elements, and `bytes` are those of its [extent](Self::extent).
    ///
    /// # Errors
    /// Returns an error if there are more or fewer bytes, or if elements that share bytes are not contiguous.
    pub fn new(dtype: DType, shape: Vec<usize>, strides: Vec<usize>, bytes: &'a [u8]) -> Result<Self, TensorError> {
        let extent = Self::extent(dtype, &shape, &strides).unwrap_or(usize::MAX);
        if extent != bytes.len() || (dtype.size().is_none() && !is_contiguous(&shape, &strides)) {
            return Err(TensorError::Length { dtype, shape, expected: extent, found: bytes.len() });
        }
        let size = dtype.size().unwrap_or(1);
        Ok(Self { dtype, shape, strides, bytes, size })
    }

    /// Creates a tensor whose elements lie one behind the other.
    pub fn row_major(tensor: &'a Tensor) -> Self {
        let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
        let mut strides = vec![1; shape.len()];
        for dim in (1..shape.len()).rev() {
            strides[dim - 1] = strides[dim] * shape[dim].max(1);
        }
        Self { dtype, shape, strides, bytes: tensor.bytes(), size: dtype.size().unwrap_or(1) }
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns a view of it, row-major. Nothing is copied before it is read.
    pub fn view(&self) -> TensorView<'_> {
        if is_contiguous(&self.shape, &self.strides)
            && let Ok(view) = TensorView::new(self.dtype, &*self.shape, self.bytes)
        {
            return view;
        }
        TensorView::remote(self.dtype, &*self.shape, self)
    }
}

impl RemoteTensor for Strided<'_> {
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), String> {
        let size = self.size;
        if !range.start.is_multiple_of(size) || !range.end.is_multiple_of(size) {
            return Err(format!("{range:?} is not a range of whole elements of {size} bytes"));
        }
        // The innermost dimension is read in a loop of its own.
        let (inner, step) = match (self.shape.last(), self.strides.last()) {
            (Some(&dim), Some(&stride)) => (dim.max(1), stride),
            _ => (1, 1),
        };
        let mut element = range.start / size;
        let mut rest = into;
        while !rest.is_empty() {
            let (row, column) = (element / inner, element % inner);
            let rows = self.turned_rows(row, column, rest.len() / size);
            if rows > 1 {
                let (now, after) = rest.split_at_mut(rows * inner * size);
                copy_turned(now, &self.bytes[self.row_offset(row) * size..], size, rows, step);
                element += rows * inner;
                rest = after;
                continue;
            }
            let count = (inner - column).min(rest.len() / size);
            let (now, after) = rest.split_at_mut(count * size);
            let start = self.row_offset(row) + column * step;
            if step == 1 {
                now.copy_from_slice(&self.bytes[start * size..(start + count) * size]);
            } else {
                copy_strided(now, &self.bytes[start * size..], size, step);
            }
            element += count;
            rest = after;
        }
        Ok(())
    }
}

impl Strided<'_> {
    /// Returns how many whole rows of a transposed matrix begin here, but at most as many as `elements` fill. In such a
    /// matrix, elements below each other are neighbours in memory.
    fn turned_rows(&self, row: usize, column: usize, elements: usize) -> usize {
        let (Some((&inner, outer)), Some((&step, steps))) = (self.shape.split_last(), self.strides.split_last()) else {
            return 0;
        };
        match (outer.last(), steps.last()) {
            (Some(&height), Some(1)) if column == 0 && step > 1 => (height - row % height).min(elements / inner.max(1)),
            _ => 0,
        }
    }

    /// Returns the offset of a row of the innermost dimension, in elements.
    fn row_offset(&self, row: usize) -> usize {
        let outer = self.shape.len().saturating_sub(1);
        let (mut rest, mut offset) = (row, 0);
        for axis in (0..outer).rev() {
            offset += rest % self.shape[axis] * self.strides[axis];
            rest /= self.shape[axis];
        }
        offset
    }
}

fn copy_strided(into: &mut [u8], from: &[u8], size: usize, step: usize) {
    /// Elements of a fixed size, so that each is moved at once.
    fn copy<const SIZE: usize>(into: &mut [u8], from: &[u8], step: usize) {
        for (index, element) in into.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
            let at = index * step * SIZE;
            element.copy_from_slice(&from[at..at + SIZE]);
        }
    }
    match size {
        1 => copy::<1>(into, from, step),
        2 => copy::<2>(into, from, step),
        4 => copy::<4>(into, from, step),
        8 => copy::<8>(into, from, step),
        _ => copy::<16>(into, from, step),
    }
}

/// Copies rows of a transposed matrix, whose columns lie `step` elements apart. It copies a few columns at a time,
/// because their elements share cache lines with those of the next rows.
fn copy_turned(into: &mut [u8], from: &[u8], size: usize, rows: usize, step: usize) {
    const COLUMNS: usize = 16;

    fn copy<const SIZE: usize>(into: &mut [u8], from: &[u8], rows: usize, step: usize) {
        let into = into.as_chunks_mut::<SIZE>().0;
        let from = from.as_chunks::<SIZE>().0;
        let inner = into.len() / rows;
        for first in (0..inner).step_by(COLUMNS) {
            let columns = first..(first + COLUMNS).min(inner);
            for row in 0..rows {
                for column in columns.clone() {
                    into[row * inner + column] = from[column * step + row];
                }
            }
        }
    }
    match size {
        1 => copy::<1>(into, from, rows, step),
        2 => copy::<2>(into, from, rows, step),
        4 => copy::<4>(into, from, rows, step),
        8 => copy::<8>(into, from, rows, step),
        _ => copy::<16>(into, from, rows, step),
    }
}

/// Returns whether the elements are contiguous.
fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = 1;
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim != 1 && stride != expected {
            return false;
        }
        expected *= dim;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dtype: DType, shape: &[usize], strides: &[usize], bytes: &[u8]) -> Vec<u8> {
        let strided = Strided::new(dtype, shape.to_vec(), strides.to_vec(), bytes).unwrap();
        let view = strided.view();
        let mut whole = vec![0; view.byte_len().unwrap()];
        view.read(0..whole.len(), &mut whole).unwrap();
        // The size of the pieces makes no difference.
        let size = dtype.size().unwrap();
        for length in [size, 3 * size] {
            for (index, expected) in whole.chunks(length).enumerate() {
                let mut piece = vec![0; expected.len()];
                view.read(index * length..index * length + expected.len(), &mut piece).unwrap();
                assert_eq!(piece, expected);
            }
        }
        whole
    }

    #[test]
    fn elements_come_row_by_row_wherever_they_lie() {
        let bytes: Vec<u8> = (0..6).collect();
        assert_eq!(read(DType::U8, &[2, 3], &[3, 1], &bytes), [0, 1, 2, 3, 4, 5]);
        assert_eq!(read(DType::U8, &[3, 2], &[1, 3], &bytes), [0, 3, 1, 4, 2, 5], "transposed");
        assert_eq!(read(DType::U8, &[2, 3], &[0, 1], &bytes[..3]), [0, 1, 2, 0, 1, 2], "expanded");
        assert_eq!(read(DType::U8, &[2, 2], &[3, 2], &bytes), [0, 2, 3, 5], "every second column");
        let wide: Vec<u8> = (0..32).collect();
        assert_eq!(read(DType::U16, &[2, 1, 2], &[1, 9, 2], &wide[..8]), [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(read(DType::U16, &[2, 2], &[1, 2], &wide[..8]), [0, 1, 4, 5, 2, 3, 6, 7]);
        assert_eq!(read(DType::Complex128, &[2], &[1], &wide), wide);
    }

    #[test]
    fn transposed_matrices_are_read_as_their_elements_one_by_one() {
        let (depth, height, width) = (2, 19, 37);
        let bytes: Vec<u8> = (0..depth * height * width * 4).map(|number| (number * 7 % 251) as u8).collect();
        let strides = [height * width, 1, height];
        let strided = Strided::new(DType::F32, vec![depth, height, width], strides.to_vec(), &bytes).unwrap();
        let element = |number: usize| {
            let place = [number / (height * width), number / width % height, number % width];
            let offset: usize = place.iter().zip(strides).map(|(index, stride)| index * stride).sum();
            &bytes[offset * 4..(offset + 1) * 4]
        };
        // From any element to any other, so that rows begin and end in the middle.
        for (begin, end) in [(0, depth * height * width), (5, 36), (36, 40), (37, 37 * 17 + 3), (37 * 18, 37 * 21)] {
            let mut read = vec![0; (end - begin) * 4];
            strided.read(begin * 4..end * 4, &mut read).unwrap();
            let expected: Vec<u8> = (begin..end).flat_map(element).copied().collect();
            assert_eq!(read, expected, "{begin}..{end}");
        }
    }

    #[test]
    fn a_tensor_needs_the_bytes_of_its_extent() {
        assert_eq!(Strided::extent(DType::F32, &[2, 3], &[1, 2]), Some(24));
        assert_eq!(Strided::extent(DType::F32, &[2, 3], &[0, 1]), Some(12));
        assert_eq!(Strided::extent(DType::F32, &[0, 3], &[3, 1]), Some(0));
        assert_eq!(Strided::extent(DType::F32, &[], &[]), Some(4));
        assert_eq!(Strided::extent(DType::F32, &[usize::MAX], &[2]), None);
        assert!(Strided::new(DType::F32, vec![2], vec![1], &[0; 4]).is_err());
        assert!(Strided::new(DType::I4, vec![2, 2], vec![1, 2], &[0; 2]).is_err(), "two elements share a byte");
    }
}
