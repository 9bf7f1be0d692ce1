use std::ops::{ControlFlow, Range};

use super::gather::{self, Step};
use super::{Axis, Slice, SliceError};
use crate::{Tensor, TensorError, TensorView};

/// The elements that a slice chooses in tensors of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The shape of the tensors that the region fits.
    source: Vec<usize>,
    shape: Vec<usize>,
    /// The index of the first element.
    first: usize,
    /// The same elements as `shape`, with as few axes as possible, slowest first.
    steps: Vec<Step>,
}

/// The number of bytes that are copied at once if the elements are not contiguous.
const PIECE: usize = 64 << 10;

impl Region {
    pub(super) fn new(slice: &Slice, source: &[usize]) -> Result<Self, SliceError> {
        let entries = slice.axes().iter().filter(|axis| !matches!(axis, Axis::Ellipsis)).count();
        let too_many = || SliceError::TooManyAxes { entries, shape: source.to_vec() };
        let missing = source.len().checked_sub(entries).ok_or_else(too_many)?;
        let elements = source.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
        if elements.is_none_or(|elements| isize::try_from(elements).is_err()) {
            return Err(TensorError::TooLarge(source.to_vec()).into());
        }
        // This saturates. Only a tensor without elements has strides that overflow, and they are not used then.
        let mut strides = vec![1usize; source.len()];
        for axis in (1..source.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(source[axis]);
        }

        let whole = Axis::Range { start: None, stop: None, step: 1 };
        let expanded = slice.axes().iter().flat_map(|&axis| match axis {
            Axis::Ellipsis => std::iter::repeat_n(whole, missing),
            axis => std::iter::repeat_n(axis, 1),
        });
        let (mut first, mut shape, mut steps) = (0usize, Vec::new(), Vec::new());
        let axes = expanded.chain(std::iter::repeat(whole)).zip(source.iter().zip(strides)).enumerate();
        for (number, (axis, (&size, stride))) in axes {
            match axis {
                Axis::Index(index) => first = first.saturating_add(place(number, size, index)?.saturating_mul(stride)),
                Axis::Range { start, stop, step } => {
                    let (start, count) = places(size, start, stop, step);
                    first = first.saturating_add(start.saturating_mul(stride));
                    shape.push(count);
                    // If there is more than one index, the step is smaller than the axis, so this is exact.
                    let stride = (step as i128 * stride as i128).clamp(isize::MIN as i128, isize::MAX as i128);
                    steps.push(Step { count, stride: stride as isize });
                }
                Axis::Ellipsis => unreachable!("every ellipsis became whole axes"),
            }
        }
        let steps = if shape.contains(&0) { vec![Step { count: 0, stride: 1 }] } else { joined(&steps) };
        Ok(Self { source: source.to_vec(), shape, first, steps })
    }

    /// Returns the region of a whole tensor of this shape.
    ///
    /// # Errors
    /// Returns an error if the shape has more elements than can be addressed.
    pub fn whole(shape: &[usize]) -> Result<Self, TensorError> {
        Self::new(&Slice::all(), shape).map_err(|_| TensorError::TooLarge(shape.to_vec()))
    }

    /// Returns the shape of the chosen part.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of chosen elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the range of the chosen elements in the tensor, or `None` if they are not contiguous and in order.
    pub fn contiguous(&self) -> Option<Range<usize>> {
        match *self.steps {
            [] => Some(self.first..self.first + 1),
            [Step { count: 0, .. }] => Some(0..0),
            [Step { count, stride: 1 }] => Some(self.first..self.first + count),
            _ => None,
        }
    }

    /// Returns a contiguous copy of the chosen elements.
    ///
    /// # Errors
    /// Returns an error if the tensor has no byte form or the device cannot read it.
    ///
    /// # Panics
    /// Panics if the tensor's shape is not the one that the region was made for, as do the other functions that take a
    /// tensor.
    pub fn copy(&self, tensor: &TensorView<'_>) -> Result<Tensor, TensorError> {
        self.page(tensor, 0, usize::MAX)?.reshaped(self.shape.clone())
    }

    /// Returns a copy of some of the chosen elements as a tensor of one axis: at most `count` elements, beginning with
    /// the one at `offset`. Past the end the tensor is empty.
    ///
    /// # Errors
    /// The same as [`copy`](Self::copy).
    pub fn page(&self, tensor: &TensorView<'_>, offset: usize, count: usize) -> Result<Tensor, TensorError> {
        let offset = offset.min(self.elements());
        let count = count.min(self.elements() - offset);
        let no_bytes = || TensorError::NoBytes(tensor.dtype());
        let length = tensor.byte_len().and(tensor.dtype().bytes_of(count)).ok_or_else(no_bytes)?;
        let mut bytes = vec![0; length];
        self.gather(tensor, offset..offset + count, &mut bytes)?;
        Tensor::new(tensor.dtype(), vec![count], bytes)
    }

    /// Passes all chosen elements in order to `take`, piece by piece, until it breaks. Contiguous elements in the
    /// host's memory are passed at once and without a copy. Others are copied piece by piece.
    ///
    /// # Errors
    /// The same as [`copy`](Self::copy).
    pub fn pieces(
        &self,
        tensor: &TensorView<'_>,
        mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), TensorError> {
        let elements = self.elements();
        if elements == 0 {
            return Ok(());
        }
        if let (Some(range), Some(bytes)) = (self.contiguous(), tensor.bytes()) {
            self.check(tensor);
            if elements == tensor.elements() {
                let _ = take(bytes);
                return Ok(());
            }
            if let Some(size) = tensor.dtype().size() {
                let _ = take(&bytes[range.start * size..range.end * size]);
                return Ok(());
            }
        }
        let no_bytes = || TensorError::NoBytes(tensor.dtype());
        let length = tensor.byte_len().and(tensor.dtype().elements_in(PIECE)).ok_or_else(no_bytes)?;
        let mut copy = vec![0; tensor.dtype().bytes_of(length.min(elements)).ok_or_else(no_bytes)?];
        for start in (0..elements).step_by(length) {
            let range = start..(start + length).min(elements);
            let copy = &mut copy[..tensor.dtype().bytes_of(range.len()).ok_or_else(no_bytes)?];
            self.gather(tensor, range, copy)?;
            if take(copy).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn gather(&self, tensor: &TensorView<'_>, range: Range<usize>, into: &mut [u8]) -> Result<(), TensorError> {
        self.check(tensor);
        gather::gather(tensor, self.first, &self.steps, range, into)
    }

    fn check(&self, tensor: &TensorView<'_>) {
        assert_eq!(self.source, tensor.shape(), "the region was made for tensors of another shape");
    }
}

/// Returns the position for an index, which may count from the end.
fn place(axis: usize, size: usize, index: i64) -> Result<usize, SliceError> {
    let place = if index < 0 { size as i128 + i128::from(index) } else { i128::from(index) };
    let inside = usize::try_from(place).ok().filter(|&place| place < size);
    inside.ok_or(SliceError::OutOfRange { axis, size, index })
}

/// Returns the first position of a range and the number of positions, as Python's `slice.indices` does.
fn places(size: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> (usize, usize) {
    let (size, step) = (size as i128, i128::from(step));
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let inside = |number: i64| {
        let number = i128::from(number);
        (if number < 0 { number + size } else { number }).clamp(lowest, highest)
    };
    let (begin, end) = if step > 0 { (lowest, highest) } else { (highest, lowest) };
    let (start, stop) = (start.map_or(begin, inside), stop.map_or(end, inside));
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = if distance > 0 { (distance - 1) / step.abs() + 1 } else { 0 };
    // An empty range may begin before the first position.
    (start.max(0) as usize, count as usize)
}

/// Drops steps with one position, and joins adjacent steps without a gap between them.
fn joined(steps: &[Step]) -> Vec<Step> {
    let mut joined: Vec<Step> = Vec::new();
    for &step in steps.iter().filter(|step| step.count != 1) {
        match joined.last_mut() {
            Some(last) if step.stride.checked_mul(step.count as isize) == Some(last.stride) => {
                *last = Step { count: last.count * step.count, stride: step.stride };
            }
            _ => joined.push(step),
        }
    }
    joined
}
