//! Products with weights, which `DynamicQuantizeLSTM` has in 8 bits.

use tract_onnx::prelude::{DatumType, TValue, Tensor};
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::node::Recurrence;

/// Products of two numbers of nine bits each whose sum fp32 holds exactly. It multiplies faster than integers do.
const EXACT_PRODUCTS: usize = 256;

/// The weights of one direction, as `[from, gates * hidden]`.
pub(super) enum Weights {
    Floats(Vec<f32>),
    /// Integers less their zero points, and their scales, one or as many as columns.
    Integers(Vec<f32>, Vec<f32>),
}

impl Weights {
    /// Adds the product of `rows` rows of `from` numbers each with the weights.
    pub(super) fn add_product(&self, values: &[f32], rows: usize, from: usize, out: &mut [f32]) {
        let columns = out.len().checked_div(rows).unwrap_or(0);
        match self {
            Self::Floats(weights) => {
                for row in 0..rows {
                    let out = &mut out[row * columns..][..columns];
                    for (index, value) in values[row * from..][..from].iter().enumerate() {
                        let weights = &weights[index * columns..][..columns];
                        out.iter_mut().zip(weights).for_each(|(out, weight)| *out += value * weight);
                    }
                }
            }
            Self::Integers(weights, scales) => {
                let (scale, zero) = dynamic_scale(values);
                let quantize = |value: &f32| ((value / scale).round_ties_even() + zero).clamp(0.0, 255.0) - zero;
                let values: Vec<f32> = values.iter().map(quantize).collect();
                let mut sums = vec![0i32; columns];
                let mut part = vec![0f32; columns];
                for row in 0..rows {
                    sums.fill(0);
                    for (first, values) in values[row * from..][..from].chunks(EXACT_PRODUCTS).enumerate() {
                        part.fill(0.0);
                        for (index, value) in values.iter().enumerate() {
                            let weights = &weights[(first * EXACT_PRODUCTS + index) * columns..][..columns];
                            part.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
                        }
                        sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += *part as i32);
                    }
                    let out = &mut out[row * columns..][..columns];
                    for (column, (out, sum)) in out.iter_mut().zip(&sums).enumerate() {
                        *out += *sum as f32 * (scale * scales[column % scales.len()]);
                    }
                }
            }
        }
    }
}

/// Returns the scale and the zero point with which `DynamicQuantizeLinear` makes bytes of values.
fn dynamic_scale(values: &[f32]) -> (f32, f32) {
    let low = values.iter().copied().fold(0.0, f32::min);
    let high = values.iter().copied().fold(0.0, f32::max);
    let scale = if low == high { 1.0 } else { (high - low) / 255.0 };
    (scale, (-low / scale).clamp(0.0, 255.0).round_ties_even())
}

pub(super) fn floats(tensor: &Tensor) -> TractResult<Vec<f32>> {
    Ok(tensor.cast_to_dt(DatumType::F32)?.try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
}

pub(super) fn whole_numbers(tensor: &Tensor) -> TractResult<Vec<i32>> {
    Ok(tensor.cast_to_dt(DatumType::I32)?.try_as_plain_ram()?.as_slice::<i32>()?.to_vec())
}

impl Recurrence {
    /// Returns the weights of a direction. ONNX has a row for each gate; quantized weights have a column.
    pub(super) fn weights(
        &self,
        tensor: &Tensor,
        direction: usize,
        from: usize,
        columns: usize,
        which: usize,
        inputs: &[TValue],
    ) -> TractResult<Weights> {
        let Some(scales) = self.scales else {
            let rows = &floats(tensor)?[direction * columns * from..][..columns * from];
            let mut turned = vec![0f32; from * columns];
            for (column, row) in rows.chunks_exact(from.max(1)).enumerate() {
                row.iter().enumerate().for_each(|(index, weight)| turned[index * columns + column] = *weight);
            }
            return Ok(Weights::Floats(turned));
        };
        let [Some(scale), zero] = scales[which] else { bail!("the scale of the weights is missing") };
        let count = self.directions.len();
        let scales = floats(&inputs[scale])?;
        let each = scales.len() / count;
        let scales = scales[direction * each..][..each].to_vec();
        let zeros = match zero {
            Some(slot) => whole_numbers(&inputs[slot])?,
            None => vec![0; count],
        };
        let each = zeros.len() / count;
        let zeros = &zeros[direction * each..][..each];
        if scales.is_empty() || zeros.is_empty() {
            bail!("the scale of the weights is missing");
        }
        let weights = &whole_numbers(tensor)?[direction * columns * from..][..columns * from];
        let less_zero = |(index, weight): (usize, &i32)| (weight - zeros[index % columns % zeros.len()]) as f32;
        let weights = weights.iter().enumerate().map(less_zero);
        Ok(Weights::Integers(weights.collect(), scales))
    }
}
