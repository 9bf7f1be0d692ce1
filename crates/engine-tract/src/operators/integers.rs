//! Quantisation by a tensor's own range, and integer products with large weights.

use std::sync::Arc;

use tract_linalg::multithread::par_chunks_mut;
use tract_onnx::Onnx;
use tract_onnx::model::{ParsingContext, optional_inputs};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{
    Datum, DatumType, DatumTypeExt, SpecialOps, TDim, TValue, TVec, Tensor, TypedFact, TypedModel, tensor0, tvec,
};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, Op, OutletId, StaticName, TractResult, TypedOp,
};
use tract_onnx::tract_core::{as_op, op_as_typed_op};

use super::translation::Rewired;
use super::{Built, build, tracts};
use crate::arithmetic::{ByteMatrix, Scale};

pub(super) fn register(framework: &mut Onnx) {
    framework.op_register.insert("DynamicQuantizeLinear", dynamic_quantize);
    framework.op_register.insert("MatMulInteger", product);
}

/// `DynamicQuantizeLinear`. tract's operator takes fifteen times as long, and its scale for zeros is 0 instead of 1.
fn dynamic_quantize(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let wire = Rewired::new(op, |name, target, inputs, _| target.wire_node(name, DynamicQuantize, inputs));
    Ok((Box::new(wire), closures))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DynamicQuantize;

impl Op for DynamicQuantize {
    fn name(&self) -> StaticName {
        "DynamicQuantizeLinear".into()
    }

    op_as_typed_op!();
}

impl EvalOp for DynamicQuantize {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let input = inputs[0].try_as_plain_ram()?;
        let values = input.as_slice::<f32>()?;
        let scale = Scale::of(values);
        let mut bytes = Tensor::zero::<u8>(inputs[0].shape())?;
        scale.bytes(values, bytes.try_as_plain_ram_mut()?.as_slice_mut::<u8>()?);
        Ok(tvec!(bytes.into_tvalue(), tensor0(scale.scale).into_tvalue(), tensor0(scale.zero as u8).into_tvalue()))
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for DynamicQuantize {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let shape = inputs[0].shape.clone();
        let number = |datum: DatumType| datum.scalar_fact();
        Ok(tvec!(TypedFact::dt_shape(DatumType::U8, shape), number(DatumType::F32), number(DatumType::U8)))
    }

    as_op!();
}

/// tract folds sums of weights with fewer elements at load. For larger weights it computes them in every run, which
/// takes longer than the product.
const TOO_LARGE_TO_FOLD: usize = 1 << 20;

/// Returns tract's product, or this crate's for large weights.
fn product(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let (op, closures) = build(tracts(), context, node)?;
    let mut zeros = optional_inputs(node).skip(2);
    let [of_a, of_b] = [zeros.next().flatten(), zeros.next().flatten()];
    let wire =
        Rewired::new(op, move |name, target, inputs, inner| match IntegerProduct::of(target, inputs, of_a, of_b)? {
            Some(product) => target.wire_node(name, product, inputs),
            None => inner(target, inputs),
        });
    Ok((Box::new(wire), closures))
}

/// A product with a constant matrix of bytes.
#[derive(Debug, Clone)]
struct IntegerProduct {
    weights: Arc<ByteMatrix>,
    /// The slot of the zero point of the other operand.
    zero: Option<usize>,
}

impl IntegerProduct {
    /// Returns the operator for large constant weights with two dimensions; `None` for others.
    fn of(
        model: &TypedModel,
        inputs: &[OutletId],
        zero: Option<usize>,
        of_weights: Option<usize>,
    ) -> TractResult<Option<Self>> {
        let a = model.outlet_fact(inputs[0])?;
        let has_one_zero = zero
            .is_none_or(|slot| model.outlet_fact(inputs[slot]).is_ok_and(|fact| fact.shape.volume() == TDim::from(1)));
        let Some(b) = model.outlet_fact(inputs[1])?.konst.clone().filter(|b| b.rank() == 2) else { return Ok(None) };
        if a.rank() < 2 || !has_one_zero || b.len() < TOO_LARGE_TO_FOLD {
            return Ok(None);
        }
        let zeros = match of_weights {
            None => vec![0],
            Some(slot) => match &model.outlet_fact(inputs[slot])?.konst {
                Some(zeros) => numbers(zeros)?.into_iter().map(i32::from).collect(),
                None => return Ok(None),
            },
        };
        let (rows, columns) = (b.shape()[0], b.shape()[1]);
        if zeros.len() != 1 && zeros.len() != columns {
            return Ok(None);
        }
        let is_signed = b.datum_type() == i8::datum_type();
        let numbers = numbers(&b)?;
        let element = |row: usize, column: usize| i32::from(numbers[row * columns + column]);
        let weights = ByteMatrix::new(rows, columns, is_signed, |column| zeros[column % zeros.len()], element);
        Ok(Some(Self { weights: Arc::new(weights), zero }))
    }
}

/// Returns bytes of either signedness as numbers.
fn numbers(tensor: &Tensor) -> TractResult<Vec<i16>> {
    let plain = tensor.try_as_plain_ram()?;
    Ok(match tensor.datum_type() == i8::datum_type() {
        true => plain.as_slice::<i8>()?.iter().map(|&byte| byte.into()).collect(),
        false => plain.as_slice::<u8>()?.iter().map(|&byte| byte.into()).collect(),
    })
}

impl PartialEq for IntegerProduct {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.weights, &other.weights) && self.zero == other.zero
    }
}

impl Eq for IntegerProduct {}

impl Op for IntegerProduct {
    fn name(&self) -> StaticName {
        "MatMulInteger".into()
    }

    op_as_typed_op!();
}

impl EvalOp for IntegerProduct {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let zero = match self.zero {
            Some(slot) => numbers(&inputs[slot])?[0],
            None => 0,
        };
        let mut values = numbers(&inputs[0])?;
        values.iter_mut().for_each(|value| *value -= zero);
        let (rows, columns) = (self.weights.rows(), self.weights.columns());
        let mut shape: TVec<usize> = inputs[0].shape().into();
        if let Some(last) = shape.last_mut() {
            *last = columns;
        }
        let mut sums = Tensor::zero::<i32>(&shape)?;
        {
            let mut sums = sums.try_as_plain_ram_mut()?;
            par_chunks_mut(sums.as_slice_mut::<i32>()?, columns.max(1), values.len() * columns, |first, sums| {
                let count = sums.len() / columns.max(1);
                self.weights.product(&values[first * rows..(first + count) * rows], sums);
                Ok(())
            })?;
        }
        Ok(tvec!(sums.into_tvalue()))
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for IntegerProduct {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let mut shape: TVec<TDim> = inputs[0].shape.to_tvec();
        if let Some(last) = shape.last_mut() {
            *last = self.weights.columns().into();
        }
        Ok(tvec!(TypedFact::dt_shape(DatumType::I32, shape)))
    }

    as_op!();
}
