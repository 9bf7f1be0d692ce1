//! Refuses shapes that do not fit together, before tract optimises.
//!
//! tract notices some of them only when a run computes them, and its optimiser takes exponential time for a chain of
//! additions whose operands cannot be broadcast to each other.

use tract_onnx::prelude::{TDim, TypedFact, TypedModel};
use tract_onnx::tract_core::internal::{TVec, TractResult};
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::logic::Iff;

use crate::budget::guard::Refused;
/// Checks every operator whose inputs must have equal dimensions, or 1.
pub(crate) fn check(model: &TypedModel) -> TractResult<()> {
    for node in model.nodes() {
        let facts: TVec<&TypedFact> =
            node.inputs.iter().map(|outlet| model.outlet_fact(*outlet)).collect::<TractResult<_>>()?;
        let fits = if let Some(sum) = node.op_as::<EinSum>() {
            sum.axes.iter_all_axes().all(|axis| {
                let dims = axis.inputs.iter().zip(&facts).flat_map(|(positions, fact)| {
                    positions.iter().filter_map(|position| fact.shape.dims().get(*position))
                });
                // An axis that is summed over is not broadcast: one element does not stand for a column of many.
                let is_summed = axis.outputs.iter().all(|positions| positions.is_empty());
                if is_summed { are_equal(dims.take(2)) } else { agree(dims) }
            })
        } else if node.op_is::<TypedBinOp>() || node.op_is::<Iff>() {
            let rank = facts.iter().map(|fact| fact.rank()).max().unwrap_or(0);
            facts.iter().any(|fact| fact.rank() != rank)
                || (0..rank).all(|axis| agree(facts.iter().filter_map(|fact| fact.shape.dims().get(axis))))
        } else {
            true
        };
        if !fits {
            let shapes: Vec<String> = facts.iter().map(|fact| format!("[{:?}]", fact.shape)).collect();
            let reason = format!("its inputs of shapes {} do not fit each other", shapes.join(" and "));
            return Err(Refused { node: node.name.clone(), reason }.into());
        }
    }
    Ok(())
}

/// Returns whether all known dimensions are equal.
fn are_equal<'a>(dims: impl Iterator<Item = &'a TDim>) -> bool {
    let mut lengths = dims.filter_map(|dim| dim.to_i64().ok());
    let first = lengths.next();
    lengths.all(|length| Some(length) == first)
}

/// Returns whether all known dimensions other than 1 are equal.
fn agree<'a>(dims: impl Iterator<Item = &'a TDim>) -> bool {
    let mut lengths = dims.filter_map(|dim| dim.to_i64().ok()).filter(|length| *length != 1);
    let first = lengths.next();
    lengths.all(|length| Some(length) == first)
}
