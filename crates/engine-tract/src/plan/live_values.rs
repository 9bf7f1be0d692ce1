//! The values that a run holds, by their ids in the file.

use std::collections::HashMap;

use opscope_model::LiveValues;
use opscope_onnx::ValueId;
use opscope_tensor::TensorView;
use tract_onnx::prelude::{TValue, TVec, TypedModel};
use tract_onnx::tract_core::internal::OutletId;
use tract_onnx::tract_core::ops::konst::Const;

use crate::tensors::view;

/// The outlet of tract that carries each value of the file.
pub(crate) type Outlets = HashMap<ValueId, OutletId>;

/// The values of a run around one of its nodes.
pub(crate) struct TractValues<'a> {
    pub model: &'a TypedModel,
    pub outlets: &'a Outlets,
    /// The values that the plan holds, by node. Empty if tract hides them.
    pub held: &'a [Option<TVec<TValue>>],
    /// The node's inputs, which the plan may have dropped already.
    pub inputs: Fed<'a>,
    /// The model's inputs, which the caller of the run holds until its end.
    pub given: Fed<'a>,
}

/// Tensors that were taken from these outlets.
#[derive(Clone, Copy)]
pub(crate) struct Fed<'a> {
    pub outlets: &'a [OutletId],
    pub tensors: &'a [TValue],
}

impl<'a> Fed<'a> {
    fn at(self, outlet: OutletId) -> Option<&'a TValue> {
        self.tensors.get(self.outlets.iter().position(|other| *other == outlet)?)
    }
}

impl LiveValues for TractValues<'_> {
    fn value(&self, id: ValueId) -> Option<TensorView<'_>> {
        let outlet = *self.outlets.get(&id)?;
        let held = self.held.get(outlet.node).and_then(|outputs| outputs.as_ref()?.get(outlet.slot));
        let value = held.or_else(|| self.inputs.at(outlet)).or_else(|| self.given.at(outlet));
        let constant = || self.model.node(outlet.node).op_as::<Const>().map(|constant| view(constant.val()));
        value.map(|value| view(value)).or_else(constant)
    }
}
