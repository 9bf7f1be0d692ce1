//! Conversions between fp16 and fp32.
//!
//! tract converts one number at a time, in up to 300 ns each. The crate `half` converts several with one instruction if
//! the processor has it.

use half::slice::HalfFloatSliceExt;
use tract_onnx::prelude::{DatumType, TValue, TVec, Tensor, TypedFact, TypedModel, f16};
use tract_onnx::tract_core::internal::{
    AxesMapping, AxisChangeConsequence, AxisOp, EvalContext, EvalOp, InOut, IntoTValue, IntoTensor, Op, StaticName,
    TractResult, TypedNode, TypedOp, bail, tvec,
};
use tract_onnx::tract_core::{as_op, op_as_typed_op};

/// Rounds fp32 numbers to the precision of fp16.
pub(super) fn round(values: &mut [f32]) {
    /// This many fp16 numbers fit into the first-level cache.
    const AT_ONCE: usize = 1024;
    let mut halves = [f16::ZERO; AT_ONCE];
    for values in values.chunks_mut(AT_ONCE) {
        let halves = &mut halves[..values.len()];
        halves.convert_from_f32_slice(values);
        halves.convert_to_f32_slice(values);
    }
}

/// Returns an fp16 tensor as fp32.
pub(super) fn widened(tensor: &Tensor) -> TractResult<Tensor> {
    let mut wide = Tensor::zero::<f32>(tensor.shape())?;
    let halves = tensor.try_as_plain_ram()?;
    halves.as_slice::<f16>()?.convert_to_f32_slice(wide.try_as_plain_ram_mut()?.as_slice_mut()?);
    Ok(wide)
}

/// Returns an fp32 tensor rounded to fp16.
pub(super) fn narrowed(tensor: &Tensor) -> TractResult<Tensor> {
    let mut narrow = Tensor::zero::<f16>(tensor.shape())?;
    let values = tensor.try_as_plain_ram()?;
    narrow.try_as_plain_ram_mut()?.as_slice_mut::<f16>()?.convert_from_f32_slice(values.as_slice()?);
    Ok(narrow)
}

/// A conversion of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halves {
    /// From fp16 to fp32.
    Widen,
    /// From fp32 to fp16.
    Narrow,
    /// fp32, rounded to the precision of fp16.
    Round,
}

impl Op for Halves {
    fn name(&self) -> StaticName {
        match self {
            Self::Widen | Self::Narrow => "Cast".into(),
            Self::Round => "Round".into(),
        }
    }

    op_as_typed_op!();
}

impl EvalOp for Halves {
    fn eval(&self, _: &EvalContext, mut inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let converted = match self {
            Self::Widen => widened(&inputs[0])?,
            Self::Narrow => narrowed(&inputs[0])?,
            Self::Round => {
                let mut tensor = inputs.remove(0).into_tensor();
                round(tensor.try_as_plain_ram_mut()?.as_slice_mut()?);
                tensor
            }
        };
        Ok(tvec!(converted.into_tvalue()))
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for Halves {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let (from, to) = match self {
            Self::Widen => (DatumType::F16, DatumType::F32),
            Self::Narrow => (DatumType::F32, DatumType::F16),
            Self::Round => (DatumType::F32, DatumType::F32),
        };
        if inputs[0].datum_type != from {
            bail!("a value of {:?} is to be converted from {from:?}", inputs[0].datum_type);
        }
        Ok(tvec!(TypedFact::dt_shape(to, inputs[0].shape.clone())))
    }

    fn axes_mapping(&self, inputs: &[&TypedFact], outputs: &[&TypedFact]) -> TractResult<AxesMapping> {
        AxesMapping::natural(inputs, outputs)
    }

    fn change_axes(
        &self,
        model: &TypedModel,
        node: &TypedNode,
        _: InOut,
        change: &AxisOp,
    ) -> TractResult<Option<AxisChangeConsequence>> {
        Ok(Some(AxisChangeConsequence::new(model, node, None, change)))
    }

    as_op!();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ties, the ends of fp16's range, and the numbers around them: more than are rounded at once, and not a multiple
    /// of a vector.
    fn numbers() -> Vec<f32> {
        let edges = [0.0, -0.0, 1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0, 65504.0, 65519.0, 65520.0, 2e-8, 3e-8, 6.1e-5];
        let signed = edges.iter().flat_map(|&edge| [edge, -edge, f32::INFINITY, f32::NEG_INFINITY]);
        let others = (0..2050u32).map(|step| f32::from_bits(0x3000_0000 + step * 100_003));
        signed.chain(others).collect()
    }

    #[test]
    fn every_number_of_a_tensor_is_rounded_to_the_nearest_of_fp16() {
        let expected: Vec<f32> = numbers().iter().map(|&number| f16::from_f32(number).to_f32()).collect();
        let mut rounded = numbers();
        round(&mut rounded);
        assert_eq!(rounded, expected);
        assert_eq!(rounded[8..10], [1.0, -1.0], "of two, the even one");
        assert_eq!(rounded[24..26], [f32::INFINITY, f32::NEG_INFINITY], "65520 is more than fp16 holds");
        let narrow = narrowed(&Tensor::from_shape(&[numbers().len()], &numbers()).unwrap()).unwrap();
        let wide = widened(&narrow).unwrap();
        assert_eq!(wide.try_as_plain_ram().unwrap().as_slice::<f32>().unwrap(), expected);
    }
}
