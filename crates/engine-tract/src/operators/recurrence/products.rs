//! Products with weights, which are bytes in `DynamicQuantizeLSTM`.

use tract_onnx::prelude::{DatumType, Tensor};
use tract_onnx::tract_core::internal::TractResult;

use crate::arithmetic::{ByteMatrix, FloatMatrix, Quantised};

/// The weights of one direction, as `[from, gates * hidden]`.
#[derive(Debug)]
pub(super) enum Weights {
    Floats(FloatMatrix),
    /// Bytes with their scales: one scale, or one for each column.
    Bytes(ByteMatrix, Vec<f32>),
}

impl Weights {
    /// Adds the products of some rows with the weights. The rows are quantised together.
    pub(super) fn add_product(&self, values: &[f32], out: &mut [f32]) {
        match self {
            Self::Floats(weights) => weights.add_product(values, out),
            Self::Bytes(weights, scales) => {
                let quantised = Quantised::of(values);
                let mut sums = vec![0i32; out.len()];
                weights.product(&quantised.values, &mut sums);
                let scales: Vec<f32> = scales.iter().map(|scale| quantised.scale * scale).collect();
                let columns = weights.columns().max(1);
                for (out, sums) in out.chunks_exact_mut(columns).zip(sums.chunks_exact(columns)) {
                    match &scales[..] {
                        [scale] => out.iter_mut().zip(sums).for_each(|(out, sum)| *out += *sum as f32 * scale),
                        scales => {
                            let each = out.iter_mut().zip(sums).zip(scales);
                            each.for_each(|((out, sum), scale)| *out += *sum as f32 * scale);
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn floats(tensor: &Tensor) -> TractResult<Vec<f32>> {
    Ok(tensor.cast_to_dt(DatumType::F32)?.try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
}

pub(super) fn whole_numbers(tensor: &Tensor) -> TractResult<Vec<i32>> {
    Ok(tensor.cast_to_dt(DatumType::I32)?.try_as_plain_ram()?.as_slice::<i32>()?.to_vec())
}
