//! LSTM, GRU and RNN: tract reads only their directions, and only one of three correctly.

use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{SpecialOps, TValue, TVec, Tensor, TypedFact};
use tract_onnx::tract_core::internal::{
    AxisOp, EvalContext, EvalOp, IntoTValue, Op, OutletId, StaticName, TractResult, TypedOp, bail, tvec,
};
use tract_onnx::tract_core::{as_op, op_as_typed_op};

use super::translation::Rewired;
use super::{Built, build, tracts};

pub(super) fn register(framework: &mut Onnx) {
    for op_type in ["GRU", "LSTM", "RNN"] {
        framework.op_register.insert(op_type, built);
    }
}

pub(super) fn built(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    refuse_what_is_not_read(node)?;
    let (op, closures) = build(tracts(), context, node)?;
    let is_batch_first = node.get_attr_opt::<i64>("layout")?.unwrap_or(0) == 1;
    match node.get_attr_opt::<&str>("direction")?.unwrap_or("forward") {
        "reverse" => {
            let axis = usize::from(is_batch_first);
            Ok((Box::new(reversed(op, axis)), closures))
        }
        "bidirectional" if is_batch_first => {
            let mut time_first = node.clone();
            time_first.attribute.retain(|attribute| attribute.name != "layout");
            // The inputs after `initial_h`, which follows the bias and the lengths if these are present.
            let states = state_inputs(node);
            let (inner, _) = build(tracts(), context, &time_first)?;
            Ok((Box::new(transposed(op, states).on(inner)), closures))
        }
        _ => Ok((op, closures)),
    }
}

/// Refuses what tract does not read: it computes with the default activations, whatever the file says, and neither
/// clips nor couples gates.
pub(super) fn refuse_what_is_not_read(node: &NodeProto) -> TractResult<()> {
    let default: &[&str] = match node.op_type.as_str() {
        "LSTM" => &["Sigmoid", "Tanh", "Tanh"],
        "GRU" => &["Sigmoid", "Tanh"],
        _ => &["Tanh"],
    };
    for attribute in &node.attribute {
        let is_read = match attribute.name.as_str() {
            "activations" => {
                let found = attribute.strings.iter().zip(default.iter().cycle());
                found.into_iter().all(|(found, default)| found.eq_ignore_ascii_case(default.as_bytes()))
            }
            "activation_alpha" | "activation_beta" => attribute.floats.is_empty(),
            "clip" => false,
            "input_forget" => attribute.i == 0,
            _ => true,
        };
        if !is_read {
            bail!("the engine has no {} with the attribute '{}'", node.op_type, attribute.name);
        }
    }
    Ok(())
}

/// Returns the slots of `initial_h` and `initial_c` among the present inputs.
fn state_inputs(node: &NodeProto) -> Vec<usize> {
    let is_given = |slot: usize| node.input.get(slot).is_some_and(|name| !name.is_empty());
    let slot_of = |slot: usize| (0..slot).filter(|&before| is_given(before)).count();
    [5, 6].into_iter().filter(|&slot| is_given(slot)).map(slot_of).collect()
}

/// tract runs forward in any direction, so the sequence is reversed before and after it.
fn reversed(op: Box<dyn tract_onnx::tract_hir::internal::InferenceOp>, axis: usize) -> Rewired {
    Rewired::new(op, move |name, target, inputs, inner| {
        let mut inputs: TVec<OutletId> = inputs.into();
        inputs[0] = target.wire_node(format!("{name}.x_reversed"), Reverse { axis }, &[inputs[0]])?[0];
        let mut outputs = inner(target, &inputs)?;
        outputs[0] = target.wire_node(format!("{name}.y_reversed"), Reverse { axis }, &[outputs[0]])?[0];
        Ok(outputs)
    })
}

/// If the batch comes first, tract joins the two directions along the wrong axes, so time is moved to the front.
fn transposed(op: Box<dyn tract_onnx::tract_hir::internal::InferenceOp>, states: Vec<usize>) -> Rewired {
    Rewired::new(op, move |name, target, inputs, inner| {
        let mut inputs: TVec<OutletId> = inputs.into();
        for slot in [0].iter().chain(&states) {
            let name = format!("{name}.input{slot}_time_first");
            inputs[*slot] = target.wire_node(name, AxisOp::Move(0, 1), &[inputs[*slot]])?[0];
        }
        let mut outputs = inner(target, &inputs)?;
        for (slot, output) in outputs.iter_mut().enumerate() {
            let name = format!("{name}.output{slot}_batch_first");
            let back = if slot == 0 { AxisOp::Move(2, 0) } else { AxisOp::Move(1, 0) };
            *output = target.wire_node(name, back, &[*output])?[0];
        }
        Ok(outputs)
    })
}

/// Reverses an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reverse {
    axis: usize,
}

impl Op for Reverse {
    fn name(&self) -> StaticName {
        "Reverse".into()
    }

    op_as_typed_op!();
}

impl EvalOp for Reverse {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let length = inputs[0].shape()[self.axis];
        if length < 2 {
            return Ok(inputs);
        }
        let slices = (0..length).rev().map(|index| inputs[0].slice(self.axis, index, index + 1));
        let slices = slices.collect::<TractResult<Vec<Tensor>>>()?;
        Ok(tvec!(Tensor::stack_tensors(self.axis, &slices)?.into_tvalue()))
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for Reverse {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec!(inputs[0].without_value()))
    }

    as_op!();
}
