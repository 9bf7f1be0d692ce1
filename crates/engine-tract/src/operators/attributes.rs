//! Operators whose attributes and inputs tract interprets differently from ONNX, or ignores: corrected, or refused.

use tract_onnx::Onnx;
use tract_onnx::model::{ParsingContext, optional_inputs, optional_outputs};
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::{AttributeProto, NodeProto};
use tract_onnx::prelude::{DatumType, IntoArcTensor, SpecialOps, TVec, Tensor, TypedModel, tensor0, tensor1};
use tract_onnx::tract_core::internal::{AxisOp, OutletId, TractResult, bail};
use tract_onnx::tract_core::ops::array::Slice;
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cast::cast;
use tract_onnx::tract_core::ops::logic::{Iff, comp_lt};
use tract_onnx::tract_core::ops::math::{abs, add, div, max, min, mul, pow, round_half_to_even, sub};
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer};

use super::translation::Rewired;
use super::{Built, build, decompositions, tracts};

pub(super) fn register(framework: &mut Onnx) {
    framework.op_register.insert("ConvTranspose", conv_transpose);
    framework.op_register.insert("DFT", dft);
    framework.op_register.insert("DequantizeLinear", dequantize);
    framework.op_register.insert("Dropout", dropout);
    framework.op_register.insert("Einsum", einsum);
    framework.op_register.insert("GatherND", counted_from_the_end);
    framework.op_register.insert("GlobalLpPool", global_lp_pool);
    framework.op_register.insert("GridSample", grid_sample);
    framework.op_register.insert("NonMaxSuppression", non_max_suppression);
    framework.op_register.insert("Pad", pad);
    framework.op_register.insert("QuantizeLinear", quantize);
    framework.op_register.insert("Resize", resize);
    framework.op_register.insert("RotaryEmbedding", rotary_embedding);
    framework.op_register.insert("ScatterND", counted_from_the_end);
    framework.op_register.insert("Squeeze", squeeze);
    framework.op_register.insert("TopK", largest);
    framework.op_register.insert("Upsample", upsample);
}

/// Returns the numbers of an input that is known when the model is loaded.
fn known(model: &TypedModel, outlet: OutletId) -> TractResult<Option<Vec<f64>>> {
    let Some(constant) = &model.outlet_fact(outlet)?.konst else { return Ok(None) };
    Ok(Some(constant.cast_to::<f64>()?.try_as_plain_ram()?.as_slice::<f64>()?.to_vec()))
}

fn text(name: &str, value: &str) -> AttributeProto {
    let name = name.to_owned();
    AttributeProto { name, r#type: AttributeType::String as i32, s: value.into(), ..AttributeProto::default() }
}

/// tract does not support padding that is derived from the size of the output.
fn conv_transpose(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let auto_pad = node.get_attr_opt::<&str>("auto_pad")?.unwrap_or("NOTSET");
    if auto_pad.starts_with("SAME") && node.attribute.iter().any(|attribute| attribute.name == "output_shape") {
        bail!("the engine has no ConvTranspose with both auto_pad and output_shape");
    }
    build(tracts(), context, node)
}

/// tract transforms all elements, whatever the requested length is.
fn dft(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = decompositions::dft(context, node)?;
    let Some(slot) = optional_inputs(node).nth(1).flatten() else { return Ok((op, closures)) };
    let axis = match context.onnx_operator_set_version {
        ..20 => node.get_attr_opt::<i64>("axis")?.unwrap_or(1),
        _ => bail!("the engine has no DFT of a given length in this version"),
    };
    let wire = Rewired::new(op, move |_, target, inputs, inner| {
        let fact = target.outlet_fact(inputs[0])?;
        let axis = if axis < 0 { axis + fact.rank() as i64 } else { axis };
        let length = usize::try_from(axis).ok().and_then(|axis| fact.shape.get(axis)?.to_i64().ok());
        match (known(target, inputs[slot])?.as_deref(), length) {
            (Some([asked]), Some(length)) if *asked == length as f64 => inner(target, inputs),
            _ => bail!("the engine has no DFT of another length than its input's"),
        }
    });
    Ok((Box::new(wire), closures))
}

/// Before opset 12 the mask of kept elements is false everywhere; tract returns true.
fn dropout(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    if context.onnx_operator_set_version >= 12 || optional_outputs(node).nth(1).flatten().is_none() {
        return Ok((op, closures));
    }
    let wire = Rewired::new(op, |name, target, inputs, inner| {
        let mut outputs = inner(target, inputs)?;
        let Some(shape) = target.outlet_fact(outputs[1])?.shape.as_concrete().map(<[usize]>::to_vec) else {
            bail!("the engine has no mask of a Dropout of unknown shape");
        };
        outputs[1] = target.add_const(format!("{name}.mask"), Tensor::zero_dt(DatumType::Bool, &shape)?)?;
        Ok(outputs)
    });
    Ok((Box::new(wire), closures))
}

/// Refuses an equation with nothing after the arrow, which tract reads as an equation without an arrow.
fn einsum(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    if node.get_attr::<String>("equation")?.trim_end().ends_with("->") {
        bail!("the engine has no Einsum whose result is a scalar");
    }
    build(tracts(), context, node)
}

/// Negative indices count from the end. tract does not support them.
fn counted_from_the_end(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let skipped = node.get_attr_opt::<usize>("batch_dims")?.unwrap_or(0);
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        let Some(shape) = target.outlet_fact(inputs[0])?.shape.as_concrete().map(<[usize]>::to_vec) else {
            return inner(target, inputs);
        };
        let fact = target.outlet_fact(inputs[1])?;
        let (datum, rank) = (fact.datum_type, fact.rank());
        let depth = fact.shape.last().and_then(|dim| dim.to_i64().ok()).unwrap_or(0) as usize;
        let is_negative = match &fact.konst {
            Some(constant) => {
                constant.cast_to::<i64>()?.try_as_plain_ram()?.as_slice::<i64>()?.iter().any(|index| *index < 0)
            }
            None => true,
        };
        if !is_negative || depth + skipped > shape.len() {
            return inner(target, inputs);
        }
        let mut lengths = vec![1; rank];
        lengths[rank - 1] = depth;
        let all: Vec<i64> = shape[skipped..][..depth].iter().map(|&dim| dim as i64).collect();
        let all = tensor1(&all).cast_to_dt(datum)?.into_owned().into_shape(&lengths)?;
        let all = target.add_const(format!("{name}.lengths"), all)?;
        let zero = tensor0(0i64).cast_to_dt(datum)?.into_owned().broadcast_into_rank(rank)?;
        let zero = target.add_const(format!("{name}.zero"), zero)?;
        let below = TypedBinOp(comp_lt(), None);
        let below = target.wire_node(format!("{name}.is_below"), below, &[inputs[1], zero])?[0];
        let raised = target.wire_node(format!("{name}.raised"), add(), &[inputs[1], all])?[0];
        let mut inputs: TVec<OutletId> = inputs.into();
        inputs[1] = target.wire_node(format!("{name}.indices"), Iff, &[below, raised, inputs[1]])?[0];
        inner(target, &inputs)
    });
    Ok((Box::new(wire), closures))
}

/// Computes the norm over all positions. tract's own also divides by their number.
fn global_lp_pool(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let p = node.get_attr_opt::<i64>("p")?.unwrap_or(2) as f32;
    let wire = Rewired::new(op, move |name, target, inputs, _| {
        let fact = target.outlet_fact(inputs[0])?.clone();
        let number = |target: &mut TypedModel, what: &str, number: f32| {
            let number = tensor0(number).cast_to_dt(fact.datum_type)?.into_owned().broadcast_into_rank(fact.rank())?;
            target.add_const(format!("{name}.{what}"), number.into_arc_tensor())
        };
        let exponent = number(target, "p", p)?;
        let root = number(target, "root", p.recip())?;
        let positive = target.wire_node(format!("{name}.abs"), abs(), inputs)?[0];
        let powers = target.wire_node(format!("{name}.powers"), pow(), &[positive, exponent])?[0];
        let reduce = Reduce::new((2..fact.rank()).collect(), Reducer::Sum);
        let sums = target.wire_node(format!("{name}.sums"), reduce, &[powers])?[0];
        target.wire_node(name, pow(), &[sums, root])
    });
    Ok((Box::new(wire), closures))
}

/// tract repeats the border before it interpolates; bicubic sampling does not.
fn grid_sample(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let mode = node.get_attr_opt::<&str>("mode")?.unwrap_or_default();
    if matches!(mode, "bicubic" | "cubic") && node.get_attr_opt::<&str>("padding_mode")? == Some("border") {
        bail!("the engine has no GridSample with the mode '{mode}' and the padding_mode 'border'");
    }
    build(tracts(), context, node)
}

/// Without a limit ONNX returns no boxes; tract returns all.
fn non_max_suppression(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    if optional_inputs(node).nth(2).flatten().is_none() {
        bail!("the engine has no NonMaxSuppression without max_output_boxes_per_class, which gives no boxes");
    }
    build(tracts(), context, node)
}

/// Crops if a padding is negative, which tract's own operator does not do.
fn pad(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    if context.onnx_operator_set_version < 11 {
        if node.get_attr_opt_vec::<i64>("pads")?.is_some_and(|pads| pads.iter().any(|pad| *pad < 0)) {
            bail!("the engine has no Pad by less than nothing in a file of this version");
        }
        return Ok((op, closures));
    }
    let axes = optional_inputs(node).nth(3).flatten();
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        let Some(pads) = known(target, inputs[1])? else { return inner(target, inputs) };
        if pads.iter().all(|pad| *pad >= 0.0) {
            return inner(target, inputs);
        }
        let rank = target.outlet_fact(inputs[0])?.rank();
        let axes: Vec<usize> = match axes {
            None => (0..rank).collect(),
            Some(slot) => match known(target, inputs[slot])? {
                Some(axes) => {
                    axes.iter().map(|&axis| axis as i64).map(|axis| axis.rem_euclid(rank as i64) as usize).collect()
                }
                None => bail!("the engine has no Pad along axes that are computed"),
            },
        };
        let mut inputs: TVec<OutletId> = inputs.into();
        for (index, &axis) in axes.iter().enumerate() {
            let cut = |pad: f64| if pad < 0.0 { -pad as usize } else { 0 };
            let (before, after) = (cut(pads[index]), cut(pads[index + axes.len()]));
            if before + after > 0 {
                let end = target.outlet_fact(inputs[0])?.shape[axis].clone() - after;
                let slice = Slice::new(axis, before, end);
                inputs[0] = target.wire_node(format!("{name}.cut{axis}"), slice, &[inputs[0]])?[0];
            }
        }
        let rest: Vec<i64> = pads.iter().map(|pad| pad.max(0.0) as i64).collect();
        inputs[1] = target.add_const(format!("{name}.pads"), tensor1(&rest))?;
        inner(target, &inputs)
    });
    Ok((Box::new(wire), closures))
}

/// Resizing by scales in opset 10 rounds positions down when it enlarges. tract rounds to the nearest.
fn resize(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let is_old = context.onnx_operator_set_version == 10;
    let mode = node.get_attr_opt::<&str>("mode")?.unwrap_or("nearest");
    let is_nearest = mode == "nearest";
    let coordinates = node.get_attr_opt::<&str>("coordinate_transformation_mode")?.unwrap_or("half_pixel");
    let is_aligned = coordinates == "align_corners" && !is_old;
    let mut given = node.clone();
    if is_old && is_nearest {
        given.attribute.push(text("nearest_mode", "floor"));
    }
    let (op, closures) = build(tracts(), context, &given)?;
    let scales = if is_old { Some(1) } else { optional_inputs(node).nth(2).flatten() };
    let Some(slot) = scales.filter(|_| is_aligned || (is_old && is_nearest)) else { return Ok((op, closures)) };
    let wire = Rewired::new(op, move |_, target, inputs, inner| {
        let Some(scales) = known(target, inputs[slot])? else { return inner(target, inputs) };
        if is_old && scales.iter().any(|scale| *scale < 1.0) {
            bail!("the engine has no Resize of opset 10 to a smaller size with the mode 'nearest'");
        }
        let shape = target.outlet_fact(inputs[0])?.shape.to_tvec();
        let is_whole = |(dim, scale): (&tract_onnx::prelude::TDim, &f64)| {
            dim.to_i64().is_ok_and(|dim| (dim as f64 * scale).fract() == 0.0)
        };
        if is_aligned && !shape.iter().zip(&scales).all(is_whole) {
            bail!("the engine has no Resize with 'align_corners' to a size that is not a whole number");
        }
        inner(target, inputs)
    });
    Ok((Box::new(wire), closures))
}

/// Turns dimensions, which tract treats as symbols, into numbers before they are sorted.
fn largest(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let wire = Rewired::new(op, |name, target, inputs, inner| {
        let mut inputs: TVec<OutletId> = inputs.into();
        if target.outlet_fact(inputs[0])?.datum_type == DatumType::TDim {
            inputs[0] = target.wire_node(format!("{name}.numbers"), cast(DatumType::I64), &[inputs[0]])?[0];
        }
        inner(target, &inputs)
    });
    Ok((Box::new(wire), closures))
}

/// `Upsample` is the name of `Resize` before opset 10.
fn upsample(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    if node.input.len() < 2 {
        bail!("the engine has no Upsample whose scales are an attribute");
    }
    let context = ParsingContext { onnx_operator_set_version: 10, ..context.clone() };
    resize(&context, &NodeProto { op_type: "Resize".to_owned(), ..node.clone() })
}

/// tract uses a single position for every row.
fn rotary_embedding(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    if node.domain != "com.microsoft" {
        return Ok((op, closures));
    }
    let wire = Rewired::new(op, |_, target, inputs, inner| {
        if target.outlet_fact(inputs[1])?.rank() != 2 {
            bail!("the engine has no RotaryEmbedding with an offset in the place of positions");
        }
        inner(target, inputs)
    });
    Ok((Box::new(wire), closures))
}

/// Without axes, all dimensions of 1 are removed; tract supports that only in later versions of the operator.
fn squeeze(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let has_axes = node.attribute.iter().any(|attribute| attribute.name == "axes");
    let version = if has_axes { context.onnx_operator_set_version } else { 13.max(context.onnx_operator_set_version) };
    let context = ParsingContext { onnx_operator_set_version: version, ..context.clone() };
    let (op, closures) = build(tracts(), &context, node)?;
    if node.input.len() < 2 {
        return Ok((op, closures));
    }
    let wire = Rewired::new(op, |_, target, inputs, inner| {
        if known(target, inputs[1])?.is_some_and(|axes| axes.is_empty()) {
            bail!("the engine has no Squeeze with an empty list of axes");
        }
        inner(target, inputs)
    });
    Ok((Box::new(wire), closures))
}

/// Returns a scale or zero point, reshaped to the rank of the tensor that it applies to.
fn along(target: &mut TypedModel, name: String, outlet: OutletId, axis: i64, rank: usize) -> TractResult<OutletId> {
    let fact = target.outlet_fact(outlet)?.clone();
    let mut wire = target.wire_node(format!("{name}.in_fp32"), cast(DatumType::F32), &[outlet])?[0];
    if fact.rank() > 1 {
        bail!("the engine has no quantization in blocks");
    }
    let is_one = fact.rank() == 0 || fact.shape[0] == 1.into();
    if fact.rank() == 1 && is_one {
        wire = target.wire_node(format!("{name}.scalar"), AxisOp::Rm(0), &[wire])?[0];
    }
    let axis = if axis < 0 { axis + rank as i64 } else { axis } as usize;
    let places = (0..rank).filter(|place| is_one || *place != axis);
    for place in places.collect::<Vec<_>>() {
        wire = target.wire_node(format!("{name}.axis{place}"), AxisOp::Add(place), &[wire])?[0];
    }
    Ok(wire)
}

/// Returns whether tract computes with this scale and zero point: it needs constants, and supports only bytes and
/// int32.
fn is_tracts(target: &TypedModel, inputs: &[OutletId]) -> TractResult<bool> {
    let mut is_known = true;
    for input in &inputs[1..] {
        is_known &= target.outlet_fact(*input)?.konst.is_some();
    }
    let datum = inputs.get(2).map(|zero| target.outlet_fact(*zero).map(|fact| fact.datum_type)).transpose()?;
    Ok(is_known && !matches!(datum, Some(DatumType::I16 | DatumType::U16)))
}

/// `(x - zero) * scale`, even if scale and zero point are computed.
fn dequantize(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let axis = node.get_attr_opt::<i64>("axis")?.unwrap_or(1);
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        if is_tracts(target, inputs)? {
            return inner(target, inputs);
        }
        let rank = target.outlet_fact(inputs[0])?.rank();
        let scale = along(target, format!("{name}.scale"), inputs[1], axis, rank)?;
        let mut x = target.wire_node(format!("{name}.in_fp32"), cast(DatumType::F32), &[inputs[0]])?[0];
        if let Some(zero) = inputs.get(2) {
            let zero = along(target, format!("{name}.zero"), *zero, axis, rank)?;
            x = target.wire_node(format!("{name}.less_zero"), sub(), &[x, zero])?[0];
        }
        target.wire_node(name, mul(), &[x, scale])
    });
    Ok((Box::new(wire), closures))
}

/// `x / scale`, rounded, plus the zero point, even if these are computed.
fn quantize(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    const UINT8: i64 = 2;
    let asked = node.get_attr_opt::<i64>("output_dtype")?.unwrap_or(0);
    if node.input.len() < 3 && !matches!(asked, 0 | UINT8) {
        bail!("the engine has no QuantizeLinear with the attribute 'output_dtype' in the place of a zero point");
    }
    let (op, closures) = build(tracts(), context, node)?;
    let axis = node.get_attr_opt::<i64>("axis")?.unwrap_or(1);
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        if is_tracts(target, inputs)? {
            return inner(target, inputs);
        }
        let rank = target.outlet_fact(inputs[0])?.rank();
        let datum = match inputs.get(2) {
            Some(zero) => target.outlet_fact(*zero)?.datum_type,
            None => DatumType::U8,
        };
        let (low, high) = match datum {
            DatumType::U8 => (0.0, 255.0),
            DatumType::I8 => (-128.0, 127.0),
            DatumType::U16 => (0.0, 65535.0),
            DatumType::I16 => (-32768.0, 32767.0),
            other => bail!("the engine has no QuantizeLinear to {other:?}"),
        };
        let scale = along(target, format!("{name}.scale"), inputs[1], axis, rank)?;
        let mut x = target.wire_node(format!("{name}.in_fp32"), cast(DatumType::F32), &[inputs[0]])?[0];
        x = target.wire_node(format!("{name}.divided"), div(), &[x, scale])?[0];
        x = target.wire_node(format!("{name}.rounded"), round_half_to_even(), &[x])?[0];
        if let Some(zero) = inputs.get(2) {
            let zero = along(target, format!("{name}.zero"), *zero, axis, rank)?;
            x = target.wire_node(format!("{name}.plus_zero"), add(), &[x, zero])?[0];
        }
        let number = |target: &mut TypedModel, what: &str, number: f32| {
            target.add_const(format!("{name}.{what}"), tensor0(number).broadcast_into_rank(rank)?.into_arc_tensor())
        };
        let (low, high) = (number(target, "low", low)?, number(target, "high", high)?);
        x = target.wire_node(format!("{name}.above"), max(), &[x, low])?[0];
        x = target.wire_node(format!("{name}.below"), min(), &[x, high])?[0];
        target.wire_node(name, cast(datum), &[x])
    });
    Ok((Box::new(wire), closures))
}
