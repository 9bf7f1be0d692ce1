use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Duration;

use pulp::{Arch, Simd, WithSimd};

use crate::RooflineError;
use crate::limits::Bandwidth;
use crate::together::best_rate;

/// Sizes of each thread's data, in bytes: those of the caches that belong to one processor core.
const OF_EACH: [usize; 4] = [16 << 10, 128 << 10, 512 << 10, 2 << 20];

/// Sizes of the data of all threads together, in bytes: those of shared caches, and more than most of them hold.
const OF_ALL: [usize; 3] = [16 << 20, 64 << 20, 256 << 20];

/// A repetition reads at least this many bytes.
const OF_REPETITION: usize = 256 << 10;

/// The bytes of a cache line, which is also as large as the largest vector.
const LINE: usize = 64;

/// Independent sums of vectors, so that no addition waits for another.
const SUMS: usize = 8;

/// Measures how fast data is read, for several sizes.
pub(crate) fn bandwidths(threads: NonZeroUsize, time: Duration) -> Result<Vec<Bandwidth>, RooflineError> {
    let shared = OF_ALL.iter().map(|size| *size / threads).filter(|size| *size > OF_EACH[OF_EACH.len() - 1]);
    OF_EACH.into_iter().chain(shared).map(|size| bandwidth(threads, time, size)).collect()
}

fn bandwidth(threads: NonZeroUsize, time: Duration, size: usize) -> Result<Bandwidth, RooflineError> {
    let arch = Arch::new();
    let part = size.min(OF_REPETITION);
    let times = OF_REPETITION.div_ceil(size);
    let prepare = || Reader::new(size / size_of::<f32>());
    let rate = best_rate(threads, time, prepare, |reader| {
        black_box(arch.dispatch(Read { numbers: reader.next(part / size_of::<f32>()), times }));
    })?;
    let bytes = (size * threads.get()) as u64;
    Ok(Bandwidth { bytes, gbytes_per_s: rate * (part * times) as f64 / 1e9 })
}

/// A thread's data, and where the next repetition begins to read.
struct Reader {
    numbers: Vec<f32>,
    /// Where a cache line begins. Reading a vector that spans two lines takes twice as long.
    begin: usize,
    next: usize,
}

impl Reader {
    fn new(count: usize) -> Self {
        let line = LINE / size_of::<f32>();
        // Data that was never written shares one page of zeros.
        let mut numbers = vec![1.0; count + line];
        let begin = numbers.as_ptr().align_offset(LINE).min(line);
        numbers.truncate(begin + count);
        Self { numbers, begin, next: begin }
    }

    /// Returns the next `count` numbers, or those at the beginning where too few are left.
    fn next(&mut self, count: usize) -> &[f32] {
        if self.next + count > self.numbers.len() {
            self.next = self.begin;
        }
        self.next += count;
        &self.numbers[self.next - count..self.next]
    }
}

/// Reads numbers several times, by adding them up.
struct Read<'a> {
    numbers: &'a [f32],
    times: usize,
}

impl WithSimd for Read<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat_f32s(0.0); SUMS];
        for _ in 0..self.times {
            // Hides from the compiler that the numbers are the same each time.
            let (vectors, _) = S::as_simd_f32s(black_box(self.numbers));
            let (blocks, _) = pulp::as_arrays::<SUMS, _>(vectors);
            for block in blocks {
                for (sum, vector) in sums.iter_mut().zip(block) {
                    *sum = simd.add_f32s(*sum, *vector);
                }
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}
