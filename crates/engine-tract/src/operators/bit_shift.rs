//! BitShift: tract's kernels take the shift modulo the width, while ONNX shifts all bits out.

use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{Datum, SpecialOps, TValue, TVec, TypedFact, tract_ndarray};
use tract_onnx::tract_core::broadcast::multi_broadcast;
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, IntoTensor, Op, StaticName, TractResult, TypedOp, bail, tvec,
};
use tract_onnx::tract_core::{as_op, op_as_typed_op};

use super::translation::Rewired;
use super::{Built, build, tracts};

pub(super) fn register(framework: &mut Onnx) {
    framework.op_register.insert("BitShift", bit_shift);
}

fn bit_shift(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let to_right = match node.get_attr_opt::<&str>("direction")? {
        Some("RIGHT") => true,
        Some("LEFT") => false,
        _ => bail!("BitShift needs a direction, LEFT or RIGHT"),
    };
    let shift = BitShift { to_right };
    Ok((
        Box::new(Rewired::new(op, move |name, target, inputs, _| target.wire_node(name, shift.clone(), inputs))),
        closures,
    ))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BitShift {
    to_right: bool,
}

impl BitShift {
    /// Shifts a number. A negative shift, or one by the width or more, shifts all bits out, except that a right shift
    /// keeps the sign.
    fn shift(&self, number: i128, by: i128, width: u32) -> i128 {
        match u32::try_from(by).ok().filter(|by| *by < width) {
            Some(by) if self.to_right => number >> by,
            Some(by) => number << by,
            None if self.to_right && number < 0 => -1,
            None => 0,
        }
    }
}

impl Op for BitShift {
    fn name(&self) -> StaticName {
        "BitShift".into()
    }

    op_as_typed_op!();
}

impl EvalOp for BitShift {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let shape = multi_broadcast(&[inputs[0].shape(), inputs[1].shape()])?;
        macro_rules! shifted {
            ($($number:ty),*) => {
                $(if inputs[0].datum_type() == <$number>::datum_type() {
                    let numbers = inputs[0].to_plain_array_view::<$number>()?;
                    let by = inputs[1].to_plain_array_view::<$number>()?;
                    let mut shifted = tract_ndarray::ArrayD::<$number>::from_elem(&*shape, 0);
                    tract_ndarray::Zip::from(&mut shifted).and_broadcast(&numbers).and_broadcast(&by).for_each(
                        |shifted, number, by| {
                            *shifted = self.shift(*number as i128, *by as i128, <$number>::BITS) as $number;
                        },
                    );
                    return Ok(tvec!(shifted.into_tensor().into_tvalue()));
                })*
            };
        }
        shifted!(u8, u16, u32, u64, i8, i16, i32, i64);
        bail!("BitShift takes integers, not {:?}", inputs[0].datum_type())
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for BitShift {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let shape = multi_broadcast(&[&*inputs[0].shape, &*inputs[1].shape])?;
        Ok(tvec!(TypedFact::dt_shape(inputs[0].datum_type, &*shape)))
    }

    as_op!();
}
