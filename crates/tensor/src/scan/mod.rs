//! Scans a tensor for just what a query asks for, at the speed of memory.

mod bits;
mod histogram;
mod kernel;
mod top;

use std::ops::ControlFlow;

use crate::groups::STEP;
use crate::statistics::{Moments, block_moments};
use crate::{DType, Element, Region, TensorError, TensorView};
pub use histogram::{Bin, Histogram};
use kernel::Step;
pub use top::{TopBy, top_k};

/// What to find in a tensor's elements. A part that is not requested costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScanQuery {
    /// NaN elements. A complex number counts if one of its parts is NaN.
    pub nan: Detail,
    /// Infinite elements, of either sign. A complex number counts if one of its parts is infinite and none is NaN.
    pub infinite: Detail,
    /// Zeros, of either sign.
    pub zeros: Detail,
    /// The smallest and the largest finite element.
    pub range: bool,
    /// The largest magnitude of a finite element.
    pub absmax: bool,
    /// Mean, standard deviation and norm of the finite elements. This is by far the most expensive.
    pub moments: bool,
}

/// How much to find out about one kind of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Detail {
    /// Nothing.
    #[default]
    Nothing,
    /// Whether there is one. The scan ends at the first, if nothing else is requested.
    Presence,
    /// The number of them.
    Count,
}

/// The result of a scan.
///
/// All fields but the counts describe the *finite* elements, as in [`Statistics`](crate::Statistics). They are `None`
/// if there is no finite element or if they were not requested. Integers beyond 2^53 are rounded. Complex numbers have
/// no smallest element, no largest element and no mean; their magnitude counts for `absmax` and `l2`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScanResult {
    /// The elements of the tensor, or of the part that was scanned. This needs no scan.
    pub count: u64,
    /// NaN elements. If only their presence was requested, any number above 0 if there are some.
    pub nan: u64,
    /// Infinite elements. If only their presence was requested, any number above 0 if there are some.
    pub infinite: u64,
    /// Zeros. If only their presence was requested, any number above 0 if there are some.
    pub zeros: u64,
    /// The smallest element.
    pub min: Option<f64>,
    /// The largest element.
    pub max: Option<f64>,
    /// The largest magnitude.
    pub absmax: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The standard deviation around the mean, divided by the number of elements.
    pub std: Option<f64>,
    /// The Euclidean norm.
    pub l2: Option<f64>,
    /// The number of finite elements, if moments were requested.
    finite: u64,
}

impl ScanQuery {
    /// The numbers of NaN and infinite elements.
    pub const NON_FINITE: Self = Self {
        nan: Detail::Count,
        infinite: Detail::Count,
        zeros: Detail::Nothing,
        range: false,
        absmax: false,
        moments: false,
    };

    /// Returns the query for everything that either of the two asks for.
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

    /// Returns the rest of the query: everything except the presence of elements that `found` already shows to be
    /// present.
    pub fn without_present(self, found: &ScanResult) -> Self {
        let left = |detail, found| if detail == Detail::Presence && found > 0 { Detail::Nothing } else { detail };
        Self {
            nan: left(self.nan, found.nan),
            infinite: left(self.infinite, found.infinite),
            zeros: left(self.zeros, found.zeros),
            ..self
        }
    }

    /// Returns the part of the query that the type alone does not answer.
    fn of_type(self, dtype: DType) -> Self {
        let integer = !(dtype.is_float() || dtype.is_complex() || dtype.is_small_float());
        match integer {
            true => Self { nan: Detail::Nothing, infinite: Detail::Nothing, ..self },
            false => self,
        }
    }
}

impl ScanResult {
    /// Scans a tensor, at most once. The memory of a device is copied piece by piece.
    ///
    /// # Errors
    /// Returns an error if the tensor has no byte form or the device cannot read it.
    pub fn of(tensor: &TensorView<'_>, query: ScanQuery) -> Result<Self, TensorError> {
        let mut scan = Scan::new(tensor.dtype(), tensor.elements(), query)?;
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

    /// Scans a part of a tensor, at most once.
    ///
    /// # Errors
    /// The same as [`of`](Self::of).
    ///
    /// # Panics
    /// Panics if the region was made for a tensor of another shape.
    pub fn of_region(tensor: &TensorView<'_>, region: &Region, query: ScanQuery) -> Result<Self, TensorError> {
        let mut scan = Scan::new(tensor.dtype(), region.elements(), query)?;
        if scan.is_open() {
            region.pieces(tensor, |bytes| scan.update(bytes))?;
        }
        Ok(scan.finish())
    }

    /// Returns the joint result of this tensor and another one. Both results must come from the same query.
    pub fn join(self, other: Self) -> Self {
        let either = |join: fn(f64, f64) -> f64, mine: Option<f64>, theirs: Option<f64>| match (mine, theirs) {
            (Some(mine), Some(theirs)) => Some(join(mine, theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        let finite = self.finite + other.finite;
        let share = |of: &Self| of.finite as f64 / finite as f64;
        let together = match (self.mean.zip(self.std), other.mean.zip(other.std)) {
            (Some((mean, std)), Some((other_mean, other_std))) => {
                // The sum of squares around the common mean, by the formula of Chan, Golub and LeVeque.
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

/// Scans a tensor that arrives in pieces.
pub struct Scan {
    dtype: DType,
    elements: u64,
    /// The number of elements that were scanned.
    passed: u64,
    query: ScanQuery,
    part: Part,
    moments: Moments,
    shift: Option<f64>,
}

/// The number of bytes whose moments are summed at once.
const BLOCK: usize = 64 << 10;

impl Scan {
    /// Creates a scan for a tensor of this type and of `elements` elements.
    ///
    /// # Errors
    /// Returns an error if the type has no byte form.
    pub fn new(dtype: DType, elements: usize, query: ScanQuery) -> Result<Self, TensorError> {
        if dtype == DType::String {
            return Err(TensorError::NoBytes(dtype));
        }
        let (query, part, moments) = (query.of_type(dtype), Part::default(), Moments::default());
        Ok(Self { dtype, elements: elements as u64, passed: 0, query, part, moments, shift: None })
    }

    /// Returns whether further elements can change the result.
    pub fn is_open(&self) -> bool {
        let is_found = |detail: Detail, found: u64| match detail {
            Detail::Nothing => true,
            Detail::Presence => found > 0,
            Detail::Count => false,
        };
        let ScanQuery { nan, infinite, zeros, range, absmax, moments } = self.query;
        let part = &self.part;
        let is_closed = is_found(nan, part.nan) && is_found(infinite, part.infinite) && is_found(zeros, part.zeros);
        range || absmax || moments || !is_closed
    }

    /// Scans the next piece, which holds whole elements in order. Breaks if no further piece is needed.
    pub fn update(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        match (self.query.moments, Step::of(self.dtype, self.query)) {
            (true, _) => bytes.chunks(BLOCK).for_each(|block| {
                let left = self.elements - self.passed;
                let moments = block_moments(self.dtype, block, left, &mut self.shift);
                self.passed += moments.count;
                self.moments.add(moments);
                if self.query.absmax && self.dtype.is_complex() {
                    self.part.join(look(self.dtype, block, left, self.query));
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
                    self.part.join(look(self.dtype, bytes, left, self.query));
                    if !self.is_open() {
                        return ControlFlow::Break(());
                    }
                }
            }
        }
        if self.is_open() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Returns the result.
    pub fn finish(self) -> ScanResult {
        let Self { elements: count, query, part, moments, .. } = self;
        if !query.moments {
            let Part { nan, infinite, zeros, min, max, absmax } = part;
            return ScanResult { count, nan, infinite, zeros, min, max, absmax, ..ScanResult::default() };
        }
        let shift = self.shift.unwrap_or(0.0);
        let real = (moments.finite() > 0 && !self.dtype.is_complex()).then_some((moments.min, moments.max));
        let absmax = match self.dtype.is_complex() {
            true => part.absmax,
            false => real.map(|(min, max)| min.abs().max(max.abs())),
        };
        ScanResult {
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

/// The result for some of the elements.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    pub nan: u64,
    pub infinite: u64,
    pub zeros: u64,
    /// This and the following fields count only the finite elements.
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub absmax: Option<f64>,
}

impl Part {
    pub fn join(&mut self, other: Part) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zeros += other.zeros;
        if let Some(min) = other.min {
            self.add_min(min);
        }
        if let Some(max) = other.max {
            self.add_max(max);
        }
        if let Some(absmax) = other.absmax {
            self.add_absmax(absmax);
        }
    }

    pub fn add_min(&mut self, value: f64) {
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
    }

    pub fn add_max(&mut self, value: f64) {
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }

    pub fn add_absmax(&mut self, value: f64) {
        self.absmax = Some(self.absmax.map_or(value, |absmax| absmax.max(value)));
    }
}

/// Scans complex numbers, small floats and 4-bit types, one element at a time.
fn look(dtype: DType, bytes: &[u8], left: u64, query: ScanQuery) -> Part {
    let mut part = Part::default();
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    for element in (0..left).map_while(|index| Element::at(dtype, bytes, index)) {
        let (parts, magnitude) = match element {
            Element::Complex(re, im) => ([re, im], re.hypot(im)),
            real => {
                let value = real.to_f64().expect("all others are real");
                ([value; 2], value.abs())
            }
        };
        if parts.iter().any(|part| part.is_nan()) {
            part.nan += 1;
            continue;
        }
        if parts.iter().any(|part| part.is_infinite()) {
            part.infinite += 1;
            continue;
        }
        part.zeros += u64::from(query.zeros > Detail::Nothing && parts == [0.0; 2]);
        if query.absmax {
            part.add_absmax(magnitude);
        }
        if query.range && !dtype.is_complex() {
            part.add_min(parts[0]);
            part.add_max(parts[0]);
        }
    }
    part
}
