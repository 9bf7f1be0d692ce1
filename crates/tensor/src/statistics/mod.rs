mod block;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;

use crate::hash::Hash;
use crate::{DType, Digest, TensorError, TensorView};

/// Statistics of a tensor's elements.
///
/// `min`, `max`, `mean`, `std` and `l2` describe the *finite* elements, so they are meaningful even if some elements
/// are not finite. They are `None` if there is no finite element. For complex numbers only `l2` is defined. Integers
/// beyond 2^53 are rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// The number of elements.
    pub count: u64,
    /// Elements that are NaN.
    pub nan: u64,
    /// Elements that are +infinity. A complex number with an infinite part counts here.
    pub positive_infinite: u64,
    /// Elements that are -infinity.
    pub negative_infinite: u64,
    /// Elements that are zero, of either sign.
    pub zeros: u64,
    /// The smallest finite element.
    pub min: Option<f64>,
    /// The largest finite element.
    pub max: Option<f64>,
    /// The mean of the finite elements, summed in double precision.
    pub mean: Option<f64>,
    /// The standard deviation of the finite elements around that mean, divided by their number as in numpy.
    pub std: Option<f64>,
    /// The Euclidean norm: the root of the sum of the squares of the finite elements.
    pub l2: Option<f64>,
    /// XXH3 (64 bit, no seed) of the tensor's bytes, little-endian and row-major.
    pub xxh3: Digest,
}

impl Statistics {
    /// Returns the statistics of a tensor, in one pass over its data. The memory of a device is copied piece by piece.
    ///
    /// # Errors
    /// Returns an error if the tensor has no byte form, or the device cannot read it.
    pub fn of(tensor: &TensorView<'_>) -> Result<Self, TensorError> {
        let mut accumulator = Accumulator::new(tensor.dtype(), tensor.elements())?;
        tensor.pieces(|bytes| accumulator.update(bytes))?;
        Ok(accumulator.finish())
    }

    /// Returns whether any element is NaN or infinite.
    pub fn has_non_finite(&self) -> bool {
        self.nan + self.positive_infinite + self.negative_infinite > 0
    }
}

/// Computes the statistics of a tensor that arrives in pieces.
pub struct Accumulator {
    dtype: DType,
    elements: u64,
    hash: Hash,
    moments: Moments,
    /// The shift of the moments, chosen from the first finite element.
    shift: Option<f64>,
}

/// The number of bytes whose partial sums are computed before they are joined. A multiple of every element's size.
const BLOCK: usize = 64 << 10;

/// The number of bytes for which starting a thread pays off.
const SHARED: usize = 4 << 20;

/// More threads would only wait for their turn, and for memory.
const MOST_HELPERS: usize = 3;

const COUNTS: &str = "counting does not panic";

/// The number of bytes that a thread takes from a shared piece at once.
const PART: usize = 256 << 10;

impl Accumulator {
    /// Creates an accumulator for a tensor of this type and of `elements` elements.
    ///
    /// # Errors
    /// Returns an error if the type has no byte form.
    pub fn new(dtype: DType, elements: usize) -> Result<Self, TensorError> {
        if dtype == DType::String {
            return Err(TensorError::NoBytes(dtype));
        }
        let (hash, moments) = (Hash::new(), Moments::default());
        Ok(Self { dtype, elements: elements as u64, hash, moments, shift: None })
    }

    /// Adds the next piece, which holds whole elements in order. A long piece is shared with other threads.
    pub fn update(&mut self, bytes: &[u8]) {
        let helpers = (bytes.len() / SHARED).min(processors() - 1).min(MOST_HELPERS);
        if helpers > 0 && self.dtype.size().is_some() {
            return self.update_shared(bytes, helpers);
        }
        let mut blocks = bytes.chunks(BLOCK);
        while let Some(block) = blocks.next() {
            let left = self.elements - self.moments.count;
            let last = blocks.len() == 0;
            let hash = |bytes: &[u8], follows| self.hash.update(bytes, follows || !last);
            self.moments.add(block::moments(self.dtype, block, left, &mut self.shift, hash));
        }
    }

    /// Adds a long piece with several threads. Each takes the next part and counts it. The hash and the sums run from
    /// the beginning to the end, so each then waits for the turn of its part to add it to them, while it is still in the
    /// thread's cache. The result is the same, to the last bit, for any number of threads.
    fn update_shared(&mut self, bytes: &[u8], helpers: usize) {
        block::choose_shift(self.dtype, bytes, &mut self.shift);
        let (dtype, shift) = (self.dtype, self.shift);
        let (parts, taken) = (bytes.len().div_ceil(PART), AtomicUsize::new(0));
        let (turn, came) = (Mutex::new((0, &mut self.hash, &mut self.moments)), Condvar::new());
        let count = || {
            let next = || Some(taken.fetch_add(1, Ordering::Relaxed)).filter(|&part| part < parts);
            while let Some(part) = next() {
                let bytes = &bytes[part * PART..bytes.len().min((part + 1) * PART)];
                let count = |block| block::moments(dtype, block, u64::MAX, &mut { shift }, |_, _| ());
                let counted: Vec<Moments> = bytes.chunks(BLOCK).map(count).collect();
                let waited = came.wait_while(turn.lock().expect(COUNTS), |(turn, ..)| *turn != part);
                let mut guard = waited.expect(COUNTS);
                let (turn, hash, moments) = &mut *guard;
                hash.update(bytes, part + 1 < parts);
                counted.into_iter().for_each(|counted| moments.add(counted));
                *turn += 1;
                came.notify_all();
            }
        };
        thread::scope(|scope| {
            for _ in 0..helpers {
                // If the system starts no thread, fewer threads do all.
                let _ = thread::Builder::new().name("opscope-statistics".into()).spawn_scoped(scope, count);
            }
            count();
        });
    }

    /// Returns the statistics of all elements that were added.
    pub fn finish(self) -> Statistics {
        let moments = &self.moments;
        let finite = moments.finite();
        let real = finite > 0 && !self.dtype.is_complex();
        let shift = self.shift.unwrap_or(0.0);
        Statistics {
            count: moments.count,
            nan: moments.nan,
            positive_infinite: moments.positive_infinite,
            negative_infinite: moments.negative_infinite,
            zeros: moments.zeros,
            min: real.then_some(moments.min),
            max: real.then_some(moments.max),
            mean: real.then(|| moments.mean(shift)),
            std: real.then(|| moments.std()),
            l2: (finite > 0).then(|| moments.l2(shift)),
            xxh3: Digest(self.hash.digest()),
        }
    }
}

/// Returns the moments of a block of at most `left` elements, without a hash. The first block with a finite element
/// chooses `shift`.
pub(crate) fn block_moments(dtype: DType, block: &[u8], left: u64, shift: &mut Option<f64>) -> Moments {
    block::moments(dtype, block, left, shift, |_, _| ())
}

/// Returns the number of threads that the machine runs at once. The value is cached, because the system call is slow.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Sums over some of a tensor's elements. They are sums of differences from a shift that the whole tensor shares, so
/// the variance of numbers far from zero does not cancel out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub count: u64,
    pub nan: u64,
    pub positive_infinite: u64,
    pub negative_infinite: u64,
    pub zeros: u64,
    /// This and the following fields count only the finite elements.
    pub min: f64,
    pub max: f64,
    pub sum: f64,
    pub squares: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self {
            count: 0,
            nan: 0,
            positive_infinite: 0,
            negative_infinite: 0,
            zeros: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            sum: 0.0,
            squares: 0.0,
        }
    }
}

impl Moments {
    /// Returns the number of finite elements.
    pub fn finite(&self) -> u64 {
        self.count - self.nan - self.positive_infinite - self.negative_infinite
    }

    /// Returns the mean of the finite elements.
    pub fn mean(&self, shift: f64) -> f64 {
        (shift + self.sum / self.finite() as f64).clamp(self.min, self.max)
    }

    /// Returns the standard deviation of the finite elements around their mean.
    pub fn std(&self) -> f64 {
        let n = self.finite() as f64;
        ((self.squares - self.sum * (self.sum / n)).max(0.0) / n).sqrt()
    }

    /// Returns the Euclidean norm of the finite elements.
    pub fn l2(&self, shift: f64) -> f64 {
        let squares = self.squares + shift * (2.0 * self.sum + self.finite() as f64 * shift);
        squares.max(0.0).sqrt()
    }

    /// Adds the sums of further elements.
    pub fn add(&mut self, other: Moments) {
        self.count += other.count;
        self.nan += other.nan;
        self.positive_infinite += other.positive_infinite;
        self.negative_infinite += other.negative_infinite;
        self.zeros += other.zeros;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }
}
