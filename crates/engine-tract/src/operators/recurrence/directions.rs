//! Weights in the form that the steps need. They are built in the first run, and again if a run receives other tensors.
//!
//! Products with weights, which are bytes in `DynamicQuantizeLSTM`.

use std::sync::{Arc, Weak};

use opscope_sys::Mutex;
use tract_onnx::prelude::{DatumType, Tensor};
use tract_onnx::tract_core::internal::TractResult;

use crate::arithmetic::{ByteMatrix, FloatMatrix, Quantised};

/// The weights of one direction.
#[derive(Debug)]
pub(super) struct Direction {
    pub w: Weights,
    pub r: Weights,
    /// For a GRU with the reset before its product (`linear_before_reset` is 0): the weights of the new state.
    pub r_of_new: Option<Weights>,
    /// The biases of the input and of the state, for each column; and their sum.
    pub biases: [Vec<f32>; 2],
    pub bias: Vec<f32>,
    /// The peepholes of the input, output and forget gates.
    pub peepholes: Option<Vec<f32>>,
}

/// The tensors that the weights were built from, and the result.
type CachedDirections = (Vec<Weak<Tensor>>, Arc<Vec<Direction>>);

/// A cache of the last result.
#[derive(Debug, Clone, Default)]
pub(super) struct DirectionCache(Arc<Mutex<Option<CachedDirections>>>);

impl PartialEq for DirectionCache {
    /// Always equal: the cache affects the speed of an operator, not its result.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl DirectionCache {
    /// Returns the last result if it was built from these tensors, else a new one.
    pub(super) fn of(
        &self,
        tensors: &[&Arc<Tensor>],
        make: impl FnOnce() -> TractResult<Vec<Direction>>,
    ) -> TractResult<Arc<Vec<Direction>>> {
        let mut last = self.0.lock();
        if let Some((from, made)) = &*last {
            // A tensor that still exists has not been written to, because it has never had a single owner.
            let is_same = |(from, tensor): (&Weak<Tensor>, &&Arc<Tensor>)| Weak::as_ptr(from) == Arc::as_ptr(tensor);
            if from.len() == tensors.len() && from.iter().zip(tensors).all(is_same) {
                return Ok(made.clone());
            }
        }
        let made = Arc::new(make()?);
        *last = Some((tensors.iter().map(|tensor| Arc::downgrade(tensor)).collect(), made.clone()));
        Ok(made)
    }
}

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
