use std::ops::Range;

use crate::{DType, TensorError, TensorView};

/// A series of equally spaced elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub count: usize,
    /// The distance from one element to the next, in elements.
    pub stride: isize,
}

/// Copies the chosen elements of `range`, packed and in order. Element 0 is at `first`, and `steps` lead to the others.
pub(super) fn gather(
    tensor: &TensorView<'_>,
    first: usize,
    steps: &[Step],
    range: Range<usize>,
    into: &mut [u8],
) -> Result<(), TensorError> {
    let rows = Rows::new(first, steps, range);
    match (tensor.dtype().size(), tensor.bytes()) {
        (None, _) => halves(tensor, rows, into),
        (Some(1), Some(bytes)) => together::<1>(bytes, rows, into),
        (Some(2), Some(bytes)) => together::<2>(bytes, rows, into),
        (Some(4), Some(bytes)) => together::<4>(bytes, rows, into),
        (Some(8), Some(bytes)) => together::<8>(bytes, rows, into),
        (Some(16), Some(bytes)) => together::<16>(bytes, rows, into),
        (Some(size), _) => apart(tensor, size, rows, into),
    }
}

/// Copies elements from the host's memory.
fn together<const SIZE: usize>(bytes: &[u8], rows: Rows<'_>, into: &mut [u8]) -> Result<(), TensorError> {
    let (elements, _) = bytes.as_chunks::<SIZE>();
    let (mut into, _) = into.as_chunks_mut::<SIZE>();
    for row in rows {
        let part;
        (part, into) = into.split_at_mut(row.count);
        match row.stride {
            1 => part.copy_from_slice(&elements[row.first..row.first + row.count]),
            _ => part.iter_mut().zip(row.places()).for_each(|(into, place)| *into = elements[place]),
        }
    }
    Ok(())
}

/// Copies elements from a device's memory.
fn apart(tensor: &TensorView<'_>, size: usize, rows: Rows<'_>, mut into: &mut [u8]) -> Result<(), TensorError> {
    for row in rows {
        let part;
        (part, into) = into.split_at_mut(row.count * size);
        match row.stride {
            1 => tensor.read(row.first * size..(row.first + row.count) * size, part)?,
            _ => row.places().zip(part.chunks_mut(size)).try_for_each(|(place, into)| {
                let start = place * size;
                tensor.read(start..start + size, into)
            })?,
        }
    }
    Ok(())
}

/// Copies elements of 4 bits.
fn halves(tensor: &TensorView<'_>, rows: Rows<'_>, into: &mut [u8]) -> Result<(), TensorError> {
    debug_assert_ne!(tensor.dtype(), DType::String, "strings have no bytes");
    into.fill(0);
    for (number, place) in rows.flat_map(|row| row.places()).enumerate() {
        let mut byte = [0];
        tensor.read(place / 2..place / 2 + 1, &mut byte)?;
        into[number / 2] |= (byte[0] >> (place % 2 * 4) & 0xf) << (number % 2 * 4);
    }
    Ok(())
}

/// A row of equally spaced elements.
#[derive(Clone, Copy)]
struct Row {
    first: usize,
    count: usize,
    stride: isize,
}

impl Row {
    fn places(self) -> impl Iterator<Item = usize> {
        (0..self.count as isize).map(move |number| self.first.wrapping_add_signed(number * self.stride))
    }
}

/// Iterates over the rows that contain some of the chosen elements.
struct Rows<'a> {
    steps: &'a [Step],
    /// The position in each step. The last one counts within a row.
    at: Vec<usize>,
    /// The index of the element at `at`.
    place: usize,
    left: usize,
}

impl<'a> Rows<'a> {
    fn new(first: usize, steps: &'a [Step], range: Range<usize>) -> Self {
        let (mut at, mut place) = (vec![0; steps.len()], first);
        if range.is_empty() {
            return Self { steps, at, place, left: 0 };
        }
        let mut number = range.start;
        for (at, step) in at.iter_mut().zip(steps).rev() {
            *at = number % step.count;
            number /= step.count;
            place = place.wrapping_add_signed(*at as isize * step.stride);
        }
        Self { steps, at, place, left: range.len() }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.left == 0 {
            return None;
        }
        let first = self.place;
        let Some((inner, outer)) = self.steps.split_last() else {
            self.left = 0;
            return Some(Row { first, count: 1, stride: 1 });
        };
        let (inner_at, outer_at) = self.at.split_last_mut().expect("there is one for each step");
        let count = (inner.count - *inner_at).min(self.left);
        self.left -= count;
        // Back to the beginning of this row, then on to the next one.
        self.place = first.wrapping_add_signed(-(*inner_at as isize) * inner.stride);
        *inner_at = 0;
        for (at, step) in outer_at.iter_mut().zip(outer).rev() {
            *at += 1;
            self.place = self.place.wrapping_add_signed(step.stride);
            if *at < step.count {
                break;
            }
            *at = 0;
            self.place = self.place.wrapping_add_signed(-(step.count as isize) * step.stride);
        }
        Some(Row { first, count, stride: inner.stride })
    }
}
