//! Exact products of rows of whole numbers with a matrix of bytes.

use pulp::NullaryFnOnce;

/// The columns of a panel.
const LANES: usize = 16;

/// How many panels are multiplied with several rows at a time, and with a single row.
const PANELS: usize = 2;
const PANELS_OF_ONE: usize = 4;
const ROWS: usize = 4;

/// Two rows of a panel, column after column. Processors multiply pairs of numbers and add the two products in one
/// instruction.
type Pairs = [i8; 2 * LANES];

/// A matrix of bytes, signed or not, minus a zero point for each column. It multiplies rows from the left.
#[derive(Debug)]
pub(crate) struct ByteMatrix {
    /// The panels, each as pairs of rows.
    panels: Vec<Pairs>,
    rows: usize,
    columns: usize,
    /// For each column, the number to add to each element in the panels.
    offsets: Vec<i32>,
}

impl ByteMatrix {
    /// Returns the matrix of the elements at each row and column, minus the zero point of their column. The elements
    /// are either all from -128 to 127, or all from 0 to 255.
    pub(crate) fn new(
        rows: usize,
        columns: usize,
        is_signed: bool,
        zero: impl Fn(usize) -> i32,
        element: impl Fn(usize, usize) -> i32,
    ) -> Self {
        let shift = if is_signed { 0 } else { 128 };
        let pairs = rows.div_ceil(2);
        let mut panels = vec![[0i8; 2 * LANES]; columns.div_ceil(LANES) * pairs];
        for (panel, block) in panels.chunks_exact_mut(pairs.max(1)).enumerate() {
            for row in 0..rows {
                for column in panel * LANES..columns.min((panel + 1) * LANES) {
                    block[row / 2][2 * (column % LANES) + row % 2] = (element(row, column) - shift) as i8;
                }
            }
        }
        Self { panels, rows, columns, offsets: (0..columns).map(|column| shift - zero(column)).collect() }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Writes the products of rows of values with the matrix. The values are from -255 to 255.
    pub(crate) fn product(&self, values: &[i16], sums: &mut [i32]) {
        if self.columns == 0 || self.rows == 0 {
            return sums.fill(0);
        }
        let pairs: Vec<[i16; 2]> = values.chunks_exact(self.rows).flat_map(pairs).collect();
        let work = Product { matrix: self, pairs: &pairs, sums: &mut *sums };
        #[cfg(target_arch = "x86_64")]
        match (pulp::x86::V4::try_new(), pulp::x86::V3::try_new()) {
            (Some(simd), _) => simd.vectorize(With { work, vectors: simd }),
            (None, Some(simd)) => simd.vectorize(With { work, vectors: simd }),
            (None, None) => With { work, vectors: Plain }.call(),
        }
        #[cfg(not(target_arch = "x86_64"))]
        With { work, vectors: Plain }.call();
        for (values, sums) in values.chunks_exact(self.rows).zip(sums.chunks_exact_mut(self.columns)) {
            let sum: i32 = values.iter().map(|&value| i32::from(value)).sum();
            sums.iter_mut().zip(&self.offsets).for_each(|(total, offset)| *total += offset * sum);
        }
    }
}

/// Returns a row as pairs, the last one with a zero if their number is odd.
fn pairs(values: &[i16]) -> impl Iterator<Item = [i16; 2]> {
    values.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0)])
}

struct Product<'a> {
    matrix: &'a ByteMatrix,
    pairs: &'a [[i16; 2]],
    sums: &'a mut [i32],
}

/// The instructions for a panel.
trait Vectors: Copy {
    type Weights: Copy;
    type Sums: Copy;

    fn widened(self, pairs: &Pairs) -> Self::Weights;
    fn zero(self) -> Self::Sums;
    fn add(self, sums: Self::Sums, weights: Self::Weights, pair: [i16; 2]) -> Self::Sums;
    fn numbers(self, sums: Self::Sums) -> [i32; LANES];
}

struct With<'a, V> {
    work: Product<'a>,
    vectors: V,
}

impl<V: Vectors> NullaryFnOnce for With<'_, V> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { work: Product { matrix, pairs, sums }, vectors } = self;
        let depth = matrix.rows.div_ceil(2);
        let several = pairs.len() / depth / ROWS * ROWS;
        let (of_several, of_rest) = pairs.split_at(several * depth);
        let (sums_of_several, sums_of_rest) = sums.split_at_mut(several * matrix.columns);
        panels_at_a_time::<V, ROWS, PANELS>(vectors, matrix, of_several, sums_of_several);
        panels_at_a_time::<V, 1, PANELS_OF_ONE>(vectors, matrix, of_rest, sums_of_rest);
    }
}

#[inline(always)]
fn panels_at_a_time<V: Vectors, const ROWS: usize, const PANELS: usize>(
    vectors: V,
    matrix: &ByteMatrix,
    pairs: &[[i16; 2]],
    sums: &mut [i32],
) {
    let count = matrix.columns.div_ceil(LANES);
    let together = count / PANELS * PANELS;
    for first in (0..together).step_by(PANELS) {
        tiles::<V, ROWS, PANELS>(vectors, matrix, first, pairs, sums);
    }
    for first in together..count {
        tiles::<V, ROWS, 1>(vectors, matrix, first, pairs, sums);
    }
}

/// Multiplies some panels with all rows, several rows at a time.
#[inline(always)]
fn tiles<V: Vectors, const ROWS: usize, const PANELS: usize>(
    vectors: V,
    matrix: &ByteMatrix,
    first: usize,
    pairs: &[[i16; 2]],
    sums: &mut [i32],
) {
    let (depth, columns) = (matrix.rows.div_ceil(2), matrix.columns);
    let panels: [&[Pairs]; PANELS] = std::array::from_fn(|panel| &matrix.panels[(first + panel) * depth..][..depth]);
    for (pairs, sums) in pairs.chunks_exact(ROWS * depth).zip(sums.chunks_exact_mut(ROWS * columns)) {
        let pairs: [&[[i16; 2]]; ROWS] = std::array::from_fn(|row| &pairs[row * depth..][..depth]);
        let found = tile(vectors, panels, pairs, depth);
        for (found, sums) in found.into_iter().zip(sums.chunks_exact_mut(columns)) {
            for (panel, found) in found.into_iter().enumerate() {
                let start = (first + panel) * LANES;
                let end = columns.min(start + LANES);
                sums[start..end].copy_from_slice(&vectors.numbers(found)[..end - start]);
            }
        }
    }
}

#[inline(always)]
fn tile<V: Vectors, const ROWS: usize, const PANELS: usize>(
    vectors: V,
    panels: [&[Pairs]; PANELS],
    pairs: [&[[i16; 2]]; ROWS],
    depth: usize,
) -> [[V::Sums; PANELS]; ROWS] {
    let mut sums = [[vectors.zero(); PANELS]; ROWS];
    for index in 0..depth {
        let weights: [V::Weights; PANELS] = std::array::from_fn(|panel| vectors.widened(&panels[panel][index]));
        for row in 0..ROWS {
            for panel in 0..PANELS {
                sums[row][panel] = vectors.add(sums[row][panel], weights[panel], pairs[row][index]);
            }
        }
    }
    sums
}

/// The form for processors without instructions for pairs.
#[derive(Clone, Copy)]
struct Plain;

impl Vectors for Plain {
    type Weights = [i16; 2 * LANES];
    type Sums = [i32; LANES];

    #[inline(always)]
    fn widened(self, pairs: &Pairs) -> Self::Weights {
        pairs.map(i16::from)
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; LANES]
    }

    #[inline(always)]
    fn add(self, mut sums: Self::Sums, weights: Self::Weights, pair: [i16; 2]) -> Self::Sums {
        for (sum, weights) in sums.iter_mut().zip(weights.as_chunks::<2>().0) {
            *sum += i32::from(weights[0]) * i32::from(pair[0]) + i32::from(weights[1]) * i32::from(pair[1]);
        }
        sums
    }

    #[inline(always)]
    fn numbers(self, sums: Self::Sums) -> [i32; LANES] {
        sums
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{__m128i, __m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{LANES, Pairs, Vectors};

    impl Vectors for V4 {
        type Weights = __m512i;
        type Sums = __m512i;

        #[inline(always)]
        fn widened(self, pairs: &Pairs) -> __m512i {
            self.avx512bw._mm512_cvtepi8_epi16(cast::<Pairs, __m256i>(*pairs))
        }

        #[inline(always)]
        fn zero(self) -> __m512i {
            self.avx512f._mm512_setzero_si512()
        }

        #[inline(always)]
        fn add(self, sums: __m512i, weights: __m512i, pair: [i16; 2]) -> __m512i {
            let pair = self.avx512f._mm512_set1_epi32(cast(pair));
            self.avx512f._mm512_add_epi32(sums, self.avx512bw._mm512_madd_epi16(weights, pair))
        }

        #[inline(always)]
        fn numbers(self, sums: __m512i) -> [i32; LANES] {
            cast(sums)
        }
    }

    impl Vectors for V3 {
        type Weights = [__m256i; 2];
        type Sums = [__m256i; 2];

        #[inline(always)]
        fn widened(self, pairs: &Pairs) -> [__m256i; 2] {
            let halves: [__m128i; 2] = cast(*pairs);
            halves.map(|half| self.avx2._mm256_cvtepi8_epi16(half))
        }

        #[inline(always)]
        fn zero(self) -> [__m256i; 2] {
            [self.avx._mm256_setzero_si256(); 2]
        }

        #[inline(always)]
        fn add(self, sums: [__m256i; 2], weights: [__m256i; 2], pair: [i16; 2]) -> [__m256i; 2] {
            let pair = self.avx._mm256_set1_epi32(cast(pair));
            let add =
                |half: usize| self.avx2._mm256_add_epi32(sums[half], self.avx2._mm256_madd_epi16(weights[half], pair));
            [add(0), add(1)]
        }

        #[inline(always)]
        fn numbers(self, sums: [__m256i; 2]) -> [i32; LANES] {
            cast(sums)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_that_of_plain_loops_for_every_size_and_sign() {
        let mut random = fastrand::Rng::with_seed(3);
        let sizes =
            [(1, 1, 1), (1, 7, 130), (2, 40, 33), (9, 3, 64), (13, 64, 257), (5, 1000, 17), (3, 0, 5), (0, 4, 5)];
        for (rows, depth, columns) in sizes {
            for is_signed in [true, false] {
                let range = if is_signed { -128..=127 } else { 0..=255 };
                // The extremes, whose products together would not fit into 16 bits, are drawn more often.
                let mut draw = |range: std::ops::RangeInclusive<i32>| match random.u8(0..3) {
                    0 => *range.start(),
                    1 => *range.end(),
                    _ => random.i32(range),
                };
                let values: Vec<i16> = (0..rows * depth).map(|_| draw(-255..=255) as i16).collect();
                let weights: Vec<i32> = (0..depth * columns).map(|_| draw(range.clone())).collect();
                let zeros: Vec<i32> = (0..columns).map(|_| draw(range.clone())).collect();
                let element = |row: usize, column: usize| weights[row * columns + column];
                let matrix = ByteMatrix::new(depth, columns, is_signed, |column| zeros[column], element);
                let mut sums = vec![-1; rows * columns];
                matrix.product(&values, &mut sums);
                for (at, sum) in sums.iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let term = |index: usize| {
                        i32::from(values[row * depth + index]) * (element(index, column) - zeros[column])
                    };
                    let expected: i32 = (0..depth).map(term).sum();
                    assert_eq!(*sum, expected, "{rows} x {depth} x {columns} at {row}, {column}, signed {is_signed}");
                }
            }
        }
    }

    #[test]
    fn all_instructions_give_the_same_sums() {
        let matrix = ByteMatrix::new(9, 20, true, |_| 0, |row, column| (row * 31 + column * 7) as i32 % 256 - 128);
        let values: Vec<i16> = (0..5 * 9).map(|at| (at * 37 % 511) as i16 - 255).collect();
        let pairs: Vec<[i16; 2]> = values.chunks_exact(9).flat_map(pairs).collect();
        let mut plain = vec![0; 5 * 20];
        With { work: Product { matrix: &matrix, pairs: &pairs, sums: &mut plain }, vectors: Plain }.call();
        #[cfg(target_arch = "x86_64")]
        {
            let mut sums = vec![0; 5 * 20];
            if let Some(vectors) = pulp::x86::V3::try_new() {
                vectors.vectorize(With { work: Product { matrix: &matrix, pairs: &pairs, sums: &mut sums }, vectors });
                assert_eq!(sums, plain, "AVX2");
            }
            if let Some(vectors) = pulp::x86::V4::try_new() {
                vectors.vectorize(With { work: Product { matrix: &matrix, pairs: &pairs, sums: &mut sums }, vectors });
                assert_eq!(sums, plain, "AVX-512");
            }
        }
    }
}
