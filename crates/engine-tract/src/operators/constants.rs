//! Values that are computed when a model is loaded, because they depend on constants only.

use opscope_model::Fidelity;
use tract_onnx::prelude::{InferenceFact, InferenceModel, InferenceModelExt, SpecialOps, TValue, TVec};
use tract_onnx::tract_core::internal::{IntoArcTensor, IntoTensor, TractResult, TypedSimplePlan};
use tract_onnx::tract_hir::internal::InferenceOp;

use super::non_finite::{is_special, with_special_values};

/// Returns what an operator computes from constants, some of which contain NaN or infinities, as in a run at exact
/// fidelity. tract's own kernels, which usually compute constants, drop these values. Returns `None` if no constant
/// contains any, or if the operator cannot be built without the values of its floating-point inputs.
pub(super) fn of_special_values(op: &(impl InferenceOp + Clone), inputs: &[TValue]) -> Option<TVec<TValue>> {
    let is_concerned =
        inputs.iter().any(|input| input.datum_type().is_float() && (input.len() == 0 || is_special(input)));
    if is_concerned { in_a_run(Box::new(op.clone()), inputs).ok() } else { None }
}

fn in_a_run(op: Box<dyn InferenceOp>, inputs: &[TValue]) -> TractResult<TVec<TValue>> {
    let mut model = InferenceModel::default();
    let mut sources = TVec::new();
    for (slot, input) in inputs.iter().enumerate() {
        // Shapes and axes have to be known. The numbers to compute with must not be known, because tract would compute
        // the result in advance.
        let fact = match input.datum_type().is_float() {
            true => InferenceFact::dt_shape(input.datum_type(), input.shape()),
            false => InferenceFact::try_from(input.clone().into_tensor().into_arc_tensor())?,
        };
        sources.push(model.add_source(format!("input{slot}"), fact)?);
    }
    let outputs = model.wire_node("folded", op, &sources)?;
    model.select_output_outlets(&outputs)?;
    let mut model = model.into_typed()?;
    with_special_values(&mut model, Fidelity::Exact);
    TypedSimplePlan::new(model)?.spawn()?.run(inputs.iter().cloned().collect())
}
