//! Indices that a run computes or receives. An index out of range is an error.
//!
//! tract's kernels panic at some of them, and read a wrong row at others. So operators that look up or replace by index
//! check all indices first, in one pass. Negative indices count from the end.

use std::collections::HashSet;

use opscope_onnx::{Graph, Operator, Producer, ValueId};
use tract_onnx::prelude::{TValue, TVec, Tensor, TypedFact, TypedModel};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, Op, StaticName, TractResult, TypedOp, Validation,
};
use tract_onnx::tract_core::ops::array::{Gather, GatherElements, GatherNd, ScatterElements, ScatterNd};
use tract_onnx::tract_core::ops::logic::IfThenElse;
use tract_onnx::tract_core::ops::scan::Scan;
use tract_onnx::tract_core::{as_op, op_as_typed_op};

/// Makes every operator check its indices, including those in bodies. Nothing rewrites the model after this. An
/// optimised loop has its plan already, so its body was handled before.
pub(crate) fn with_checked_indices(model: &mut TypedModel) {
    for node in 0..model.nodes().len() {
        let node = model.node_mut(node);
        if kind(&*node.op).is_some() {
            node.op = Box::new(Checked { op: node.op.clone() });
        } else if let Some(scan) = node.op_as_mut::<Scan>() {
            with_checked_indices(&mut scan.body);
        } else if let Some(branches) = node.op_as_mut::<IfThenElse>() {
            with_checked_indices(&mut branches.then_body);
            with_checked_indices(&mut branches.else_body);
        }
    }
}

/// The meaning of an operator's indices. They are its second input, and refer to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Each is a position on this axis.
    OfAxis(usize),
    /// The last dimension holds a position for each axis from this one on.
    OfAxesFrom(usize),
}

fn kind(op: &dyn TypedOp) -> Option<(Kind, &'static str)> {
    if let Some(op) = op.downcast_ref::<Gather>() {
        return Some((Kind::OfAxis(op.axis), "Gather"));
    }
    if let Some(op) = op.downcast_ref::<GatherElements>() {
        return Some((Kind::OfAxis(op.axis), "GatherElements"));
    }
    if let Some(op) = op.downcast_ref::<ScatterElements>() {
        return Some((Kind::OfAxis(op.axis), "ScatterElements"));
    }
    if let Some(op) = op.downcast_ref::<GatherNd>() {
        return Some((Kind::OfAxesFrom(op.batch_dims), "GatherND"));
    }
    op.downcast_ref::<ScatterNd>().map(|_| (Kind::OfAxesFrom(0), "ScatterND"))
}

/// One of tract's operators that checks its indices.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Checked {
    op: Box<dyn TypedOp>,
}

impl Op for Checked {
    fn name(&self) -> StaticName {
        self.op.name()
    }

    fn validation(&self) -> Validation {
        self.op.validation()
    }

    fn info(&self) -> TractResult<Vec<String>> {
        self.op.info()
    }

    op_as_typed_op!();
}

impl EvalOp for Checked {
    fn eval(&self, context: &EvalContext, mut inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let Some((kind, name)) = kind(&*self.op) else { return self.op.eval(context, inputs) };
        let data = inputs[0].shape();
        match kind {
            // The kernels of the other operators accept negative indices.
            Kind::OfAxis(axis) => {
                let Some(&size) = data.get(axis) else { return self.op.eval(context, inputs) };
                check(inputs[1].cast_to::<i64>()?.try_as_plain_ram()?.as_slice::<i64>()?, size, axis, name)?;
            }
            Kind::OfAxesFrom(first) => {
                let mut indices = inputs[1].cast_to::<i64>()?.into_owned();
                if from_the_beginning(&mut indices, &data[first.min(data.len())..], first, name)? {
                    inputs[1] = indices.into_tvalue();
                }
            }
        }
        self.op.eval(context, inputs)
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

/// An index that is out of range.
#[derive(Debug)]
pub(crate) struct OutOfRange(String);

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutOfRange {}

/// Returns the sentence to add to an operator's error: it names the model's inputs that its indices are computed from.
pub(crate) fn sources_of_indices(operator: &Operator, graph: &Graph) -> String {
    const NAMED: usize = 4;
    // For an index in a body, the engine names the outer operator; then the index may come from anything that the body
    // takes.
    let looks_up = operator.op_type.starts_with("Gather") || operator.op_type.starts_with("Scatter");
    let own = operator.inputs.iter().skip(usize::from(looks_up)).take(if looks_up { 1 } else { usize::MAX });
    let mut waiting: Vec<ValueId> = own.flatten().chain(&operator.captures).copied().collect();
    let mut seen: HashSet<ValueId> = waiting.iter().copied().collect();
    while let Some(value) = waiting.pop() {
        let Producer::Operator(before, _) = graph.value(value).producer else { continue };
        let before = graph.operator(before);
        let taken = before.inputs.iter().flatten().chain(&before.captures).copied();
        waiting.extend(taken.filter(|&value| seen.insert(value)));
    }
    let inputs = graph.inputs.iter().filter(|input| seen.contains(input));
    let names: Vec<String> = inputs.map(|&input| format!("'{}'", graph.value(input).name)).collect();
    match &names[..] {
        [] => String::new(),
        [one] => format!("; it comes from the input {one}"),
        several if several.len() <= NAMED => format!("; it comes from the inputs {}", several.join(", ")),
        several => format!("; it comes from {} inputs of the model", several.len()),
    }
}

/// Checks that indices are positions on an axis.
fn check(indices: &[i64], size: usize, axis: usize, name: &str) -> TractResult<()> {
    let is_outside = |index: &&i64| **index < -(size as i64) || **index >= size as i64;
    let Some(index) = indices.iter().find(is_outside) else { return Ok(()) };
    let takes = format!("{name} takes index {index} of axis {axis}, which has");
    Err(OutOfRange(match size {
        0 => format!("{takes} no entries"),
        _ => format!("{takes} {size} entries: {} to {} are right", -(size as i64), size - 1),
    })
    .into())
}

/// Checks the indices of several axes, and makes negative ones count from the beginning. Returns whether there were
/// negative ones.
fn from_the_beginning(indices: &mut Tensor, sizes: &[usize], first: usize, name: &str) -> TractResult<bool> {
    let axes = indices.shape().last().copied().unwrap_or(0).min(sizes.len());
    if axes == 0 {
        return Ok(false);
    }
    let mut plain = indices.try_as_plain_ram_mut()?;
    let mut any = false;
    for row in plain.as_slice_mut::<i64>()?.chunks_exact_mut(axes) {
        for (at, (index, &size)) in row.iter_mut().zip(sizes).enumerate() {
            check(&[*index], size, first + at, name)?;
            if *index < 0 {
                *index += size as i64;
                any = true;
            }
        }
    }
    Ok(any)
}

impl TypedOp for Checked {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        self.op.output_facts(inputs)
    }

    as_op!();
}
