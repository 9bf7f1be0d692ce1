//! Quantisation in optimised plans, and `QLinearConv`: a convolution in fp32 between bytes. tract's own operator
//! computes sums for the zero points, and quantises one element at a time, which takes longer than the convolution.
//!
//! The fp32 numbers are the values of the bytes, so a result differs from the integer sum by at most one rounding.

use opscope_model::Fidelity;
use pulp::{Arch, Simd, WithSimd};
use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{
    Datum, DatumType, IntoArcTensor, SpecialOps, TValue, TVec, Tensor, TypedFact, TypedModel, tvec,
};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, Op, OutletId, StaticName, TractResult, TypedOp, bail,
};
use tract_onnx::tract_core::ops::element_wise::ElementWiseMiniOp;
use tract_onnx::tract_core::ops::quant::{QuantizeLinearI8, QuantizeLinearU8};
use tract_onnx::tract_core::{as_op, op_as_typed_op};

use super::translation::{Rewired, translated};
use super::{Built, build, tracts};

pub(super) fn register(framework: &mut Onnx, fidelity: Fidelity) {
    if fidelity == Fidelity::Optimised {
        framework.op_register.insert("QLinearConv", quantised);
    }
}

fn quantised(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let mut plain = node.clone();
    plain.op_type = "Conv".to_owned();
    plain.input = ["x", "w", "b"].map(str::to_owned).to_vec();
    let (conv, _) = build(tracts(), context, &plain)?;
    let wire = Rewired::new(op, move |name, target, inputs, inner| {
        let Some(parameters) = Parameters::of(target, inputs)? else { return inner(target, inputs) };
        let x = FromBytes { zero: parameters.zeros[0] };
        let x = target.wire_node(format!("{name}.as_numbers"), x, &inputs[..1])?[0];
        let w = target.add_const(format!("{name}.weights"), parameters.weights.into_arc_tensor())?;
        let b = target.add_const(format!("{name}.bias"), parameters.bias.into_arc_tensor())?;
        let y = translated(&*conv, &format!("{name}.convolved"), target, &[x, w, b])?;
        let Parameters { factors, zeros, is_signed, .. } = parameters;
        let bytes = ToBytes { factors, zero: zeros[1], is_signed };
        target.wire_node(name, bytes, &y)
    });
    Ok((Box::new(wire), closures))
}

/// The operator's parameters, if all of them are constant.
struct Parameters {
    /// They are whole numbers, so that small sums are exact.
    weights: Tensor,
    bias: Tensor,
    /// For each channel, the step of a sum divided by the step of the output.
    factors: Vec<f32>,
    /// The zero points of the input and of the output.
    zeros: [i16; 2],
    /// Whether the output is signed.
    is_signed: bool,
}

impl Parameters {
    fn of(model: &TypedModel, inputs: &[OutletId]) -> TractResult<Option<Self>> {
        let constants = inputs[1..].iter().map(|input| Ok(model.outlet_fact(*input)?.konst.clone()));
        let Some(constants) = constants.collect::<TractResult<Option<Vec<_>>>>()? else { return Ok(None) };
        let numbers = constants.iter().map(|tensor| numbers(tensor)).collect::<TractResult<Vec<_>>>()?;
        let [x_scale, x_zero, w, w_scales, w_zeros, y_scale, y_zero, bias @ ..] = &numbers[..] else { return Ok(None) };
        let shape = constants[2].shape();
        let channels = shape.first().copied().unwrap_or(0);
        let is_one = [x_scale, x_zero, y_scale, y_zero].iter().all(|numbers| numbers.len() == 1);
        let fits = |numbers: &[f32]| numbers.len() == 1 || numbers.len() == channels;
        if !is_one || !fits(w_scales) || !fits(w_zeros) || channels == 0 || w.is_empty() {
            return Ok(None);
        }
        let each = w.len() / channels;
        let weights = w.iter().enumerate().map(|(index, weight)| weight - w_zeros[index / each % w_zeros.len()]);
        let bias = match bias {
            [bias] if fits(bias) => (0..channels).map(|channel| bias[channel % bias.len()]).collect(),
            [] => vec![0f32; channels],
            _ => return Ok(None),
        };
        Ok(Some(Self {
            weights: Tensor::from_shape(shape, &weights.collect::<Vec<f32>>())?,
            bias: Tensor::from_shape(&[channels], &bias)?,
            factors: (0..channels)
                .map(|channel| x_scale[0] * w_scales[channel % w_scales.len()] / y_scale[0])
                .collect(),
            zeros: [x_zero[0] as i16, y_zero[0] as i16],
            is_signed: constants[6].datum_type() == i8::datum_type(),
        }))
    }
}

fn numbers(tensor: &Tensor) -> TractResult<Vec<f32>> {
    Ok(tensor.cast_to_dt(DatumType::F32)?.try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
}

/// Bytes minus their zero point, as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FromBytes {
    zero: i16,
}

/// Numbers times a factor, rounded to bytes around a zero point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToBytes {
    /// One factor, or one for each channel, which is the second axis.
    factors: Vec<f32>,
    zero: i16,
    is_signed: bool,
}

impl Eq for ToBytes {}

impl ToBytes {
    /// Returns an equivalent of one of tract's operators, if that quantises.
    pub(crate) fn of(op: &dyn ElementWiseMiniOp) -> Option<Self> {
        if let Some(op) = op.downcast_ref::<QuantizeLinearI8>() {
            return Some(Self { factors: vec![op.scale], zero: op.zero_point.into(), is_signed: true });
        }
        let op = op.downcast_ref::<QuantizeLinearU8>()?;
        Some(Self { factors: vec![op.scale], zero: op.zero_point.into(), is_signed: false })
    }

    fn bytes<B: Byte>(&self, from: &Tensor) -> TractResult<TVec<TValue>> {
        let shape = from.shape();
        let mut to = Tensor::zero_dt(B::datum_type(), shape)?;
        let plain = from.try_as_plain_ram()?;
        let from = plain.as_slice::<f32>()?;
        let channels = self.factors.len();
        let plane = if channels == 1 { from.len() } else { shape.iter().skip(2).product() };
        {
            let mut places = to.try_as_plain_ram_mut()?;
            let planes = from.chunks(plane.max(1)).zip(places.as_slice_mut::<B>()?.chunks_mut(plane.max(1)));
            for ((from, to), &factor) in planes.zip(self.factors.iter().cycle()) {
                Arch::new().dispatch(Rounded { factor, zero: self.zero, from, to });
            }
        }
        Ok(tvec!(to.into_tvalue()))
    }
}

/// A byte, signed or not.
trait Byte: Datum + Copy {
    const LOW: i32;
    const HIGH: i32;

    fn of(number: i32) -> Self;
}

impl Byte for i8 {
    const LOW: i32 = -128;
    const HIGH: i32 = 127;

    #[inline(always)]
    fn of(number: i32) -> Self {
        number as Self
    }
}

impl Byte for u8 {
    const LOW: i32 = 0;
    const HIGH: i32 = 255;

    #[inline(always)]
    fn of(number: i32) -> Self {
        number as Self
    }
}

/// A number far larger than any byte, to which a zero point can be added without overflow.
const FAR: i32 = 1 << 16;

struct Rounded<'a, B> {
    factor: f32,
    zero: i16,
    from: &'a [f32],
    to: &'a mut [B],
}

impl<B: Byte> WithSimd for Rounded<'_, B> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (factor, zero) = (self.factor, i32::from(self.zero));
        for (to, from) in self.to.iter_mut().zip(self.from) {
            let number = ((from * factor).round_ties_even() as i32).clamp(-FAR, FAR) + zero;
            *to = B::of(number.clamp(B::LOW, B::HIGH));
        }
    }
}

/// A function of each element, for the machine's widest vectors.
struct Each<'a, A, B, F>(&'a [A], &'a mut [B], F);

impl<A: Copy, B, F: Fn(A) -> B> WithSimd for Each<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self(from, to, function) = self;
        to.iter_mut().zip(from).for_each(|(to, from)| *to = function(*from));
    }
}

fn each<A: Datum + Copy, B: Datum + Copy>(from: &Tensor, function: impl Fn(A) -> B) -> TractResult<TVec<TValue>> {
    let mut to = Tensor::zero_dt(B::datum_type(), from.shape())?;
    let plain = from.try_as_plain_ram()?;
    Arch::new().dispatch(Each(plain.as_slice::<A>()?, to.try_as_plain_ram_mut()?.as_slice_mut::<B>()?, function));
    Ok(tvec!(to.into_tvalue()))
}

impl Op for FromBytes {
    fn name(&self) -> StaticName {
        "FromBytes".into()
    }

    op_as_typed_op!();
}

impl EvalOp for FromBytes {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let zero = self.zero;
        match inputs[0].datum_type() {
            DatumType::U8 => each(&inputs[0], |byte: u8| f32::from(i16::from(byte) - zero)),
            DatumType::I8 => each(&inputs[0], |byte: i8| f32::from(i16::from(byte) - zero)),
            other => bail!("{other:?} are not bytes"),
        }
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for FromBytes {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec!(TypedFact::dt_shape(DatumType::F32, inputs[0].shape.clone())))
    }

    as_op!();
}

impl Op for ToBytes {
    fn name(&self) -> StaticName {
        "ToBytes".into()
    }

    op_as_typed_op!();
}

impl EvalOp for ToBytes {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        match self.is_signed {
            true => self.bytes::<i8>(&inputs[0]),
            false => self.bytes::<u8>(&inputs[0]),
        }
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for ToBytes {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let datum = if self.is_signed { DatumType::I8 } else { DatumType::U8 };
        Ok(tvec!(TypedFact::dt_shape(datum, inputs[0].shape.clone())))
    }

    as_op!();
}
