//! The weights of a node in the form of its inputs.

use std::sync::Arc;

use tract_onnx::prelude::{Datum, DatumType, TValue, Tensor};
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::activation::Kind;
use super::directions::{Direction, Weights, floats, whole_numbers};
use super::node::{Recurrence, Slot};
use crate::arithmetic::{ByteMatrix, FloatMatrix};

impl Recurrence {
    /// Returns the weights of each direction.
    pub(super) fn prepared(&self, inputs: &[TValue]) -> TractResult<Arc<Vec<Direction>>> {
        let scales = self.scales.iter().flatten().flatten();
        let slots = [Some(1), Some(2), self.bias, self.peepholes].into_iter().chain(scales.copied()).flatten();
        let tensors: Vec<_> = slots.filter_map(|slot| inputs.get(slot)?.as_arc_tensor()).collect();
        let make = || (0..self.directions.len()).map(|index| self.direction(index, inputs)).collect();
        self.prepared.of(&tensors, make)
    }

    fn direction(&self, index: usize, inputs: &[TValue]) -> TractResult<Direction> {
        let (size, hidden) = (inputs[0].shape()[2], self.hidden);
        let columns = self.kind.gates() * hidden;
        let count = self.directions.len();
        let shape = |from: usize| if self.scales.is_some() { [count, from, columns] } else { [count, columns, from] };
        if inputs[1].shape() != shape(size) || inputs[2].shape() != shape(hidden) {
            let [w, r] = [1, 2].map(|slot| inputs[slot].shape());
            bail!("weights of {w:?} and {r:?} are given for {hidden} hidden numbers");
        }
        let slice = |slot: Slot, length: usize| -> TractResult<Option<Vec<f32>>> {
            let Some(slot) = slot else { return Ok(None) };
            Ok(Some(floats(&inputs[slot])?[index * length..][..length].to_vec()))
        };
        let both = slice(self.bias, 2 * columns)?.unwrap_or_else(|| vec![0.0; 2 * columns]);
        let (of_input, of_state) = both.split_at(columns);
        let is_reset_first = self.kind == Kind::Gru && !self.linear_before_reset;
        let r = |wanted| self.weights(&inputs[2], index, hidden, 1, inputs, wanted);
        Ok(Direction {
            w: self.weights(&inputs[1], index, size, 0, inputs, 0..columns)?,
            r: r(0..columns)?,
            r_of_new: if is_reset_first { Some(r(2 * hidden..columns)?) } else { None },
            bias: of_input.iter().zip(of_state).map(|(a, b)| a + b).collect(),
            biases: [of_input.to_vec(), of_state.to_vec()],
            peepholes: slice(self.peepholes, 3 * hidden)?,
        })
    }

    /// Returns some columns of the weights of a direction. In ONNX the gates are rows. In quantized weights they are
    /// columns.
    fn weights(
        &self,
        tensor: &Tensor,
        direction: usize,
        from: usize,
        which: usize,
        inputs: &[TValue],
        wanted: std::ops::Range<usize>,
    ) -> TractResult<Weights> {
        let columns = self.kind.gates() * self.hidden;
        let start = direction * columns * from;
        let Some(scales) = self.scales else {
            let tensor = tensor.cast_to_dt(DatumType::F32)?;
            let rows = &tensor.try_as_plain_ram()?.as_slice::<f32>()?[start..][..columns * from];
            let element = |row: usize, column: usize| rows[(wanted.start + column) * from + row];
            return Ok(Weights::Floats(FloatMatrix::new(from, wanted.len(), element)));
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
        let is_signed = tensor.datum_type() == i8::datum_type();
        let weights = &whole_numbers(tensor)?[start..][..columns * from];
        let zero = |column: usize| zeros[column % zeros.len()];
        let element = |row: usize, column: usize| weights[row * columns + column];
        Ok(Weights::Bytes(ByteMatrix::new(from, columns, is_signed, zero, element), scales))
    }
}
