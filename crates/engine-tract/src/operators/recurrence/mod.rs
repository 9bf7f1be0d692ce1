//! LSTM, GRU and RNN with the features that tract ignores: lengths that a run computes, other activations, clips and
//! coupled gates. Also `DynamicQuantizeLSTM`, which tract does not have.
//!
//! One product covers the inputs of all steps; then the steps are computed one by one.

mod activation;
mod cell;
mod directions;
mod node;
mod weights;

use opscope_model::Fidelity;
use tract_onnx::Onnx;
use tract_onnx::model::{ParsingContext, optional_inputs};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{Datum, DatumType, SpecialOps, TDim, TValue, TVec, Tensor, TypedFact, TypedModel, tvec};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, IntoTensor, Op, OutletId, StaticName, TractResult, TypedOp, bail,
};
use tract_onnx::tract_core::{as_op, op_as_typed_op};
use tract_onnx::tract_hir::infer::{Solver, TensorProxy};
use tract_onnx::tract_hir::internal::{Expansion, expand};

use super::translation::Rewired;
use super::{Built, build, rnn_directions, tracts};
use activation::Kind;
use cell::Cell;
use directions::{floats, whole_numbers};
use node::{Recurrence, Slot};

pub(super) fn register(framework: &mut Onnx, fidelity: Fidelity) {
    for op_type in ["GRU", "LSTM", "RNN"] {
        framework.op_register.insert(op_type, if fidelity == Fidelity::Exact { exact } else { optimised });
    }
    framework.op_register.insert("DynamicQuantizeLSTM", quantized);
}

fn optimised(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    general(context, node, Fidelity::Optimised)
}

fn exact(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    general(context, node, Fidelity::Exact)
}

/// Returns this crate's operator for fp32. tract's operator runs a plan for each step, and its activations are
/// approximations whose errors add up.
fn general(context: &ParsingContext, node: &NodeProto, fidelity: Fidelity) -> TractResult<Built> {
    let is_default = rnn_directions::refuse_what_is_not_read(node).is_ok();
    let lengths = optional_inputs(node).nth(4).flatten();
    let recurrence = Recurrence::of(node, fidelity)?;
    let (inferred, closures) = build(tracts(), context, node)?;
    let wired = Rewired::new(inferred, move |name, target, inputs, inner| {
        let x = target.outlet_fact(inputs[0])?;
        let is_ours = x.datum_type == f32::datum_type();
        let time = x.shape[usize::from(recurrence.is_batch_first)].clone();
        let is_full = lengths.is_none_or(|slot| is_everywhere(target, inputs[slot], &time));
        match (is_default && is_full, is_ours) {
            (_, true) => target.wire_node(name, recurrence.clone(), inputs),
            (true, false) => inner(target, inputs),
            (false, false) => bail!("the engine computes such a recurrence in float32 only"),
        }
    });
    let inner = match (is_default, node.op_type.as_str()) {
        (true, "LSTM") => with_states(context, node)?.0,
        (true, _) => rnn_directions::built(context, node)?.0,
        (false, _) => return Ok((Box::new(wired), closures)),
    };
    Ok((Box::new(wired.on(inner)), closures))
}

/// Returns tract's LSTM with states that tract's optimiser keeps apart. If state and cell start with the same numbers,
/// it would otherwise merge them into one value, and then get the axes of that value wrong.
fn with_states(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    const STATES: std::ops::Range<usize> = 5..7;
    let (op, closures) = rnn_directions::built(context, node)?;
    let mut complete = node.clone();
    complete.input.resize(node.input.len().max(STATES.end), String::new());
    for slot in STATES.filter(|slot| complete.input[*slot].is_empty()).collect::<Vec<_>>() {
        complete.input[slot] = format!("state{slot}");
    }
    let (inner, _) = rnn_directions::built(context, &complete)?;
    let slots: Vec<Slot> = optional_inputs(node).take(complete.input.len()).collect();
    let is_batch_first = node.get_attr_opt::<i64>("layout")?.unwrap_or(0) == 1;
    let wired = Rewired::new(op.clone(), move |name, target, inputs, inner| {
        let x = target.outlet_fact(inputs[0])?.clone();
        let r = target.outlet_fact(inputs[2])?.clone();
        let (batch, directions, hidden) = (&x.shape[usize::from(!is_batch_first)], &r.shape[0], &r.shape[2]);
        let shape = if is_batch_first { [batch, directions, hidden] } else { [directions, batch, hidden] };
        let shape = shape.iter().map(|dim| Ok(usize::try_from(dim.to_i64()?)?)).collect::<TractResult<Vec<usize>>>()?;
        let mut all = TVec::new();
        for (slot, given) in slots.iter().enumerate() {
            let mut input = given.map(|given| inputs[given]);
            if STATES.contains(&slot) && input.is_none() {
                let zero = Tensor::zero_dt(x.datum_type, &shape)?;
                input = Some(target.add_const(format!("{name}.state{slot}"), zero)?);
            }
            if slot + 1 == STATES.end {
                input = Some(target.wire_node(format!("{name}.cell"), Apart, &[input.unwrap_or(inputs[0])])?[0]);
            }
            all.extend(input);
        }
        inner(target, &all)
    });
    Ok((Box::new(wired.on(inner)), closures))
}

/// An operator that passes its value on unchanged, and that the optimiser does not merge with an equal one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Apart;

impl Op for Apart {
    fn name(&self) -> StaticName {
        "Identity".into()
    }

    op_as_typed_op!();
}

impl EvalOp for Apart {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        Ok(inputs)
    }

    fn eval_out_of_plan(&self, _: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        Ok(None)
    }
}

impl TypedOp for Apart {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec!(TypedFact::dt_shape(inputs[0].datum_type, inputs[0].shape.clone())))
    }

    as_op!();
}

/// Returns whether all elements of a value are known to be one number.
fn is_everywhere(model: &TypedModel, outlet: OutletId, number: &TDim) -> bool {
    let Ok(Some(numbers)) = model.outlet_fact(outlet).map(|fact| fact.konst.clone()) else { return false };
    let expected = number.to_i64();
    whole_numbers(&numbers)
        .is_ok_and(|numbers| expected.is_ok_and(|expected| numbers.iter().all(|number| i64::from(*number) == expected)))
}

fn quantized(_: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    Ok((expand(Recurrence::of(node, Fidelity::Exact)?), vec![]))
}

impl Op for Recurrence {
    fn name(&self) -> StaticName {
        match (self.kind, &self.scales) {
            (_, Some(_)) => "DynamicQuantizeLSTM".into(),
            (Kind::Rnn, _) => "RNN".into(),
            (Kind::Gru, _) => "GRU".into(),
            (Kind::Lstm, _) => "LSTM".into(),
        }
    }

    op_as_typed_op!();
}

impl TypedOp for Recurrence {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let [steps, last] = self.shapes(&inputs[0].shape.to_tvec());
        let facts = self.outputs.iter().zip([&steps, &last, &last]).filter(|(slot, _)| slot.is_some());
        Ok(facts.map(|(_, shape)| TypedFact::dt_shape(DatumType::F32, &**shape)).collect())
    }

    as_op!();
}

impl Expansion for Recurrence {
    fn name(&self) -> StaticName {
        Op::name(self)
    }

    fn nboutputs(&self) -> TractResult<usize> {
        Ok(self.nboutputs())
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        s: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> TractResult<()> {
        s.equals(&inputs[0].rank, 3)?;
        s.equals(&inputs[0].datum_type, f32::datum_type())?;
        for output in outputs {
            s.equals(&output.datum_type, f32::datum_type())?;
        }
        s.given(&inputs[0].shape, move |s, shape| {
            let [steps, last] = self.shapes(&shape);
            for (slot, shape) in self.outputs.iter().zip([&steps, &last, &last]) {
                if let Some(slot) = slot {
                    s.equals(&outputs[*slot].shape, shape.clone())?;
                }
            }
            Ok(())
        })
    }

    fn wire(&self, prefix: &str, model: &mut TypedModel, inputs: &[OutletId]) -> TractResult<TVec<OutletId>> {
        model.wire_node(prefix, self.clone(), inputs)
    }
}

impl EvalOp for Recurrence {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        self.computed(&inputs)
    }

    fn eval_out_of_plan(&self, inputs: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        self.computed(&inputs).map(Some)
    }
}

impl Recurrence {
    fn computed(&self, inputs: &[TValue]) -> TractResult<TVec<TValue>> {
        let shape = inputs[0].shape();
        let (time, batch) = if self.is_batch_first { (shape[1], shape[0]) } else { (shape[0], shape[1]) };
        let hidden = self.hidden;
        let columns = self.kind.gates() * hidden;
        let count = self.directions.len();
        let prepared = self.prepared(inputs)?;
        let x = match self.is_batch_first {
            true => floats(&inputs[0].clone().into_tensor().move_axis(0, 1)?)?,
            false => floats(&inputs[0])?,
        };
        let lengths = match self.lengths {
            Some(slot) => whole_numbers(&inputs[slot])?,
            None => vec![i32::try_from(time)?; batch],
        };
        if lengths.len() != batch
            || lengths.iter().any(|&length| usize::try_from(length).is_ok_and(|l| l > time) || length < 0)
        {
            bail!("sequences of {lengths:?} steps are asked for where {batch} of at most {time} are given");
        }
        let mut steps = vec![0f32; time * count * batch * hidden];
        let mut last = [vec![0f32; count * batch * hidden], vec![0f32; count * batch * hidden]];
        for (index, (direction, prepared)) in self.directions.iter().zip(&*prepared).enumerate() {
            let mut projected = vec![0f32; time * batch * columns];
            prepared.w.add_product(&x, &mut projected);
            let activations = &direction.activations[..];
            let (recurrent, gates) = (Vec::new(), Vec::new());
            let mut cell = Cell { recurrence: self, activations, direction: prepared, recurrent, gates };
            let state = |slot: Slot| -> TractResult<Vec<f32>> {
                let Some(slot) = slot else { return Ok(vec![0.0; batch * hidden]) };
                let states = match self.is_batch_first {
                    true => floats(&inputs[slot].clone().into_tensor().move_axis(0, 1)?)?,
                    false => floats(&inputs[slot])?,
                };
                Ok(states[index * batch * hidden..][..batch * hidden].to_vec())
            };
            let mut states = [state(self.initial[0])?, state(self.initial[1])?];
            for step in 0..time {
                // The position of this step in each row. A row that has ended keeps its state.
                let place = |length: i32| {
                    let length = length as usize;
                    let place = if direction.is_reversed { length.wrapping_sub(step + 1) } else { step };
                    (step < length).then_some(place)
                };
                let places: Vec<Option<usize>> = lengths.iter().map(|&length| place(length)).collect();
                if places.iter().all(Option::is_none) {
                    break;
                }
                cell.step(&projected, &places, &mut states);
                for (row, place) in places.iter().enumerate() {
                    let Some(place) = place else { continue };
                    let to = ((place * count + index) * batch + row) * hidden;
                    steps[to..][..hidden].copy_from_slice(&states[0][row * hidden..][..hidden]);
                }
            }
            for (last, mut state) in last.iter_mut().zip(states) {
                for row in lengths.iter().enumerate().filter(|(_, length)| **length == 0).map(|(row, _)| row) {
                    // In ONNX Runtime, the state of a row without steps is zero.
                    state[row * hidden..][..hidden].fill(0.0);
                }
                last[index * batch * hidden..][..batch * hidden].copy_from_slice(&state);
            }
        }
        let steps = Tensor::from_shape(&[time, count, batch, hidden], &steps)?;
        let [state, cell] = last.map(|last| Tensor::from_shape(&[count, batch, hidden], &last));
        let turned = |tensor: Tensor, from: usize| match self.is_batch_first {
            true => tensor.move_axis(from, 0),
            false => Ok(tensor),
        };
        let all = [turned(steps, 2)?, turned(state?, 1)?, turned(cell?, 1)?];
        let given = self.outputs.iter().zip(all).filter(|(slot, _)| slot.is_some());
        Ok(given.map(|(_, tensor)| tensor.into_tvalue()).collect())
    }
}
