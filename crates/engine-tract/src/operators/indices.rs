//! Indices that a run computes or takes: out of range they are errors.
//!
//! tract's kernels panic at some of them, and read a wrong row at others. What looks up or replaces by index checks first, which
//! costs one look at each index. Negative ones count from the end.

use tract_onnx::prelude::{TValue, TVec, Tensor, TypedFact, TypedModel};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, Op, StaticName, TractResult, TypedOp, Validation, bail,
};
use tract_onnx::tract_core::ops::array::{Gather, GatherElements, GatherNd, ScatterElements, ScatterNd};
use tract_onnx::tract_core::ops::logic::IfThenElse;
use tract_onnx::tract_core::ops::scan::Scan;
use tract_onnx::tract_core::{as_op, op_as_typed_op};

/// Has every operator check its indices, also in bodies. Nothing rewrites the model after this.
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

/// What the indices of an operator are. They are its second input, and the first is what they point into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Each is a place on this axis.
    OfAxis(usize),
    /// The last dimension holds a place on each axis from this one on.
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

/// An operator of tract's that checks its indices.
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
            // The others' kernels take negative ones as they are.
            Kind::OfAxis(axis) => {
                let Some(&size) = data.get(axis) else { return self.op.eval(context, inputs) };
                check(inputs[1].try_as_plain_ram()?.as_slice::<i64>()?, size, axis, name)?;
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

/// Checks that indices are places on an axis.
fn check(indices: &[i64], size: usize, axis: usize, name: &str) -> TractResult<()> {
    let is_outside = |index: &&i64| **index < -(size as i64) || **index >= size as i64;
    match indices.iter().find(is_outside) {
        None => Ok(()),
        Some(index) if size == 0 => {
            bail!("{name} takes index {index} of axis {axis}, which has no entries: the model's inputs ask for one")
        }
        Some(index) => bail!(
            "{name} takes index {index} of axis {axis}, which has {size} entries: {} to {} are right, and the model's inputs lead \
             to another one",
            -(size as i64),
            size - 1
        ),
    }
}

/// Checks the indices of several axes, and makes negative ones count from the beginning. Returns whether there were any.
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
