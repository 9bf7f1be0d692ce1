//! fp16 and fp32, in each other's place.
//!
//! tract converts one number at a time, at up to 300 ns each. These conversions are integer operations without branches,
//! which compilers vectorise.

use tract_onnx::prelude::{DatumType, TValue, TVec, Tensor, TypedFact, TypedModel, f16};
use tract_onnx::tract_core::internal::{
    AxesMapping, AxisChangeConsequence, AxisOp, EvalContext, EvalOp, InOut, IntoTValue, IntoTensor, Op, StaticName,
    TractResult, TypedNode, TypedOp, bail, tvec,
};
use tract_onnx::tract_core::{as_op, op_as_typed_op};

/// Returns the bits of the fp16 number that is nearest to one of fp32; of two, the even one.
fn to_half(value: f32) -> u16 {
    const INFINITY: u32 = 0x7f80_0000;
    /// From here on a number rounds to infinity: 65520.
    const TOO_LARGE: u32 = 0x477f_f000;
    /// Below this a number of fp16 is denormal: 2^-14.
    const SMALLEST_NORMAL: u32 = 0x3880_0000;
    let sign = ((value.to_bits() >> 16) & 0x8000) as u16;
    let bits = value.to_bits() & 0x7fff_ffff;
    // The addition rounds to the places that a denormal number has.
    let denormal = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let odd = (bits >> 13) & 1;
    let normal = bits.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    let finite = if bits < SMALLEST_NORMAL { denormal } else { normal };
    let large = if bits > INFINITY { 0x7e00 | ((bits >> 13) & 0x3ff) } else { 0x7c00 };
    sign | (if bits >= TOO_LARGE { large } else { finite }) as u16
}

/// Returns the fp32 number that has the value of one of fp16.
fn from_half(half: u16) -> f32 {
    const EXPONENT: u32 = 0x7c00 << 13;
    let sign = u32::from(half & 0x8000) << 16;
    let shifted = u32::from(half & 0x7fff) << 13;
    let normal = shifted + (112 << 23);
    let endless = shifted + (224 << 23);
    let denormal = (f32::from_bits(shifted + (113 << 23)) - f32::from_bits(113 << 23)).to_bits();
    let bits = match shifted & EXPONENT {
        0 => denormal,
        EXPONENT => endless,
        _ => normal,
    };
    f32::from_bits(sign | bits)
}

/// Returns a number of fp32 rounded to one of fp16.
pub(super) fn rounded(value: f32) -> f32 {
    from_half(to_half(value))
}

/// Returns a tensor of fp16 as fp32.
pub(super) fn widened(tensor: &Tensor) -> TractResult<Tensor> {
    let mut wide = Tensor::zero::<f32>(tensor.shape())?;
    let halves = tensor.try_as_plain_ram()?;
    let mut places = wide.try_as_plain_ram_mut()?;
    for (place, half) in places.as_slice_mut::<f32>()?.iter_mut().zip(halves.as_slice::<f16>()?) {
        *place = from_half(half.to_bits());
    }
    Ok(wide)
}

/// Returns a tensor of fp32 rounded to fp16.
pub(super) fn narrowed(tensor: &Tensor) -> TractResult<Tensor> {
    let mut narrow = Tensor::zero::<f16>(tensor.shape())?;
    let values = tensor.try_as_plain_ram()?;
    let mut places = narrow.try_as_plain_ram_mut()?;
    for (place, value) in places.as_slice_mut::<f16>()?.iter_mut().zip(values.as_slice::<f32>()?) {
        *place = f16::from_bits(to_half(*value));
    }
    Ok(narrow)
}

/// What becomes of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halves {
    /// fp16 becomes fp32.
    Widen,
    /// fp32 becomes fp16.
    Narrow,
    /// fp32 is rounded to what fp16 holds, and stays fp32.
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
                tensor
                    .try_as_plain_ram_mut()?
                    .as_slice_mut::<f32>()?
                    .iter_mut()
                    .for_each(|value| *value = rounded(*value));
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

    #[test]
    fn every_number_of_fp16_is_widened_and_narrowed_as_by_the_half_crate() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let wide = from_half(bits);
            assert!(wide.to_bits() == half.to_f32().to_bits() || (wide.is_nan() && half.is_nan()), "{bits:#06x}");
            let back = to_half(half.to_f32());
            assert!(back == bits || (half.is_nan() && f16::from_bits(back).is_nan()), "{bits:#06x} became {back:#06x}");
        }
    }

    #[test]
    fn a_number_of_fp32_is_rounded_to_the_nearest_and_of_two_to_the_even_one() {
        // All exponents and signs, with the places around every rounding.
        for high in 0..=0xffffu32 {
            for low in [0, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0xefff, 0xf000, 0xffff] {
                let value = f32::from_bits(high << 16 | low);
                let expected = f16::from_f32(value);
                let found = f16::from_bits(to_half(value));
                assert!(found.to_bits() == expected.to_bits() || (found.is_nan() && value.is_nan()), "{value:e}");
            }
        }
    }
}
