//! Looks through a tensor for just what is asked, as fast as memory gives it.

mod bits;
mod histogram;
mod kernel;
mod others;
mod part;
mod top;

use std::ops::ControlFlow;

use crate::statistics::{Moments, block_moments};
use crate::{DType, Region, TensorError, TensorView};
use kernel::Step;
use part::Part;

pub use histogram::{Bin, Histogram};
pub use top::{TopBy, top_k};

/// What is to be found out about a tensor's elements. What is not asked costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Asked {
    /// Elements that are not a number; a complex number if a part of it is not.
    pub nan: Depth,
    /// Elements that are infinite, of either sign; a complex number if a part of it is, and none is NaN.
    pub infinite: Depth,
    /// Elements that are zero, of either sign.
    pub zeros: Depth,
    /// The smallest and the largest finite element.
    pub range: bool,
    /// The largest magnitude of a finite element.
    pub absmax: bool,
    /// Mean, standard deviation and norm of the finite elements. This is by far the most expensive.
    pub moments: bool,
}

/// How much is to be found out about elements of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Depth {
    /// Nothing.
    #[default]
    Nothing,
    /// Whether there is one. The search ends with the first, if nothing else is asked.
    Presence,
    /// How many there are.
    Count,
}

/// What was found out about a tensor's elements.
///
/// All but the counts are those of the *finite* elements, as in [`Statistics`](crate::Statistics), and are none where
/// there is no finite element or where they were not asked. Integers beyond 2^53 are rounded. Complex numbers have no
/// smallest and largest element and no mean; their magnitude counts for `absmax` and `l2`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Findings {
    /// Elements of the tensor, or of the part of it that was looked through. This needs no look at them.
    pub count: u64,
    /// Elements that are not a number. If only their presence was asked: some number above 0 if there are any.
    pub nan: u64,
    /// Elements that are infinite. If only their presence was asked: some number above 0 if there are any.
    pub infinite: u64,
    /// Elements that are zero. If only their presence was asked: some number above 0 if there are any.
    pub zeros: u64,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// The largest magnitude.
    pub absmax: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation around the mean, divided by the number of elements.
    pub std: Option<f64>,
    /// The Euclidean norm.
    pub l2: Option<f64>,
    /// Finite elements, where moments were asked.
    finite: u64,
}

impl Asked {
    /// What either asks.
    pub fn or(self, other: Self) -> Self {
        Self {
            nan: self.nan.max(other.nan),
            infinite: self.infinite.max(other.infinite),
            zeros: self.zeros.max(other.zeros),
            range: self.range || other.range,
            absmax: self.absmax || other.absmax,
            moments: self.moments || other.moments,
        }
    }

    /// What is still to be found out, if nothing that is there needs to be found a second time.
    pub fn without_present(self, found: &Findings) -> Self {
        let left = |depth, found| if depth == Depth::Presence && found > 0 { Depth::Nothing } else { depth };
        Self {
            nan: left(self.nan, found.nan),
            infinite: left(self.infinite, found.infinite),
            zeros: left(self.zeros, found.zeros),
            ..self
        }
    }

    /// What has no answer from the type alone.
    fn of_type(self, dtype: DType) -> Self {
        let integer = !(dtype.is_float() || dtype.is_complex() || dtype.is_small_float());
        match integer {
            true => Self { nan: Depth::Nothing, infinite: Depth::Nothing, ..self },
            false => self,
        }
    }
}

impl Findings {
    /// Looks through a tensor, once at most. A device's memory is copied piece by piece.
    ///
    /// # Errors
    /// When the tensor has no bytes or the device does not give them.
    pub fn of(tensor: &TensorView<'_>, asked: Asked) -> Result<Self, TensorError> {
        let mut scan = Scan::new(tensor.dtype(), tensor.elements(), asked)?;
        if scan.is_open() {
            match tensor.bytes() {
                Some(bytes) => {
                    let _ = scan.update(bytes);
                }
                None => Region::whole(tensor.shape())?.pieces(tensor, |bytes| scan.update(bytes))?,
            }
        }
        Ok(scan.finish())
    }

    /// Looks through a part of a tensor, once at most.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    ///
    /// # Panics
    /// When the region was made for a tensor of another shape.
    pub fn of_region(tensor: &TensorView<'_>, region: &Region, asked: Asked) -> Result<Self, TensorError> {
        let mut scan = Scan::new(tensor.dtype(), region.elements(), asked)?;
        if scan.is_open() {
            region.pieces(tensor, |bytes| scan.update(bytes))?;
        }
        Ok(scan.finish())
    }

    /// What is to be said of this tensor and another one together. The same was asked of both.
    pub fn join(self, other: Self) -> Self {
        let either = |join: fn(f64, f64) -> f64, mine: Option<f64>, theirs: Option<f64>| match (mine, theirs) {
            (Some(mine), Some(theirs)) => Some(join(mine, theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        let finite = self.finite + other.finite;
        let share = |of: &Self| of.finite as f64 / finite as f64;
        let together = match (self.mean.zip(self.std), other.mean.zip(other.std)) {
            (Some((mean, std)), Some((other_mean, other_std))) => {
                // The mean of the squares around the common mean, by Chan, Golub and LeVeque's formula.
                let (mine, theirs, between) = (share(&self), share(&other), mean - other_mean);
                let variance = mine * std * std + theirs * other_std * other_std + mine * theirs * between * between;
                let sum = self.finite as f64 * mean + other.finite as f64 * other_mean;
                Some((sum / finite as f64, variance.sqrt()))
            }
            (mine, theirs) => mine.or(theirs),
        };
        Self {
            count: self.count + other.count,
            nan: self.nan + other.nan,
            infinite: self.infinite + other.infinite,
            zeros: self.zeros + other.zeros,
            min: either(f64::min, self.min, other.min),
            max: either(f64::max, self.max, other.max),
            absmax: either(f64::max, self.absmax, other.absmax),
            mean: together.map(|(mean, _)| mean),
            std: together.map(|(_, std)| std),
            l2: either(f64::hypot, self.l2, other.l2),
            finite,
        }
    }
}

/// Looks through a tensor that comes in pieces.
pub struct Scan {
    dtype: DType,
    elements: u64,
    /// Elements that were looked at.
    passed: u64,
    asked: Asked,
    part: Part,
    moments: Moments,
    shift: Option<f64>,
}

/// Bytes that more than one question is asked about while they are in the first-level cache. With more, the processor is
/// kept from reading ahead from memory.
const STEP: usize = 4 << 10;

/// Bytes whose moments are summed at once.
const BLOCK: usize = 64 << 10;

impl Scan {
    /// For a tensor of this type, of so many elements.
    ///
    /// # Errors
    /// When the type has no bytes.
    pub fn new(dtype: DType, elements: usize, asked: Asked) -> Result<Self, TensorError> {
        if dtype == DType::String {
            return Err(TensorError::NoBytes(dtype));
        }
        let (asked, part, moments) = (asked.of_type(dtype), Part::default(), Moments::default());
        Ok(Self { dtype, elements: elements as u64, passed: 0, asked, part, moments, shift: None })
    }

    /// Whether further elements can change what was found.
    pub fn is_open(&self) -> bool {
        let is_found = |depth: Depth, found: u64| match depth {
            Depth::Nothing => true,
            Depth::Presence => found > 0,
            Depth::Count => false,
        };
        let Asked { nan, infinite, zeros, range, absmax, moments } = self.asked;
        let part = &self.part;
        let is_closed = is_found(nan, part.nan) && is_found(infinite, part.infinite) && is_found(zeros, part.zeros);
        range || absmax || moments || !is_closed
    }

    /// Takes the next piece: whole elements, in order. Breaks when no further piece is needed.
    pub fn update(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        match (self.asked.moments, Step::of(self.dtype, self.asked)) {
            (true, _) => bytes.chunks(BLOCK).for_each(|block| {
                let left = self.elements - self.passed;
                let moments = block_moments(self.dtype, block, left, &mut self.shift);
                self.passed += moments.count;
                self.moments.add(moments);
                if self.asked.absmax && self.dtype.is_complex() {
                    self.part.join(others::look(self.dtype, block, left, self.asked));
                }
            }),
            (false, Some(step)) => {
                for bytes in bytes.chunks(STEP) {
                    step.look(bytes, &mut self.part);
                    if !self.is_open() {
                        return ControlFlow::Break(());
                    }
                }
            }
            (false, None) => {
                for bytes in bytes.chunks(STEP) {
                    let left = self.elements - self.passed;
                    self.passed += left.min(self.dtype.elements_in(bytes.len()).unwrap_or(0) as u64);
                    self.part.join(others::look(self.dtype, bytes, left, self.asked));
                    if !self.is_open() {
                        return ControlFlow::Break(());
                    }
                }
            }
        }
        if self.is_open() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// What was found.
    pub fn finish(self) -> Findings {
        let Self { elements: count, asked, part, moments, .. } = self;
        if !asked.moments {
            let Part { nan, infinite, zeros, min, max, absmax } = part;
            return Findings { count, nan, infinite, zeros, min, max, absmax, ..Findings::default() };
        }
        let shift = self.shift.unwrap_or(0.0);
        let real = (moments.finite() > 0 && !self.dtype.is_complex()).then_some((moments.min, moments.max));
        let absmax = match self.dtype.is_complex() {
            true => part.absmax,
            false => real.map(|(min, max)| min.abs().max(max.abs())),
        };
        Findings {
            count,
            nan: moments.nan,
            infinite: moments.positive_infinite + moments.negative_infinite,
            zeros: moments.zeros,
            min: real.map(|(min, _)| min),
            max: real.map(|(_, max)| max),
            absmax,
            mean: real.map(|_| moments.mean(shift)),
            std: real.map(|_| moments.std()),
            l2: (moments.finite() > 0).then(|| moments.l2(shift)),
            finite: moments.finite(),
        }
    }
}
