//! The parameters of a recurrent node in the file.

use opscope_model::Fidelity;
use tract_onnx::model::{optional_inputs, optional_outputs};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{TDim, TVec, tvec};
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::activation::{Activation, Kind, activations};
use super::directions::DirectionCache;

/// The index of an input or output among those that are present.
pub(super) type Slot = Option<usize>;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recurrence {
    pub kind: Kind,
    pub hidden: usize,
    /// One or two directions.
    pub directions: Vec<Direction>,
    pub clip: Option<f32>,
    /// Whether the forget gate is one minus the input gate (`input_forget`).
    pub is_coupled: bool,
    pub linear_before_reset: bool,
    pub is_batch_first: bool,
    pub bias: Slot,
    pub lengths: Slot,
    pub initial: [Slot; 2],
    pub peepholes: Slot,
    /// The scale and zero point of the weights, and those of the recurrence weights.
    pub scales: Option<[[Slot; 2]; 2]>,
    /// The outputs: all steps, the last state, the last cell.
    pub outputs: [Slot; 3],
    pub prepared: DirectionCache,
}

impl Eq for Recurrence {}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Direction {
    pub is_reversed: bool,
    pub activations: Vec<Activation>,
}

impl Recurrence {
    pub(super) fn of(node: &NodeProto, fidelity: Fidelity) -> TractResult<Self> {
        let kind = match node.op_type.as_str() {
            "RNN" => Kind::Rnn,
            "GRU" => Kind::Gru,
            _ => Kind::Lstm,
        };
        let directions = match node.get_attr_opt::<&str>("direction")?.unwrap_or("forward") {
            "forward" => vec![false],
            "reverse" => vec![true],
            "bidirectional" => vec![false, true],
            other => bail!("the engine has no {} with the direction '{other}'", node.op_type),
        };
        let mut activations = activations(node, kind, directions.len(), fidelity)?.into_iter();
        let each = if kind == Kind::Lstm { 3 } else { kind.gates().min(2) };
        let directions = directions
            .into_iter()
            .map(|is_reversed| Direction { is_reversed, activations: activations.by_ref().take(each).collect() })
            .collect();
        let mut inputs = optional_inputs(node).skip(3);
        let mut input = || inputs.next().flatten();
        let mut outputs = optional_outputs(node);
        let mut output = || outputs.next().flatten();
        let is_quantized = node.op_type == "DynamicQuantizeLSTM";
        Ok(Self {
            kind,
            hidden: node.get_attr("hidden_size")?,
            directions,
            clip: node.get_attr_opt("clip")?,
            is_coupled: node.get_attr_opt::<i64>("input_forget")?.unwrap_or(0) != 0,
            linear_before_reset: node.get_attr_opt::<i64>("linear_before_reset")?.unwrap_or(0) != 0,
            is_batch_first: node.get_attr_opt::<i64>("layout")?.unwrap_or(0) == 1,
            bias: input(),
            lengths: input(),
            initial: [input(), if kind == Kind::Lstm { input() } else { None }],
            peepholes: if kind == Kind::Lstm { input() } else { None },
            scales: is_quantized.then(|| [[input(), input()], [input(), input()]]),
            outputs: [output(), output(), output()],
            prepared: DirectionCache::default(),
        })
    }

    pub(super) fn shapes(&self, x: &[TDim]) -> [TVec<TDim>; 2] {
        let (time, batch) = if self.is_batch_first { (1, 0) } else { (0, 1) };
        let (time, batch) = (x[time].clone(), x[batch].clone());
        let (directions, hidden) = (TDim::from(self.directions.len()), TDim::from(self.hidden));
        match self.is_batch_first {
            true => [tvec!(batch.clone(), time, directions.clone(), hidden.clone()), tvec!(batch, directions, hidden)],
            false => [tvec!(time, directions.clone(), batch.clone(), hidden.clone()), tvec!(directions, batch, hidden)],
        }
    }

    pub(super) fn nboutputs(&self) -> usize {
        self.outputs.iter().flatten().count()
    }
}
