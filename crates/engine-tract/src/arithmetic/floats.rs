//! Products of rows with a matrix of fp32.

use pulp::{Arch, Simd, WithSimd, bytemuck};

/// A matrix that multiplies rows from the left. Its columns are stored in panels as wide as a vector, row by row.
#[derive(Debug)]
pub(crate) struct FloatMatrix {
    panels: Vec<f32>,
    rows: usize,
    columns: usize,
}

/// How many panels are multiplied with several rows at a time, and with a single row.
const PANELS: usize = 4;
const PANELS_OF_ONE: usize = 8;

impl FloatMatrix {
    /// Returns the matrix of the elements at each row and column.
    pub(crate) fn new(rows: usize, columns: usize, element: impl Fn(usize, usize) -> f32) -> Self {
        let lanes = Arch::new().dispatch(Lanes);
        let mut panels = vec![0f32; columns.div_ceil(lanes) * lanes * rows];
        for (panel, block) in panels.chunks_exact_mut((lanes * rows).max(1)).enumerate() {
            for (row, block) in block.chunks_exact_mut(lanes).enumerate() {
                for (column, place) in (panel * lanes..columns).zip(block) {
                    *place = element(row, column);
                }
            }
        }
        Self { panels, rows, columns }
    }

    /// Adds to each row of sums the product of a row of values with the matrix.
    pub(crate) fn add_product(&self, values: &[f32], sums: &mut [f32]) {
        if self.columns > 0 && self.rows > 0 {
            Arch::new().dispatch(Product { matrix: self, values, sums });
        }
    }
}

/// How many numbers a vector has.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

struct Product<'a> {
    matrix: &'a FloatMatrix,
    values: &'a [f32],
    sums: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many sums as fit into the registers, in addition to the panels and a value.
        match S::REGISTER_COUNT {
            32.. => self.rows_at_a_time::<S, 4>(simd),
            _ => self.rows_at_a_time::<S, 3>(simd),
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn rows_at_a_time<S: Simd, const ROWS: usize>(self, simd: S) {
        let Self { matrix, values, sums } = self;
        let several = values.len() / matrix.rows / ROWS * ROWS;
        let (values_of_several, values_of_rest) = values.split_at(several * matrix.rows);
        let (sums_of_several, sums_of_rest) = sums.split_at_mut(several * matrix.columns);
        let panels = S::as_simd_f32s(&matrix.panels).0;
        panels_at_a_time::<S, ROWS, PANELS>(simd, matrix, panels, values_of_several, sums_of_several);
        panels_at_a_time::<S, 1, PANELS_OF_ONE>(simd, matrix, panels, values_of_rest, sums_of_rest);
    }
}

#[inline(always)]
fn panels_at_a_time<S: Simd, const ROWS: usize, const PANELS: usize>(
    simd: S,
    matrix: &FloatMatrix,
    panels: &[S::f32s],
    values: &[f32],
    sums: &mut [f32],
) {
    let count = panels.len() / matrix.rows;
    let together = count / PANELS * PANELS;
    for first in (0..together).step_by(PANELS) {
        tiles::<S, ROWS, PANELS>(simd, matrix, panels, first, values, sums);
    }
    for first in together..count {
        tiles::<S, ROWS, 1>(simd, matrix, panels, first, values, sums);
    }
}

/// Multiplies some panels with all rows, several rows at a time.
#[inline(always)]
fn tiles<S: Simd, const ROWS: usize, const PANELS: usize>(
    simd: S,
    matrix: &FloatMatrix,
    panels: &[S::f32s],
    first: usize,
    values: &[f32],
    sums: &mut [f32],
) {
    let (rows, columns) = (matrix.rows, matrix.columns);
    let panels: [&[S::f32s]; PANELS] = std::array::from_fn(|panel| &panels[(first + panel) * rows..][..rows]);
    let start = first * S::F32_LANES;
    let end = columns.min(start + PANELS * S::F32_LANES);
    for (values, sums) in values.chunks_exact(ROWS * rows).zip(sums.chunks_exact_mut(ROWS * columns)) {
        let values: [&[f32]; ROWS] = std::array::from_fn(|row| &values[row * rows..][..rows]);
        let found = tile(simd, panels, values, rows);
        for (found, sums) in found.iter().zip(sums.chunks_exact_mut(columns)) {
            let found: &[f32] = bytemuck::cast_slice(found);
            for (sum, product) in sums[start..end].iter_mut().zip(found) {
                *sum += product;
            }
        }
    }
}

#[inline(always)]
fn tile<S: Simd, const ROWS: usize, const PANELS: usize>(
    simd: S,
    panels: [&[S::f32s]; PANELS],
    values: [&[f32]; ROWS],
    rows: usize,
) -> [[S::f32s; PANELS]; ROWS] {
    let mut sums = [[simd.splat_f32s(0.0); PANELS]; ROWS];
    for index in 0..rows {
        let weights: [S::f32s; PANELS] = std::array::from_fn(|panel| panels[panel][index]);
        for row in 0..ROWS {
            let value = simd.splat_f32s(values[row][index]);
            for panel in 0..PANELS {
                sums[row][panel] = simd.mul_add_e_f32s(value, weights[panel], sums[row][panel]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_that_of_plain_loops_for_every_size() {
        let mut random = fastrand::Rng::with_seed(7);
        for (rows, depth, columns) in
            [(1, 1, 1), (1, 7, 130), (2, 40, 33), (9, 3, 64), (13, 65, 257), (3, 0, 5), (0, 4, 5), (4, 5, 0)]
        {
            let values: Vec<f32> = (0..rows * depth).map(|_| f32::from(random.i8(-8..8))).collect();
            let weights: Vec<f32> = (0..depth * columns).map(|_| f32::from(random.i8(-8..8))).collect();
            let matrix = FloatMatrix::new(depth, columns, |row, column| weights[row * columns + column]);
            let mut sums = vec![1f32; rows * columns];
            matrix.add_product(&values, &mut sums);
            // Such sums of whole numbers are exact in every order.
            for (at, sum) in sums.iter().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let terms = (0..depth).map(|index| values[row * depth + index] * weights[index * columns + column]);
                assert_eq!(*sum, 1.0 + terms.sum::<f32>(), "{rows} x {depth} x {columns} at {row}, {column}");
            }
        }
    }
}
