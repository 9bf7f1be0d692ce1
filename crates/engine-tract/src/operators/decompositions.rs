//! Operators that are correct once they are decomposed into other operators of tract.

use tract_onnx::Onnx;
use tract_onnx::model::{ParsingContext, optional_inputs};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{DatumType, IntoArcTensor, SpecialOps, TVec, TypedModel, tensor0};
use tract_onnx::tract_core::internal::{AxisOp, OutletId, TractError, TractResult, bail, tvec};
use tract_onnx::tract_core::ops::cast::cast;
use tract_onnx::tract_core::ops::math::{abs, add, div, exp, ln, max, min, mul, neg, sub};
use tract_onnx::tract_core::ops::nn::sigmoid;

use super::translation::{Rewired, translated};
use super::{Built, build, tracts};

pub(super) fn register(framework: &mut Onnx) {
    framework.op_register.insert("Celu", celu);
    framework.op_register.insert("DFT", dft);
    framework.op_register.insert("ReduceLogSumExp", log_sum_exp);
    framework.op_register.insert("ReduceMax", extreme);
    framework.op_register.insert("ReduceMin", extreme);
    framework.op_register.insert("Softplus", softplus);
    framework.op_register.insert("SpaceToDepth", space_to_depth);
    framework.op_register.insert("Swish", swish);
}

/// Adds a constant with the type and rank of a value, for arithmetic with that value.
fn number(target: &mut TypedModel, name: String, number: f32, like: OutletId) -> TractResult<OutletId> {
    let fact = target.outlet_fact(like)?;
    let number = tensor0(number).cast_to_dt(fact.datum_type)?.into_owned().broadcast_into_rank(fact.rank())?;
    target.add_const(name, number.into_arc_tensor())
}

/// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`. tract omits the factor alpha.
fn celu(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let factor = node.get_attr_opt::<f32>("alpha")?.unwrap_or(1.0);
    let wire = Rewired::new(op, move |name, target, inputs, _| {
        let x = inputs[0];
        let zero = number(target, format!("{name}.zero"), 0.0, x)?;
        let one = number(target, format!("{name}.one"), 1.0, x)?;
        let alpha = number(target, format!("{name}.alpha"), factor, x)?;
        let scaled = target.wire_node(format!("{name}.scaled"), div(), &[x, alpha])?[0];
        let power = target.wire_node(format!("{name}.exp"), exp(), &[scaled])?[0];
        let less = target.wire_node(format!("{name}.less_one"), sub(), &[power, one])?[0];
        let below = target.wire_node(format!("{name}.times_alpha"), mul(), &[alpha, less])?[0];
        let below = target.wire_node(format!("{name}.below"), min(), &[zero, below])?[0];
        let above = target.wire_node(format!("{name}.above"), max(), &[zero, x])?[0];
        target.wire_node(name, add(), &[above, below])
    });
    Ok((Box::new(wire), closures))
}

/// Computes a discrete Fourier transform in fp64. In fp32, terms that cancel out would leave an error as large as the
/// input.
pub(super) fn dft(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    // The default axis is the last but one; tract uses the second.
    let is_second = context.onnx_operator_set_version < 20 || optional_inputs(node).nth(2).flatten().is_some();
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        let fact = target.outlet_fact(inputs[0])?;
        let datum = fact.datum_type;
        if !is_second && fact.rank() != 3 {
            bail!("the engine has no DFT without an axis for a tensor of rank {}", fact.rank());
        }
        let mut inputs: TVec<OutletId> = inputs.into();
        inputs[0] = target.wire_node(format!("{name}.in_fp64"), cast(DatumType::F64), &[inputs[0]])?[0];
        let transformed = inner(target, &inputs)?[0];
        target.wire_node(format!("{name}.transformed"), cast(datum), &[transformed])
    });
    Ok((Box::new(wire), closures))
}

/// `log(sum(exp(x - m))) + m`, where `m` is the largest element. tract computes `exp` of the numbers themselves, which
/// overflows from 89 on.
fn log_sum_exp(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let largest = NodeProto { op_type: "ReduceMax".to_owned(), ..node.clone() };
    let mut kept = largest.clone();
    kept.attribute.retain(|attribute| attribute.name != "keepdims");
    let (largest, _) = build(tracts(), context, &largest)?;
    let (kept, _) = build(tracts(), context, &kept)?;
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        if !target.outlet_fact(inputs[0])?.datum_type.is_float() {
            return inner(target, inputs);
        }
        let finite = |target: &mut TypedModel, name: String, value: OutletId| {
            let low = number(target, format!("{name}.lowest"), f32::MIN, value)?;
            let high = number(target, format!("{name}.highest"), f32::MAX, value)?;
            let above = target.wire_node(format!("{name}.above"), max(), &[value, low])?[0];
            Ok::<_, TractError>(target.wire_node(name, min(), &[above, high])?[0])
        };
        let kept = translated(&*kept, &format!("{name}.kept"), target, inputs)?[0];
        let kept = finite(target, format!("{name}.kept.finite"), kept)?;
        let largest = translated(&*largest, &format!("{name}.largest"), target, inputs)?[0];
        let largest = finite(target, format!("{name}.largest.finite"), largest)?;
        let mut inputs: TVec<OutletId> = inputs.into();
        inputs[0] = target.wire_node(format!("{name}.shifted"), sub(), &[inputs[0], kept])?[0];
        let sum = inner(target, &inputs)?[0];
        target.wire_node(format!("{name}.shifted_back"), add(), &[sum, largest])
    });
    Ok((Box::new(wire), closures))
}

/// The maximum of no elements is minus infinity, and the minimum is infinity. tract returns the largest finite numbers.
fn extreme(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let of_nothing = if node.op_type == "ReduceMax" { f32::NEG_INFINITY } else { f32::INFINITY };
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        let outputs = inner(target, inputs)?;
        let (input, output) = (target.outlet_fact(inputs[0])?, target.outlet_fact(outputs[0])?);
        let is_nothing = input.datum_type.is_float() && input.shape.iter().any(|dim| *dim == 0.into());
        match output.shape.as_concrete() {
            Some(shape) if is_nothing => {
                let filled = tensor0(of_nothing).cast_to_dt(output.datum_type)?.broadcast_scalar_to_shape(shape)?;
                Ok(tvec!(target.add_const(format!("{name}.of_nothing"), filled)?))
            }
            _ => Ok(outputs),
        }
    });
    Ok((Box::new(wire), closures))
}

/// In CRD order the channels of the input come before the positions in a block; tract supports only DCR.
fn space_to_depth(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    match node.get_attr_opt::<&str>("mode")?.unwrap_or("DCR") {
        "DCR" => return Ok((op, closures)),
        "CRD" => {}
        other => bail!("the engine has no SpaceToDepth with the mode '{other}'"),
    }
    let block = node.get_attr::<usize>("blocksize")?;
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        let channels = target.outlet_fact(inputs[0])?.shape[1].clone();
        let outputs = inner(target, inputs)?;
        let places = block * block;
        let joined = tvec!(channels.clone() * places);
        let apart = AxisOp::Reshape(1, joined.clone(), tvec!(places.into(), channels.clone()));
        let together = AxisOp::Reshape(1, tvec!(channels, places.into()), joined);
        let mut wire = target.wire_node(format!("{name}.apart"), apart, &outputs)?;
        wire = target.wire_node(format!("{name}.channels_first"), AxisOp::Move(2, 1), &wire)?;
        target.wire_node(format!("{name}.together"), together, &wire)
    });
    Ok((Box::new(wire), closures))
}

/// `max(0, x) + log(1 + exp(-|x|))`. tract computes `log(1 + exp(x))`, which overflows from 89 on.
fn softplus(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let wire = Rewired::new(op, move |name, target, inputs, _| {
        let x = inputs[0];
        let zero = number(target, format!("{name}.zero"), 0.0, x)?;
        let one = number(target, format!("{name}.one"), 1.0, x)?;
        let mut wire = target.wire_node(format!("{name}.abs"), abs(), &[x])?;
        wire = target.wire_node(format!("{name}.neg"), neg(), &wire)?;
        wire = target.wire_node(format!("{name}.exp"), exp(), &wire)?;
        wire = target.wire_node(format!("{name}.plus_one"), add(), &[wire[0], one])?;
        let rest = target.wire_node(format!("{name}.ln"), ln(), &wire)?[0];
        let above = target.wire_node(format!("{name}.above"), max(), &[zero, x])?[0];
        target.wire_node(name, add(), &[above, rest])
    });
    Ok((Box::new(wire), closures))
}

/// `x * sigmoid(alpha * x)`. tract ignores alpha.
fn swish(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let factor = node.get_attr_opt::<f32>("alpha")?.unwrap_or(1.0);
    if factor == 1.0 {
        return Ok((op, closures));
    }
    let wire = Rewired::new(op, move |name, target, inputs, _| {
        let alpha = number(target, format!("{name}.alpha"), factor, inputs[0])?;
        let scaled = target.wire_node(format!("{name}.scaled"), mul(), &[inputs[0], alpha])?[0];
        let gate = target.wire_node(format!("{name}.gate"), sigmoid(), &[scaled])?[0];
        target.wire_node(name, mul(), &[inputs[0], gate])
    });
    Ok((Box::new(wire), closures))
}
