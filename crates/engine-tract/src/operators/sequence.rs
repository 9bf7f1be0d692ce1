//! `ReverseSequence`, which tract does not have: reverses the first steps of each row, as many as the row's length
//! says.

use tract_onnx::Onnx;
use tract_onnx::model::ParsingContext;
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{DatumType, SpecialOps, TValue, TVec, Tensor, TypedFact, TypedModel, tvec};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, Op, OutletId, StaticName, TractResult, TypedOp, bail,
};
use tract_onnx::tract_core::ops::cast::cast;
use tract_onnx::tract_core::{as_op, op_as_typed_op};
use tract_onnx::tract_hir::infer::{Solver, TensorProxy};
use tract_onnx::tract_hir::internal::{Expansion, expand};

use super::Built;

pub(super) fn register(framework: &mut Onnx) {
    framework.op_register.insert("ReverseSequence", reverse_sequence);
}

fn reverse_sequence(_: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    let batch_axis = node.get_attr_opt::<i64>("batch_axis")?.unwrap_or(1);
    let time_axis = node.get_attr_opt::<i64>("time_axis")?.unwrap_or(0);
    if batch_axis + time_axis != 1 || !(0..=1).contains(&batch_axis) {
        bail!("ReverseSequence has the axes 0 and 1, not {batch_axis} and {time_axis}");
    }
    Ok((expand(ReverseSequence { is_batch_first: batch_axis == 0 }), vec![]))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReverseSequence {
    is_batch_first: bool,
}

impl Op for ReverseSequence {
    fn name(&self) -> StaticName {
        "ReverseSequence".into()
    }

    op_as_typed_op!();
}

impl EvalOp for ReverseSequence {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let [x, lengths] = &inputs[..] else { bail!("ReverseSequence takes a value and lengths") };
        let shape = x.shape();
        let (time, batch) = if self.is_batch_first { (shape[1], shape[0]) } else { (shape[0], shape[1]) };
        let lengths = lengths.cast_to_dt(DatumType::I64)?.into_owned();
        let lengths = lengths.try_as_plain_ram()?.as_slice::<i64>()?.to_vec();
        let is_possible = |length: &i64| usize::try_from(*length).is_ok_and(|length| length <= time);
        if lengths.len() != batch || !lengths.iter().all(is_possible) {
            bail!("{lengths:?} steps are to be reversed where {batch} rows have {time} each");
        }
        let block = shape[2..].iter().product::<usize>() * x.datum_type().size_of();
        let at = |step: usize, row: usize| {
            let index = if self.is_batch_first { row * time + step } else { step * batch + row };
            index * block..(index + 1) * block
        };
        let mut reversed = Tensor::zero_dt(x.datum_type(), shape)?;
        let (from, to) = (x.try_as_plain_ram()?.as_bytes(), reversed.as_bytes_mut());
        for (row, length) in lengths.into_iter().enumerate() {
            let length = length as usize;
            for step in 0..time {
                let source = if step < length { length - 1 - step } else { step };
                to[at(step, row)].copy_from_slice(&from[at(source, row)]);
            }
        }
        Ok(tvec!(reversed.into_tvalue()))
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.eval(&EvalContext::out_of_plan(), inputs).map(Some)
    }
}

impl TypedOp for ReverseSequence {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec!(TypedFact::dt_shape(inputs[0].datum_type, inputs[0].shape.clone())))
    }

    as_op!();
}

impl Expansion for ReverseSequence {
    fn name(&self) -> StaticName {
        Op::name(self)
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        s: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> TractResult<()> {
        s.equals(&inputs[0].datum_type, &outputs[0].datum_type)?;
        s.equals(&inputs[0].shape, &outputs[0].shape)?;
        s.equals(&inputs[1].rank, 1)
    }

    fn wire(&self, prefix: &str, model: &mut TypedModel, inputs: &[OutletId]) -> TractResult<TVec<OutletId>> {
        let fact = model.outlet_fact(inputs[0])?;
        if fact.rank() < 2 || !fact.datum_type.is_copy() && fact.datum_type != DatumType::TDim {
            bail!("the engine has no ReverseSequence of a {:?} of rank {}", fact.datum_type, fact.rank());
        }
        let mut x = inputs[0];
        if fact.datum_type == DatumType::TDim {
            x = model.wire_node(format!("{prefix}.numbers"), cast(DatumType::I64), &[x])?[0];
        }
        model.wire_node(prefix, self.clone(), &[x, inputs[1]])
    }
}
