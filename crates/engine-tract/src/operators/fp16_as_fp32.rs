//! Operators that compute fp16 values in fp32.
//!
//! tract has few kernels for fp16: most operators are slow with it, and some do not load or are wrong. So an operator
//! with fp16 inputs receives them widened to fp32, and its outputs are narrowed again, so each value keeps the type
//! that it has in the file. In optimised plans such operators pass fp32 to each other, rounded to the precision of
//! fp16. A convolution or a product and the arithmetic with constants after it are rounded once, at the end, because
//! they become one kernel.

use std::collections::HashMap;

use opscope_model::Fidelity;
use opscope_onnx::OperatorId;
use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{DatumType, InferenceFact, InferenceModel, SpecialOps, TValue, TVec, TypedFact, TypedModel};
use tract_onnx::tract_core::internal::translator::Translate;
use tract_onnx::tract_core::internal::{
    AxisOp, EvalOp, InletId, IntoArcTensor, IntoTValue, Op, OutletId, StaticName, TractError, TractResult, TypedNode,
    TypedOp, Validation, tvec,
};
use tract_onnx::tract_core::ops::array::{MultiBroadcastTo, Slice, TypedConcat};
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cnn::Conv;
use tract_onnx::tract_core::ops::einsum::EinSum;
use tract_onnx::tract_core::ops::identity::Identity;
use tract_onnx::tract_core::ops::logic::Iff;
use tract_onnx::tract_core::ops::math::{Add, Div, Max, Min, Mul, Sub};
use tract_onnx::tract_core::{as_op, not_a_typed_op};
use tract_onnx::tract_hir::infer::{Factoid, GenericFactoid};
use tract_onnx::tract_hir::internal::{InferenceModelPatch, InferenceNode, InferenceOp};

use super::fp16::{self, Halves};
use super::{Built, build, constants, corrected};
use crate::{budget, names};

/// Operators that only move or create values, those with graphs inside, and `Softmax`, which has a kernel for fp16.
const NOT_WIDENED: &[&str] = &[
    "Cast",
    "CastLike",
    "Compress",
    "Concat",
    "Constant",
    "ConstantLike",
    "ConstantOfShape",
    "DepthToSpace",
    "Dropout",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "If",
    "NonZero",
    "OneHot",
    "Pad",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Reshape",
    "Scan",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Shape",
    "Size",
    "Slice",
    "Softmax",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
];

/// The suffix of the names of added casts.
const WIDENED: &str = ".widened";
const NARROWED: &str = ".narrowed";

/// Replaces every operator that computes by one that computes fp16 in fp32.
pub(super) fn register(framework: &mut Onnx, fidelity: Fidelity) {
    let builder = match fidelity {
        Fidelity::Optimised => optimised,
        Fidelity::Exact => exact,
    };
    for (op_type, registered) in &mut framework.op_register.0 {
        if !NOT_WIDENED.contains(&op_type.as_str()) {
            *registered = builder;
        }
    }
}

fn optimised(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(corrected(Fidelity::Optimised), context, node)?;
    Ok((Box::new(Widened { op, constants_at_load: true }), closures))
}

fn exact(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(corrected(Fidelity::Exact), context, node)?;
    // tract accepts the parameters of a normalization only as constants.
    let constants_at_load = node.op_type == "BatchNormalization";
    Ok((Box::new(Widened { op, constants_at_load }), closures))
}

/// An operator that computes in fp32 what the file has in fp16.
#[derive(Debug, Clone)]
struct Widened {
    op: Box<dyn InferenceOp>,
    /// Whether constants are widened while the model is loaded. At exact fidelity they are widened in every run, so
    /// that an observer sees the file's own tensor as the operator's input.
    constants_at_load: bool,
}

impl PartialEq for Widened {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Eq for Widened {}

impl Op for Widened {
    fn name(&self) -> StaticName {
        self.op.as_op().name()
    }

    fn validation(&self) -> Validation {
        self.op.as_op().validation()
    }

    fn info(&self) -> TractResult<Vec<String>> {
        self.op.as_op().info()
    }

    not_a_typed_op!();
}

impl EvalOp for Widened {
    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        let folded = self.folded(inputs.clone())?;
        Ok(folded.map(|folded| constants::of_special_values(self, &inputs).unwrap_or(folded)))
    }
}

impl Widened {
    /// Returns what tract computes from constants; `None` if it computes that in every run.
    fn folded(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        if !inputs.iter().any(|input| input.datum_type() == DatumType::F16) {
            return self.op.as_op().eval_out_of_plan(inputs);
        }
        let facts: TVec<InferenceFact> =
            inputs.iter().map(|input| InferenceFact::dt_shape(input.datum_type(), input.shape())).collect();
        let unknown: TVec<InferenceFact> = tvec!(InferenceFact::default(); self.op.nboutputs()?);
        let (_, expected, _) =
            self.op.clone().infer_facts(facts.iter().collect(), unknown.iter().collect(), tvec!())?;
        let wide = inputs.into_iter().map(|input| match input.datum_type() {
            DatumType::F16 => Ok(fp16::widened(&input)?.into_tvalue()),
            _ => Ok(input),
        });
        let Some(computed) = self.op.as_op().eval_out_of_plan(wide.collect::<TractResult<_>>()?)? else {
            return Ok(None);
        };
        let narrow = computed.into_iter().zip(&expected).map(|(output, fact)| match fact.datum_type.concretize() {
            Some(datum) if datum == DatumType::F16 => Ok(output.cast_to_dt(datum)?.into_owned().into_tvalue()),
            _ => Ok(output),
        });
        narrow.collect::<TractResult<_>>().map(Some)
    }
}

impl InferenceOp for Widened {
    fn infer_facts(
        &mut self,
        inputs: TVec<&InferenceFact>,
        outputs: TVec<&InferenceFact>,
        observed: TVec<&InferenceFact>,
    ) -> TractResult<(TVec<InferenceFact>, TVec<InferenceFact>, TVec<InferenceFact>)> {
        budget::check()?;
        self.op.infer_facts(inputs, outputs, observed)
    }

    fn observe_outlets(&self, model: &InferenceModel, node: &InferenceNode) -> TractResult<Vec<OutletId>> {
        self.op.observe_outlets(model, node)
    }

    fn incorporate(&self, model: &InferenceModel, node: &InferenceNode) -> TractResult<Option<InferenceModelPatch>> {
        self.op.incorporate(model, node)
    }

    fn nboutputs(&self) -> TractResult<usize> {
        self.op.nboutputs()
    }

    as_op!();

    fn to_typed(
        &self,
        source: &InferenceModel,
        node: &InferenceNode,
        target: &mut TypedModel,
        mapping: &HashMap<OutletId, OutletId>,
    ) -> TractResult<TVec<OutletId>> {
        budget::at(Some(&node.name))?;
        let mut inner = InferenceNode { op: self.op.clone(), ..node.clone() };
        let mut wide = HashMap::new();
        let mut is_widened = false;
        for (slot, outlet) in node.inputs.iter().enumerate().filter(|(_, outlet)| mapping.contains_key(outlet)) {
            if wide.contains_key(outlet) {
                continue;
            }
            let mut input = mapping[outlet];
            if target.outlet_fact(input)?.datum_type == DatumType::F16 {
                input = self.widen(target, input, &format!("{}.input{slot}{WIDENED}", node.name))?;
                is_widened = true;
            }
            wide.insert(*outlet, input);
        }
        if !is_widened {
            return self.op.to_typed(source, &inner, target, mapping);
        }
        let is_narrow: Vec<bool> =
            node.outputs.iter().map(|output| output.fact.datum_type.concretize() == Some(DatumType::F16)).collect();
        for (output, _) in inner.outputs.iter_mut().zip(&is_narrow).filter(|(_, is_narrow)| **is_narrow) {
            output.fact.datum_type = GenericFactoid::Only(DatumType::F32);
            output.fact.value = GenericFactoid::Any;
        }
        let mut outputs = self.op.to_typed(source, &inner, target, &wide)?;
        for (slot, (output, is_narrow)) in outputs.iter_mut().zip(is_narrow).enumerate() {
            if is_narrow && target.outlet_fact(*output)?.datum_type == DatumType::F32 {
                let name = format!("{}.output{slot}{NARROWED}", node.name);
                *output = target.wire_node(name, Halves::Narrow, &[*output])?[0];
            }
        }
        Ok(outputs)
    }
}

impl Widened {
    fn widen(&self, target: &mut TypedModel, input: OutletId, name: &str) -> TractResult<OutletId> {
        match &target.outlet_fact(input)?.konst {
            Some(constant) if self.constants_at_load => {
                let wide = fp16::widened(constant)?.into_arc_tensor();
                target.add_const(name, wide)
            }
            _ => Ok(target.wire_node(name, Halves::Widen, &[input])?[0]),
        }
    }
}

/// Returns the operators of the file that compute in fp32 what the file has in fp16. Must be called before the model's
/// roundings are removed.
pub(crate) fn widened(model: &TypedModel) -> Vec<OperatorId> {
    let casts = model.nodes().iter().filter(|node| node.name.ends_with(WIDENED) || node.name.ends_with(NARROWED));
    let mut operators: Vec<OperatorId> = casts.filter_map(|node| names::decode(&node.name)).collect();
    operators.sort_by_key(|operator| operator.index());
    operators.dedup();
    operators
}

/// Passes fp32 from one widened operator to the next, even through operators that only move values. Each value is still
/// rounded to the precision of fp16. Values that the file itself casts to fp16, inputs, and outputs stay fp16.
pub(crate) fn without_casts(model: TypedModel) -> TractResult<TypedModel> {
    if !model.nodes().iter().any(|node| node.op_is::<Halves>()) {
        return Ok(model);
    }
    let mut wide = KeptWide.translate_model(&model)?;
    for (slot, outlet) in model.output_outlets()?.iter().enumerate() {
        let is_narrow = model.outlet_fact(*outlet)?.datum_type == DatumType::F16;
        let found = wide.output_outlets()?[slot];
        if is_narrow && wide.outlet_fact(found)?.datum_type == DatumType::F32 {
            let name = wide.unique_name(format!("{}.output", wide.node(found.node).name));
            wide.outputs[slot] = wide.wire_node(name, Halves::Narrow, &[found])?[0];
        }
    }
    Ok(wide)
}

#[derive(Debug)]
struct KeptWide;

impl Translate<TypedFact, Box<dyn TypedOp>, TypedFact, Box<dyn TypedOp>> for KeptWide {
    fn translate_node(
        &self,
        source: &TypedModel,
        node: &TypedNode,
        target: &mut TypedModel,
        mapping: &HashMap<OutletId, OutletId>,
    ) -> TractResult<TVec<OutletId>> {
        let mut inputs: TVec<OutletId> = node.inputs.iter().map(|outlet| mapping[outlet]).collect();
        let datum = |target: &TypedModel, outlet| Ok::<_, TractError>(target.outlet_fact(outlet)?.datum_type);
        match node.op_as::<Halves>() {
            Some(Halves::Narrow) if is_rounded_later(source, node)? => return Ok(inputs),
            Some(Halves::Narrow) => return target.wire_node(&node.name, Halves::Round, &inputs),
            Some(Halves::Widen) if datum(target, inputs[0])? == DatumType::F32 => return Ok(inputs),
            _ => {}
        }
        let mut narrow = Vec::new();
        let mut is_any_wide = false;
        for (slot, &input) in node.inputs.iter().enumerate() {
            if datum(source, input)? == DatumType::F16 {
                narrow.push(slot);
                is_any_wide |= datum(target, inputs[slot])? == DatumType::F32;
            }
        }
        if !is_any_wide {
            let facts = node.outputs.iter().map(|output| output.fact.clone()).collect();
            let id = target.add_node(&node.name, node.op.clone(), facts)?;
            for (slot, input) in inputs.into_iter().enumerate() {
                target.add_edge(input, InletId::new(id, slot))?;
            }
            return Ok((0..node.outputs.len()).map(|slot| OutletId::new(id, slot)).collect());
        }
        // If one input of an operator that only moves values is wide, all of them become wide; any other operator gets
        // fp16.
        let (to, conversion) = match moves_values(node) {
            true => (DatumType::F32, Halves::Widen),
            false => (DatumType::F16, Halves::Narrow),
        };
        for slot in narrow {
            if datum(target, inputs[slot])? != to {
                let name = target.unique_name(format!("{}.input{slot}.converted", node.name));
                inputs[slot] = target.wire_node(name, conversion, &[inputs[slot]])?[0];
            }
        }
        target.wire_node(&node.name, node.op.clone(), &inputs)
    }
}

/// Returns whether a value is inside operators that become one kernel: a convolution or a product, and the arithmetic
/// with constants after it.
fn is_rounded_later(model: &TypedModel, narrow: &TypedNode) -> TractResult<bool> {
    let is_output = model.output_outlets()?.iter().any(|outlet| outlet.node == narrow.id);
    let wide = model.single_succ(narrow.id)?.filter(|next| !is_output && next.op_as() == Some(&Halves::Widen));
    let Some(wide) = wide else { return Ok(false) };
    let Some(next) = model.single_succ(wide.id)? else { return Ok(false) };
    if argument(model, next)?.is_none() {
        return Ok(false);
    }
    let mut before = model.node(narrow.inputs[0].node);
    loop {
        if before.op_is::<Conv>() || before.op_is::<EinSum>() {
            return Ok(true);
        }
        let argument = if before.op_is::<Halves>() { Some(before.inputs[0]) } else { argument(model, before)? };
        let Some(argument) = argument else { return Ok(false) };
        before = model.node(argument.node);
    }
}

/// Returns the operand that is computed with a constant; `None` for other operators. Comparisons are excluded, because
/// they would see a number that fp16 does not have.
fn argument(model: &TypedModel, node: &TypedNode) -> TractResult<Option<OutletId>> {
    let Some(TypedBinOp(op, _)) = node.op_as() else { return Ok(None) };
    let is_arithmetic = op.is::<Add>() || op.is::<Sub>() || op.is::<Mul>() || op.is::<Div>();
    if !is_arithmetic && !op.is::<Max>() && !op.is::<Min>() {
        return Ok(None);
    }
    let is_constant = |outlet: &OutletId| Ok::<_, TractError>(model.outlet_fact(*outlet)?.konst.is_some());
    Ok(match (is_constant(&node.inputs[0])?, is_constant(&node.inputs[1])?) {
        (false, true) => Some(node.inputs[0]),
        (true, false) => Some(node.inputs[1]),
        _ => None,
    })
}

/// Returns whether one of tract's operators accepts values of any type and only moves them.
fn moves_values(node: &TypedNode) -> bool {
    node.op_is::<AxisOp>()
        || node.op_is::<Identity>()
        || node.op_is::<Iff>()
        || node.op_is::<MultiBroadcastTo>()
        || node.op_is::<Slice>()
        || node.op_is::<TypedConcat>()
}
