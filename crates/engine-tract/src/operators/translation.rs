//! Operators of tract whose translation this crate replaces.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tract_onnx::prelude::{InferenceFact, InferenceModel, IntoArcTensor, TValue, TVec, TypedFact, TypedModel};
use tract_onnx::tract_core::dyn_clone::clone_box;
use tract_onnx::tract_core::internal::{EvalOp, Op, OutletId, StaticName, TractResult, TypedOp, TypedSimplePlan, tvec};
use tract_onnx::tract_core::{as_op, not_a_typed_op};
use tract_onnx::tract_hir::internal::{InferenceNode, InferenceOp};

/// Translates inputs with tract's own operator.
pub(super) type Inner<'a> = &'a dyn Fn(&mut TypedModel, &[OutletId]) -> TractResult<TVec<OutletId>>;

/// Translates a node with this name into a model. It may use tract's own operator.
type Wire = dyn Fn(&str, &mut TypedModel, &[OutletId], Inner<'_>) -> TractResult<TVec<OutletId>> + Send + Sync;

/// An operator whose types and shapes come from tract's operator, and whose translation comes from this crate.
#[derive(Clone)]
pub(super) struct Rewired {
    /// The operator that determines types and shapes.
    op: Box<dyn InferenceOp>,
    /// The operator that the translation uses.
    inner: Box<dyn InferenceOp>,
    wire: Arc<Wire>,
}

impl Rewired {
    pub(super) fn new(
        op: Box<dyn InferenceOp>,
        wire: impl Fn(&str, &mut TypedModel, &[OutletId], Inner<'_>) -> TractResult<TVec<OutletId>> + Send + Sync + 'static,
    ) -> Self {
        Self { inner: op.clone(), op, wire: Arc::new(wire) }
    }

    /// Uses another operator of tract in the translation than the one that determines types and shapes.
    pub(super) fn on(self, inner: Box<dyn InferenceOp>) -> Self {
        Self { inner, ..self }
    }

    fn wire_into(&self, name: &str, target: &mut TypedModel, inputs: &[OutletId]) -> TractResult<TVec<OutletId>> {
        let inner = |target: &mut TypedModel, inputs: &[OutletId]| translated(&*self.inner, name, target, inputs);
        (self.wire)(name, target, inputs, &inner)
    }
}

/// Translates a node with one of tract's operators.
pub(super) fn translated(
    op: &dyn InferenceOp,
    name: &str,
    target: &mut TypedModel,
    inputs: &[OutletId],
) -> TractResult<TVec<OutletId>> {
    // The slots stand for the inputs, so that a value which fills two slots can be replaced in one of them.
    let slots: Vec<OutletId> = (0..inputs.len()).map(|slot| OutletId::new(slot, 0)).collect();
    let mapping: HashMap<OutletId, OutletId> = slots.iter().copied().zip(inputs.iter().copied()).collect();
    let mut source = InferenceModel::default();
    let facts = tvec!(InferenceFact::default(); op.nboutputs()?);
    let id = source.add_node(name, clone_box(op), facts)?;
    let node = InferenceNode { inputs: slots, ..source.node(id).clone() };
    op.to_typed(&source, &node, target, &mapping)
}

impl fmt::Debug for Rewired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rewired({:?})", self.op)
    }
}

impl PartialEq for Rewired {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Rewired {}

impl Op for Rewired {
    fn name(&self) -> StaticName {
        self.op.as_op().name()
    }

    not_a_typed_op!();
}

impl EvalOp for Rewired {
    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        let mut model = TypedModel::default();
        let mut sources = Vec::new();
        for (slot, input) in inputs.iter().enumerate() {
            let fact = TypedFact::try_from(input.clone().into_arc_tensor())?;
            sources.push(model.add_source(format!("input{slot}"), fact)?);
        }
        let outputs = self.wire_into("computed", &mut model, &sources)?;
        model.select_output_outlets(&outputs)?;
        TypedSimplePlan::new(model)?.run(inputs).map(Some)
    }
}

impl InferenceOp for Rewired {
    fn infer_facts(
        &mut self,
        inputs: TVec<&InferenceFact>,
        outputs: TVec<&InferenceFact>,
        observed: TVec<&InferenceFact>,
    ) -> TractResult<(TVec<InferenceFact>, TVec<InferenceFact>, TVec<InferenceFact>)> {
        self.op.infer_facts(inputs, outputs, observed)
    }

    fn nboutputs(&self) -> TractResult<usize> {
        self.op.nboutputs()
    }

    as_op!();

    fn to_typed(
        &self,
        _: &InferenceModel,
        node: &InferenceNode,
        target: &mut TypedModel,
        mapping: &HashMap<OutletId, OutletId>,
    ) -> TractResult<TVec<OutletId>> {
        let inputs: Vec<OutletId> = node.inputs.iter().map(|outlet| mapping[outlet]).collect();
        self.wire_into(&node.name, target, &inputs)
    }
}
