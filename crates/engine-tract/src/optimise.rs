//! From tract's typed model to the one that is planned, with what would change the values held back.
//!
//! `docs/decisions/402-rewrites-that-are-held-back.md` says what tract does wrong, with a minimal model for each.

use std::fmt;

use tract_onnx::prelude::{InferenceModel, InferenceModelExt, TypedModel};
use tract_onnx::tract_core::internal::{TractResult, TypedModelPatch, TypedNode};
use tract_onnx::tract_core::ops::dummy::Dummy;
use tract_onnx::tract_core::ops::element_wise::ElementWiseOp;
use tract_onnx::tract_core::ops::gru_seq::GruSeq;
use tract_onnx::tract_core::ops::logic::IfThenElse;
use tract_onnx::tract_core::ops::quant::{DequantizeLinearF32, QuantizeLinearI8, QuantizeLinearU8};
use tract_onnx::tract_core::ops::scan::Scan;
use tract_onnx::tract_core::optim::{Optimizer, OptimizerSession, TypedPass};

/// How far tract may rewrite a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "the weaker forms are for plans that fail their check")]
pub(crate) enum Form {
    /// Every pass: the fastest.
    Full,
    /// Every pass but the one of this name.
    Without(&'static str),
    /// Simpler, but with no operators of tract's own making.
    Decluttered,
    /// As the file has it.
    Plain,
}

impl Form {
    /// The forms, the fastest first.
    #[allow(dead_code, reason = "the weaker forms are for plans that fail their check")]
    pub(crate) const ALL: &[Self] = &[
        Self::Full,
        Self::Without("ChangeAxes"),
        Self::Without("PushSliceUp"),
        Self::Without("PushSplitDown"),
        Self::Without("ConcatThenEinsum"),
        Self::Without("fuse"),
        Self::Decluttered,
        Self::Plain,
    ];
}

/// Translates a model to one whose runs know nothing of each other.
pub(crate) fn typed(model: InferenceModel) -> TractResult<TypedModel> {
    let mut model = model.into_typed()?;
    forget_between_runs(&mut model);
    Ok(model)
}

/// tract means to run streams: what a recurrence has at the end of a run is where the next run starts, and for one in the
/// body of another, where its next iteration starts. ONNX means each to start from its input.
fn forget_between_runs(model: &mut TypedModel) {
    for node in model.nodes_mut() {
        if let Some(scan) = node.op_as_mut::<Scan>() {
            scan.reset_every_turn = true;
            forget_between_runs(&mut scan.body);
        } else if let Some(gru) = node.op_as_mut::<GruSeq>() {
            gru.reset_every_turn = true;
        } else if let Some(branches) = node.op_as_mut::<IfThenElse>() {
            forget_between_runs(&mut branches.then_body);
            forget_between_runs(&mut branches.else_body);
        }
    }
}

/// Rewrites a model until nothing is left to make faster.
pub(crate) fn optimise(mut model: TypedModel, form: Form) -> TractResult<TypedModel> {
    if form == Form::Plain {
        return Ok(model);
    }
    guarded(Optimizer::declutter(), form).optimize(&mut model)?;
    if form != Form::Decluttered {
        model.optimize_with_session(&mut guarded(Optimizer::codegen(), form).session())?;
    }
    Ok(model)
}

/// The passes that a form has, in tract's order.
fn guarded(all: Optimizer, form: Form) -> Optimizer {
    let guard = |pass: Box<dyn TypedPass>| {
        let name = format!("{pass:?}");
        match form {
            Form::Without(unwanted) if unwanted == name => None,
            _ if name == DECLUTTER => Some(Box::new(Declutter::default()) as Box<dyn TypedPass>),
            _ => Some(pass),
        }
    };
    Optimizer { passes: all.passes.into_iter().filter_map(guard).collect(), ..all }
}

const DECLUTTER: &str = "declutter";

/// tract's pass of the same name, which asks every operator for a simpler form of itself. Operators whose answer would be
/// wrong are not asked.
#[derive(Clone, Default)]
struct Declutter {
    position: usize,
}

impl TypedPass for Declutter {
    fn reset(&mut self) -> TractResult<()> {
        self.position = 0;
        Ok(())
    }

    fn next(&mut self, session: &mut OptimizerSession<'_>, model: &TypedModel) -> TractResult<Option<TypedModelPatch>> {
        for node in model.nodes().iter().skip(self.position) {
            if node.op_is::<Dummy>() || would_become_wrong_table(model, node)? {
                continue;
            }
            if let Some(mut patch) = node.op.declutter_with_session(session, model, node)? {
                patch.push_context(format!("{self:?} {node}"));
                self.position = node.id + usize::from(patch.dont_apply_twice.is_some());
                return Ok(Some(patch));
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for Declutter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DECLUTTER)
    }
}

/// Returns whether a dequantization is followed by operators that tract would make a table of 256 values, although there is
/// no such table: because an operator takes an element's neighbours into account, or because the type changes.
fn would_become_wrong_table(model: &TypedModel, node: &TypedNode) -> TractResult<bool> {
    if !node.op_is::<DequantizeLinearF32>() {
        return Ok(false);
    }
    let from = model.outlet_fact(node.inputs[0])?.datum_type;
    let mut current = node;
    while let Some(next) = model.single_succ(current.id)? {
        let Some(ElementWiseOp(op, _)) = next.op_as() else { return Ok(true) };
        if op.is::<QuantizeLinearU8>() || op.is::<QuantizeLinearI8>() {
            return Ok(next.outputs[0].fact.datum_type != from);
        }
        current = next;
    }
    Ok(false)
}
