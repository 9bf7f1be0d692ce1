use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use super::{Detail, Scan, ScanQuery, ScanResult};
use crate::{DType, Element, Region, TensorError, TensorView};

/// The order in which elements are the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TopBy {
    /// By their value. Complex numbers have no order.
    #[default]
    Value,
    /// By their magnitude.
    Magnitude,
}

/// The number of elements that are scanned or skipped as a block. Even, for 4-bit types.
const BLOCK: usize = 4096;

/// Returns the `k` largest elements with their flat indices, the largest first. Equal elements are in the order of the
/// tensor. Infinities are included and NaN is not. A tensor with fewer elements returns all of them. Integers are
/// compared exactly. The cost is little more than that of reading the tensor, unless its elements grow from the
/// beginning to the end.
///
/// # Errors
/// Returns an error if the tensor has no byte form, if the device cannot read it, or if complex numbers are to be
/// ordered by value.
pub fn top_k(tensor: &TensorView<'_>, k: usize, by: TopBy) -> Result<Vec<(usize, Element)>, TensorError> {
    let dtype = tensor.dtype();
    if by == TopBy::Value && dtype.is_complex() {
        return Err(TensorError::NoOrder(dtype));
    }
    let mut top = Top { dtype, by, k, kept: BinaryHeap::new() };
    let length = dtype.bytes_of(BLOCK).ok_or(TensorError::NoBytes(dtype))?;
    let mut start = 0;
    Region::whole(tensor.shape())?.pieces(tensor, |piece| {
        for block in piece.chunks(length) {
            let elements = BLOCK.min(tensor.elements() - start);
            top.block(block, start, elements);
            start += elements;
        }
        ControlFlow::Continue(())
    })?;
    let kept = top.kept.into_sorted_vec();
    Ok(kept.into_iter().map(|Reverse(candidate)| (candidate.index, candidate.element)).collect())
}

/// The largest elements so far. The smallest of them is replaced first.
struct Top {
    dtype: DType,
    by: TopBy,
    k: usize,
    kept: BinaryHeap<Reverse<Candidate>>,
}

impl Top {
    fn block(&mut self, block: &[u8], start: usize, elements: usize) {
        if self.k == 0 || !self.may_enter(block, elements) {
            return;
        }
        for index in 0..elements {
            let element = Element::at(self.dtype, block, index).expect("the block has as many elements");
            let Some(key) = Key::of(element, self.by) else { continue };
            let candidate = Candidate { key, index: start + index, element };
            if self.kept.len() < self.k {
                self.kept.push(Reverse(candidate));
            } else if self.kept.peek().is_some_and(|Reverse(least)| candidate > *least) {
                self.kept.pop();
                self.kept.push(Reverse(candidate));
            }
        }
    }

    /// Returns whether a block has an element that is larger than the smallest kept one.
    fn may_enter(&self, block: &[u8], elements: usize) -> bool {
        let Some(Reverse(least)) = self.kept.peek().filter(|_| self.kept.len() == self.k) else { return true };
        // Rounding keeps the order, but may make a larger integer equal.
        let (least, rounded) = match least.key {
            Key::Integer(least) => (least as f64, true),
            Key::Real(least) => (least, false),
        };
        let query = match self.by {
            TopBy::Value => ScanQuery { range: true, infinite: Detail::Presence, ..ScanQuery::default() },
            TopBy::Magnitude => ScanQuery { absmax: true, infinite: Detail::Presence, ..ScanQuery::default() },
        };
        let mut scan = Scan::new(self.dtype, elements, query).expect("the type has bytes");
        let _ = scan.update(block);
        let ScanResult { infinite, max, absmax, .. } = scan.finish();
        let largest = if self.by == TopBy::Value { max } else { absmax };
        infinite > 0 || largest.is_some_and(|largest| largest > least || rounded && largest == least)
    }
}

/// One element. A candidate is less if its element is smaller, or if it is equal and comes later in the tensor.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    key: Key,
    index: usize,
    element: Element,
}

/// The value that elements are compared by. All elements of a tensor have the same variant.
#[derive(Debug, Clone, Copy)]
enum Key {
    Integer(i128),
    Real(f64),
}

impl Key {
    /// Returns `None` for NaN.
    fn of(element: Element, by: TopBy) -> Option<Self> {
        let magnitude = by == TopBy::Magnitude;
        let key = match element {
            Element::Bool(value) => Key::Integer(i128::from(value)),
            Element::Int(value) if magnitude => Key::Integer(i128::from(value).abs()),
            Element::Int(value) => Key::Integer(i128::from(value)),
            Element::UInt(value) => Key::Integer(i128::from(value)),
            Element::Complex(re, im) => Key::Real(re.hypot(im)),
            Element::F32(value) if magnitude => Key::Real(f64::from(value.abs())),
            Element::F32(value) => Key::Real(f64::from(value)),
            Element::F64(value) if magnitude => Key::Real(value.abs()),
            Element::F64(value) => Key::Real(value),
        };
        Some(key).filter(|key| !matches!(key, Key::Real(value) if value.is_nan()))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = match (self.key, other.key) {
            (Key::Integer(mine), Key::Integer(theirs)) => mine.cmp(&theirs),
            // Neither is NaN; the two zeros are equal.
            (Key::Real(mine), Key::Real(theirs)) => mine.partial_cmp(&theirs).unwrap_or(Ordering::Equal),
            (Key::Integer(_), Key::Real(_)) => Ordering::Less,
            (Key::Real(_), Key::Integer(_)) => Ordering::Greater,
        };
        by_key.then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
