//! NaN and infinities as ONNX defines them.
//!
//! tract's kernels drop a NaN when they compare, and use the largest number as infinity. If such values occur, the
//! output of the kernel is corrected. At exact fidelity this covers every operator that compares; optimised plans keep
//! the engine's kernels, except for `Softmax`, `ReduceMax` and `ReduceMin`, where masks of minus infinity are usual.

use opscope_model::Fidelity;
use tract_linalg::element_wise::ElementWise;
use tract_linalg::routines::Func;
use tract_onnx::prelude::tract_ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, Zip, indices};
use tract_onnx::prelude::{DatumType, TValue, TVec, Tensor, TypedFact, TypedModel, f16};
use tract_onnx::tract_core::internal::{
    AxesMapping, AxisChangeConsequence, AxisOp, Cost, EvalContext, EvalOp, InOut, IntoTValue, IntoTensor, Op,
    StaticName, TDim, TractResult, TypedNode, TypedOp, Validation, tvec,
};
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cnn::MaxPool;
use tract_onnx::tract_core::ops::element_wise::ElementWiseOp;
use tract_onnx::tract_core::ops::logic::IfThenElse;
use tract_onnx::tract_core::ops::math::{Max, Min};
use tract_onnx::tract_core::ops::nn::{Reduce, Reducer, Softmax, SoftmaxKind};
use tract_onnx::tract_core::ops::scan::Scan;
use tract_onnx::tract_core::{as_op, op_as_typed_op};

use super::fp16;

/// Makes operators handle NaN and infinities correctly, including those in bodies.
pub(crate) fn with_special_values(model: &mut TypedModel, fidelity: Fidelity) {
    for node in 0..model.nodes().len() {
        let is_float = |outlet| model.outlet_fact(outlet).is_ok_and(|fact| fact.datum_type.is_float());
        let is_concerned = match node_kind(&*model.node(node).op) {
            Some(Kind::Softmax | Kind::Extreme) => true,
            Some(Kind::Position | Kind::MaxPool | Kind::Elementwise) => fidelity == Fidelity::Exact,
            None => false,
        };
        let is_computed_in_floats = model.node(node).inputs.iter().any(|&outlet| is_float(outlet));
        let node = model.node_mut(node);
        if is_concerned && is_computed_in_floats {
            node.op = Box::new(Special { op: node.op.clone() });
        } else if let Some(scan) = node.op_as_mut::<Scan>() {
            with_special_values(&mut scan.body, fidelity);
        } else if let Some(branches) = node.op_as_mut::<IfThenElse>() {
            with_special_values(&mut branches.then_body, fidelity);
            with_special_values(&mut branches.else_body, fidelity);
        }
    }
}

/// The kind of an operator's error.
enum Kind {
    Softmax,
    /// The maximum or minimum of several elements.
    Extreme,
    /// The position of the maximum or minimum.
    Position,
    MaxPool,
    /// Each element of the output depends on one element of each input.
    Elementwise,
}

fn node_kind(op: &dyn TypedOp) -> Option<Kind> {
    if op.is::<Softmax>() {
        return Some(Kind::Softmax);
    }
    if let Some(reduce) = op.downcast_ref::<Reduce>() {
        return match reduce.reducer {
            Reducer::Max | Reducer::Min => Some(Kind::Extreme),
            Reducer::ArgMax(_) | Reducer::ArgMin(_) => Some(Kind::Position),
            _ => None,
        };
    }
    if op.is::<MaxPool>() {
        return Some(Kind::MaxPool);
    }
    let compares = op.downcast_ref::<TypedBinOp>().is_some_and(|op| op.0.is::<Max>() || op.0.is::<Min>());
    (compares || op.is::<ElementWiseOp>()).then_some(Kind::Elementwise)
}

/// One of tract's operators, with its outputs for NaN and infinities corrected.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Special {
    op: Box<dyn TypedOp>,
}

impl Op for Special {
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

impl EvalOp for Special {
    fn eval(&self, context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let datum = inputs[0].datum_type();
        if let Some(softmax) = self.op.downcast_ref::<Softmax>()
            && (datum, softmax.kind) == (DatumType::F16, SoftmaxKind::Softmax)
        {
            return Ok(tvec!(softmax_of_halves(&inputs[0], &softmax.axes)?));
        }
        if let Some(function) = self.op.downcast_ref::<ElementWiseOp>().and_then(|op| exact_function(&op.0.name()))
            && datum == DatumType::F32
        {
            let mut values = inputs[0].clone().into_tensor();
            values.try_as_plain_ram_mut()?.as_slice_mut::<f32>()?.iter_mut().for_each(|x| *x = function(*x));
            return Ok(tvec!(values.into_tvalue()));
        }
        let is_nothing = inputs[0].len() == 0 && datum.is_float();
        if !is_nothing && !inputs.iter().any(|input| is_special(input)) {
            return self.op.eval(context, inputs);
        }
        if let Some(reduce) = self.op.downcast_ref::<Reduce>() {
            return Ok(tvec!(reduced(reduce, &inputs[0])?));
        }
        let kept = inputs.clone();
        let mut outputs = self.op.eval(context, inputs)?;
        let datum = outputs[0].datum_type();
        if !datum.is_float() {
            return Ok(outputs);
        }
        let mut output = doubles(&outputs[0])?;
        match node_kind(&*self.op) {
            Some(Kind::Softmax) => {
                let axes = self.op.downcast_ref::<Softmax>().map(|softmax| softmax.axes.clone()).unwrap_or_default();
                without_a_sum(&doubles(&kept[0])?, &mut output, &axes);
            }
            Some(Kind::MaxPool) => {
                let input = doubles(&kept[0])?;
                let marked = |is_it: fn(f64) -> bool| {
                    let marks = input.mapv(|value| f32::from(u8::from(is_it(value)))).into_tensor();
                    self.op.eval(context, tvec!(marks.into_tvalue()))
                };
                let nans_and_places = marked(f64::is_nan)?;
                let nans = doubles(&nans_and_places[0])?;
                let others = doubles(&marked(|value| value > f64::NEG_INFINITY)?[0])?;
                if let [_, places] = &mut outputs[..] {
                    let mut found = places.cast_to::<i64>()?.to_plain_array_view::<i64>()?.to_owned();
                    let of_nans = nans_and_places[1].cast_to::<i64>()?;
                    let of_nans = of_nans.to_plain_array_view::<i64>()?;
                    Zip::from(&mut found).and(&of_nans).and(&nans).for_each(|found, &of_nan, &is_nan| {
                        if is_nan == 1.0 {
                            *found = of_nan;
                        }
                    });
                    *places = found.into_tensor().cast_to_dt(places.datum_type())?.into_owned().into_tvalue();
                }
                Zip::from(&mut output).and(&nans).and(&others).for_each(|output, &is_nan, &is_other| {
                    if is_nan == 1.0 {
                        *output = f64::NAN;
                    } else if is_other == 0.0 {
                        *output = f64::NEG_INFINITY;
                    }
                });
            }
            _ => {
                for input in &kept {
                    let input = doubles(input)?;
                    Zip::from(&mut output).and_broadcast(&input).for_each(|output, input| {
                        if input.is_nan() {
                            *output = f64::NAN;
                        }
                    });
                }
            }
        }
        outputs[0] = output.into_tensor().cast_to_dt(datum)?.into_owned().into_tvalue();
        Ok(outputs)
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for Special {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        self.op.output_facts(inputs)
    }

    fn axes_mapping(&self, inputs: &[&TypedFact], outputs: &[&TypedFact]) -> TractResult<AxesMapping> {
        self.op.axes_mapping(inputs, outputs)
    }

    fn cost(&self, inputs: &[&TypedFact]) -> TractResult<TVec<(Cost, TDim)>> {
        self.op.cost(inputs)
    }

    fn change_axes(
        &self,
        model: &TypedModel,
        node: &TypedNode,
        io: InOut,
        change: &AxisOp,
    ) -> TractResult<Option<AxisChangeConsequence>> {
        let changed = self.op.change_axes(model, node, io, change)?;
        Ok(changed.map(|changed| AxisChangeConsequence {
            substitute_op: changed.substitute_op.map(|op| Box::new(Self { op }) as Box<dyn TypedOp>),
            ..changed
        }))
    }

    as_op!();
}

/// Returns the exact function if tract's kernel for it is inaccurate for large numbers. Such kernels stop short of the
/// function's limit, or overflow.
fn exact_function(name: &str) -> Option<fn(f32) -> f32> {
    Some(match name {
        "Sigmoid" => |x| 1.0 / (1.0 + (-x).exp()),
        "Silu" => |x| x / (1.0 + (-x).exp()),
        "Tanh" => f32::tanh,
        "Acosh" => |x| f64::from(x).acosh() as f32,
        "Asinh" => |x| f64::from(x).asinh() as f32,
        "GeluApproximate" => |x| {
            let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        },
        "HardSwish" => |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        _ => return None,
    })
}

/// Returns whether a tensor contains a NaN or an infinity.
pub(super) fn is_special(tensor: &Tensor) -> bool {
    let plain = tensor.as_plain_ram();
    match tensor.datum_type() {
        DatumType::F16 => plain.is_some_and(|plain| {
            plain.as_slice::<f16>().is_ok_and(|values| values.iter().any(|value| !value.is_finite()))
        }),
        DatumType::F32 => plain.is_some_and(|plain| {
            plain.as_slice::<f32>().is_ok_and(|values| values.iter().any(|value| !value.is_finite()))
        }),
        DatumType::F64 => plain.is_some_and(|plain| {
            plain.as_slice::<f64>().is_ok_and(|values| values.iter().any(|value| !value.is_finite()))
        }),
        _ => false,
    }
}

/// Returns the values as fp64, which represents every floating-point type exactly.
fn doubles(tensor: &Tensor) -> TractResult<ArrayD<f64>> {
    Ok(tensor.cast_to::<f64>()?.to_plain_array_view::<f64>()?.to_owned())
}

/// Calls `visit` with the coordinates of each region that some axes span.
fn each_region(shape: &[usize], axes: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut starts = shape.to_vec();
    for &axis in axes {
        starts[axis] = 1;
    }
    for start in indices(IxDyn(&starts)) {
        visit(start.slice());
    }
}

/// Returns a region: everything along the axes, and one position along the others.
fn region<'a, T>(mut values: ArrayViewD<'a, T>, axes: &[usize], start: &[usize]) -> ArrayViewD<'a, T> {
    for axis in (0..values.ndim()).filter(|axis| !axes.contains(axis)) {
        values.collapse_axis(Axis(axis), start[axis]);
    }
    values
}

fn region_mut<'a, T>(mut values: ArrayViewMutD<'a, T>, axes: &[usize], start: &[usize]) -> ArrayViewMutD<'a, T> {
    for axis in (0..values.ndim()).filter(|axis| !axes.contains(axis)) {
        values.collapse_axis(Axis(axis), start[axis]);
    }
    values
}

/// Corrects a softmax. It is NaN if its sum is NaN: if a value is NaN or infinity, or if all values are minus infinity.
fn without_a_sum(input: &ArrayD<f64>, output: &mut ArrayD<f64>, axes: &[usize]) {
    each_region(input.shape(), axes, |start| {
        let values = region(input.view(), axes, start);
        let has_none = values.iter().any(|value| value.is_nan() || *value == f64::INFINITY)
            || values.iter().all(|value| *value == f64::NEG_INFINITY);
        if has_none {
            region_mut(output.view_mut(), axes, start).fill(f64::NAN);
        }
    });
}

/// Returns the extreme of each region, or its first or last position.
fn reduced(reduce: &Reduce, input: &Tensor) -> TractResult<TValue> {
    let values = doubles(input)?;
    let mut shape = input.shape().to_vec();
    for &axis in &reduce.axes {
        shape[axis] = 1;
    }
    let of_region = |start: &[usize]| region(values.view(), &reduce.axes, start);
    match reduce.reducer {
        Reducer::ArgMax(is_last) | Reducer::ArgMin(is_last) => {
            let is_max = matches!(reduce.reducer, Reducer::ArgMax(_));
            let mut places = ArrayD::<i64>::zeros(IxDyn(&shape));
            each_region(input.shape(), &reduce.axes, |start| {
                let values: Vec<f64> = of_region(start).iter().copied().collect();
                let extreme = extreme(values.iter().copied(), is_max);
                let is_it = |value: &f64| *value == extreme || (value.is_nan() && extreme.is_nan());
                let place = if is_last { values.iter().rposition(is_it) } else { values.iter().position(is_it) };
                places[IxDyn(start)] = place.unwrap_or(0) as i64;
            });
            Ok(places.into_tensor().into_tvalue())
        }
        _ => {
            let is_max = reduce.reducer == Reducer::Max;
            let mut extremes = ArrayD::<f64>::zeros(IxDyn(&shape));
            each_region(input.shape(), &reduce.axes, |start| {
                extremes[IxDyn(start)] = extreme(of_region(start).iter().copied(), is_max);
            });
            Ok(extremes.into_tensor().cast_to_dt(input.datum_type())?.into_owned().into_tvalue())
        }
    }
}

/// Returns the maximum or minimum: NaN if there is one, and infinity if there are no values.
fn extreme(values: impl Iterator<Item = f64>, is_max: bool) -> f64 {
    let nothing = if is_max { f64::NEG_INFINITY } else { f64::INFINITY };
    values.fold(nothing, |extreme, value| {
        let is_further = if is_max { value > extreme } else { value < extreme };
        if value.is_nan() || is_further { value } else { extreme }
    })
}

/// Returns a softmax computed as ONNX defines it: the difference to the maximum, the powers, their sum and the
/// quotients, each rounded to fp16.
fn softmax_of_halves(input: &Tensor, axes: &[usize]) -> TractResult<TValue> {
    let exp = Func::Exp.ew_f32()?;
    let mut values = fp16::widened(input)?.into_plain_array::<f32>()?;
    let mut row = Vec::new();
    let mut failed = Ok(());
    each_region(input.shape(), axes, |start| {
        let mut places = region_mut(values.view_mut(), axes, start);
        let outcome = match places.as_slice_mut() {
            Some(row) => softmax_of_row(row, &*exp),
            None => {
                row.clear();
                row.extend(places.iter().copied());
                let outcome = softmax_of_row(&mut row, &*exp);
                places.iter_mut().zip(&row).for_each(|(place, value)| *place = *value);
                outcome
            }
        };
        failed = std::mem::replace(&mut failed, Ok(())).and(outcome);
    });
    failed?;
    Ok(fp16::narrowed(&values.into_tensor())?.into_tvalue())
}

fn softmax_of_row(row: &mut [f32], exp: &dyn ElementWise<f32>) -> TractResult<()> {
    let largest = row.iter().fold(
        f32::NEG_INFINITY,
        |largest, &value| {
            if value.is_nan() || value > largest { value } else { largest }
        },
    );
    if !largest.is_finite() {
        row.fill(f32::NAN);
        return Ok(());
    }
    row.iter_mut().for_each(|value| *value -= largest);
    fp16::round(row);
    exp.run(row)?;
    fp16::round(row);
    let sum = f16::from_f32(row.iter().sum()).to_f32();
    row.iter_mut().for_each(|value| *value /= sum);
    Ok(())
}
