//! Turns tract's typed model into the one that is planned, without the rewrites that would change values.
//!
//! `docs/decisions/402-rewrites-that-are-held-back.md` says which rewrites of tract are wrong, with a minimal model for
//! each.

mod branches;
mod convolution;
pub(crate) mod provenance;

use std::fmt;

use opscope_model::{EngineError, PlanForm};
use tract_onnx::prelude::{InferenceModel, InferenceModelExt, TypedModel};
use tract_onnx::tract_core::internal::{AxisOp, Datum, InOut, OutletId, TractResult, TypedModelPatch, TypedNode};
use tract_onnx::tract_core::ops::Downsample;
use tract_onnx::tract_core::ops::array::{MultiBroadcastTo, Slice, TypedConcat};
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cast::Cast;
use tract_onnx::tract_core::ops::cnn::{Conv, PaddingSpec};
use tract_onnx::tract_core::ops::dummy::Dummy;
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::element_wise::ElementWiseOp;
use tract_onnx::tract_core::ops::gru_seq::GruSeq;
use tract_onnx::tract_core::ops::logic::IfThenElse;
use tract_onnx::tract_core::ops::math::{Div, Sub, add};
use tract_onnx::tract_core::ops::quant::{DequantizeLinearF32, QuantizeLinearI8, QuantizeLinearU8};
use tract_onnx::tract_core::ops::scan::Scan;
use tract_onnx::tract_core::optim::{Optimizer, OptimizerSession, TypedPass};

use crate::{budget, operators};
use branches::Branches;
use provenance::Followed;

/// How far tract may rewrite a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Every pass; the fastest form.
    Full,
    /// Every pass but the one with this name.
    Without(&'static str),
    /// Simplified, but without operators that only tract has.
    Decluttered,
    /// As in the file.
    Plain,
}

/// How many of tract's operators a model that is rewritten may have. Each patch is compared with every node.
const MOST_REWRITTEN: usize = 20_000;

impl Form {
    /// All forms, the fastest first.
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

    /// Returns the form's name for users.
    pub(crate) fn name(self) -> PlanForm {
        PlanForm::new(match self {
            Form::Full => "every rewrite".to_owned(),
            Form::Without(pass) => format!("every rewrite but {pass}"),
            Form::Decluttered => "decluttered only".to_owned(),
            Form::Plain => "no rewrites".to_owned(),
        })
    }

    /// Returns a note if a model has too many operators for this form.
    pub(crate) fn too_many_operators(self, model: &TypedModel) -> Option<String> {
        let operators = model.nodes().len();
        (self != Form::Plain && operators > MOST_REWRITTEN).then(|| {
            format!(
                "the plan has no rewrites: the engine's take time with the square of the operators, and there are {operators}, \
                 more than {MOST_REWRITTEN}"
            )
        })
    }

    /// Returns the form with this name.
    pub(crate) fn named(name: &PlanForm) -> Result<Self, EngineError> {
        let found = Self::ALL.iter().copied().find(|form| form.name() == *name);
        found.ok_or_else(|| EngineError::Load { node: None, reason: format!("it has no plans with '{}'", name.name()) })
    }
}

/// Translates a model to one whose runs are independent of each other.
pub(crate) fn typed(model: InferenceModel) -> TractResult<TypedModel> {
    let mut model = model.into_typed()?;
    forget_between_runs(&mut model);
    for node in 0..model.nodes().len() {
        if let Some(patch) = project_narrow_input(&model, model.node(node))? {
            patch.apply(&mut model)?;
        }
    }
    Ok(model)
}

/// Makes recurrences start from their inputs, as in ONNX. tract is designed for streams: there, the final state of a
/// recurrence is the initial state of the next run, or of the next iteration inside another body.
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

/// tract's own GRU fails if an element of the sequence is a single number. Since it also accepts a ready product with
/// the input weights, that product is computed before it.
fn project_narrow_input(model: &TypedModel, node: &TypedNode) -> TractResult<Option<TypedModelPatch>> {
    let Some(gru) = node.op_as::<GruSeq>().filter(|gru| !gru.projected) else { return Ok(None) };
    let elements = &model.outlet_fact(node.inputs[0])?.shape;
    if elements.rank() != 3 || !elements[2].is_one() {
        return Ok(None);
    }
    let mut patch = TypedModelPatch::new("the product of a GRU's narrow input");
    let taps = patch.taps(model, &node.inputs)?;
    let product = EinSum::new("btk,gk->btg".parse()?, f32::datum_type());
    let mut input = patch.wire_node(format!("{}.product", node.name), product, &taps[..2])?[0];
    if gru.has_bias {
        let rank = patch.outlet_fact(taps[3])?.rank();
        let slice = Slice::new(rank - 1, 0, 3 * gru.hidden);
        let mut bias = patch.wire_node(format!("{}.bias", node.name), slice, &[taps[3]])?[0];
        for axis in rank..3 {
            bias = patch.wire_node(format!("{}.bias.axis-{axis}", node.name), AxisOp::Add(0), &[bias])?[0];
        }
        input = patch.wire_node(format!("{}.sum", node.name), add(), &[input, bias])?[0];
    }
    let inputs: Vec<_> = [input].into_iter().chain(taps[2..].iter().copied()).collect();
    let outputs = patch.wire_node(&node.name, GruSeq { projected: true, ..gru.clone() }, &inputs)?;
    for (slot, output) in outputs.into_iter().enumerate() {
        patch.shunt_outside(model, OutletId::new(node.id, slot), output)?;
    }
    Ok(Some(patch))
}

/// Rewrites a model until no rewrite applies any more.
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

/// Returns the passes of a form, in tract's order. The file's values are followed through them.
fn guarded(all: Optimizer, form: Form) -> Optimizer {
    let guard = |pass: Box<dyn TypedPass>| -> Option<Box<dyn TypedPass>> {
        let name = format!("{pass:?}");
        match (name.as_str(), form) {
            (name, Form::Without(unwanted)) if name == unwanted => None,
            ("declutter", _) => Some(Box::new(Operators { rewrite: Rewrite::Declutter, form, position: 0 })),
            ("codegen", _) => Some(Box::new(Operators { rewrite: Rewrite::Codegen, form, position: 0 })),
            _ => Some(pass),
        }
    };
    let passes = all.passes.into_iter().filter_map(guard);
    Optimizer { passes: passes.map(|pass| Box::new(Followed::new(pass)) as _).collect(), ..all }
}

/// tract's passes that ask each operator for a better form of itself. Operators whose better form would be wrong are
/// skipped, and an operator that returns an error stays unchanged.
#[derive(Clone)]
struct Operators {
    rewrite: Rewrite,
    form: Form,
    position: usize,
}

#[derive(Clone, Copy)]
enum Rewrite {
    Declutter,
    Codegen,
}

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rewrite {
            Rewrite::Declutter => "declutter",
            Rewrite::Codegen => "codegen",
        })
    }
}

impl TypedPass for Operators {
    fn reset(&mut self) -> TractResult<()> {
        self.position = 0;
        Ok(())
    }

    fn next(&mut self, session: &mut OptimizerSession<'_>, model: &TypedModel) -> TractResult<Option<TypedModelPatch>> {
        for node in model.nodes().iter().skip(self.position) {
            if node.op_is::<Dummy>() {
                continue;
            }
            budget::at(Some(&node.name))?;
            let answer = match self.rewrite {
                Rewrite::Declutter => declutter(session, model, node),
                Rewrite::Codegen => codegen(self.form, model, node),
            };
            if let Ok(Some(mut patch)) = answer {
                patch.push_context(format!("{self:?} {node}"));
                self.position = node.id + usize::from(patch.dont_apply_twice.is_some());
                return Ok(Some(patch));
            }
        }
        Ok(None)
    }
}

fn declutter(
    session: &mut OptimizerSession<'_>,
    model: &TypedModel,
    node: &TypedNode,
) -> TractResult<Option<TypedModelPatch>> {
    let is_held_back =
        becomes_wrong_table(model, node)? || is_sampled_too_early(model, node)? || loses_its_length(model, node)?;
    if is_held_back {
        return Ok(None);
    }
    let patch = node.op.declutter_with_session(session, model, node)?;
    Ok(patch.filter(|patch| !negates_too_little(model, node, patch) && !extracts_a_loop(node, patch)))
}

/// Returns the better form of an operator. The bodies of loops and branches are optimised like the graph around them.
fn codegen(form: Form, model: &TypedModel, node: &TypedNode) -> TractResult<Option<TypedModelPatch>> {
    let rewritten = |body: TypedModel| -> TractResult<TypedModel> {
        let mut body = optimise(body, form)?;
        operators::with_checked_indices(&mut body);
        Ok(body)
    };
    if let Some(scan) = node.op_as::<Scan>() {
        let scan = Scan { body: rewritten(scan.body.clone())?, ..scan.clone() };
        return TypedModelPatch::replace_single_op(model, node, &node.inputs, scan.to_codegen_op(false)?).map(Some);
    }
    if let Some(branches) = node.op_as::<IfThenElse>() {
        let branches = Branches::of(node, branches, rewritten)?;
        return TypedModelPatch::replace_single_op(model, node, &node.inputs, branches).map(Some);
    }
    if let Some(conv) = node.op_as::<Conv>()
        && let Some(patch) = convolution::patch(model, node, conv)?
    {
        return Ok(Some(patch));
    }
    if let Some(ElementWiseOp(op, _)) = node.op_as()
        && model.outlet_fact(node.inputs[0])?.datum_type == f32::datum_type()
        && let Some(bytes) = operators::ToBytes::of(&**op)
    {
        return TypedModelPatch::replace_single_op(model, node, &node.inputs, bytes).map(Some);
    }
    node.op.codegen(model, node)
}

/// Returns whether tract would turn a dequantization and the operators after it into a table of 256 values although
/// such a table is wrong: because an operator combines neighbouring elements, or because the type changes.
fn becomes_wrong_table(model: &TypedModel, node: &TypedNode) -> TractResult<bool> {
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

/// Returns whether tract would sample every nth element of an operator's inputs instead of its output, although the
/// output's elements depend on the others, or although the index of the first sample would be lost.
fn is_sampled_too_early(model: &TypedModel, node: &TypedNode) -> TractResult<bool> {
    let Some(sample) = node.op_as::<Downsample>() else { return Ok(false) };
    let Some(before) = model.linear_prec(node.id)? else { return Ok(false) };
    if sample.stride == 1 {
        return Ok(false);
    }
    if let Some(conv) = before.op_as::<Conv>() {
        let spec = &conv.pool_spec;
        let is_of_channels = spec.data_format.c_is_last() && sample.axis + 1 == node.outputs[0].fact.rank();
        let is_padded_by_number = matches!(spec.padding, PaddingSpec::Explicit(..) | PaddingSpec::Valid);
        return Ok(sample.modulo != 0 || is_of_channels || !is_padded_by_number);
    }
    let is_by_element = before.op_is::<ElementWiseOp>()
        || before.op_is::<TypedBinOp>()
        || before.op_is::<Cast>()
        || before.op_is::<DequantizeLinearF32>();
    let keeps_other_axes = before.op_is::<AxisOp>()
        || before.op_is::<Slice>()
        || before.op_is::<TypedConcat>()
        || before.op_is::<EinSum>();
    Ok(!is_by_element && !keeps_other_axes)
}

/// Returns whether tract would remove the broadcast of a sum's input, although nothing else has the length of the axis.
fn loses_its_length(model: &TypedModel, node: &TypedNode) -> TractResult<bool> {
    let Some(sum) = node.op_as::<EinSum>() else { return Ok(false) };
    for (slot, &outlet) in node.inputs.iter().enumerate() {
        let before = model.node(outlet.node);
        if !before.op_is::<MultiBroadcastTo>() {
            continue;
        }
        let long = &model.outlet_fact(outlet)?.shape;
        let short = &model.outlet_fact(before.inputs[0])?.shape;
        if long.rank() != short.rank() {
            return Ok(true);
        }
        for axis in (0..long.rank()).filter(|&axis| long[axis] != short[axis]) {
            let role = sum.axes.axis((InOut::In(slot), axis))?;
            let mut is_kept = false;
            for (other, &outlet) in node.inputs.iter().enumerate().filter(|(other, _)| *other != slot) {
                let shape = &model.outlet_fact(outlet)?.shape;
                is_kept |= role.inputs[other].iter().any(|&axis_there| shape[axis_there] == long[axis]);
            }
            if !is_kept || role.outputs[0].is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns whether a patch moves a loop out of the body of another one, to run it once over all its inputs. tract
/// leaves the outer body with the shapes of a single iteration, and the run then fails.
fn extracts_a_loop(node: &TypedNode, patch: &TypedModelPatch) -> bool {
    node.op_is::<Scan>() && patch.model.nodes().iter().filter(|node| node.op_is::<Scan>()).count() > 1
}

/// Returns whether a patch folds `c - conv(x)` or `c / conv(x)` into the convolution as if it were `conv(x) - c` or
/// `conv(x) / c`. tract then changes the bias, but does not change the kernel as it should.
fn negates_too_little(model: &TypedModel, node: &TypedNode, patch: &TypedModelPatch) -> bool {
    let &[next] = &node.outputs[0].successors[..] else { return false };
    let is_asymmetric =
        model.node(next.node).op_as::<TypedBinOp>().is_some_and(|bin| bin.0.is::<Sub>() || bin.0.is::<Div>());
    let is_drawn_in = || patch.context.iter().any(|step| step == "declutter_channel_arithmetic_succ");
    next.slot == 1 && is_asymmetric && is_drawn_in()
}

#[cfg(test)]
mod tests {
    use tract_onnx::prelude::TypedFact;
    use tract_onnx::tract_core::internal::tvec;
    use tract_onnx::tract_core::ops::identity::Identity;

    use super::*;

    #[test]
    fn a_model_of_many_operators_is_not_rewritten_and_that_is_said() {
        let mut model = TypedModel::default();
        for index in 0..MOST_REWRITTEN {
            model.add_node(format!("{index}"), Identity, tvec!(TypedFact::dt_scalar(f32::datum_type()))).unwrap();
        }
        assert_eq!(Form::Full.too_many_operators(&model), None);
        model.add_node("last", Identity, tvec!(TypedFact::dt_scalar(f32::datum_type()))).unwrap();
        let said = Form::Full.too_many_operators(&model).unwrap();
        assert!(said.contains("20001") && said.contains("no rewrites"), "{said}");
        assert_eq!(Form::Plain.too_many_operators(&model), None, "it has no rewrites anyway");
    }
}
