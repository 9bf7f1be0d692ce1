//! LSTM, GRU and RNN with what tract does not read: lengths that a run computes, other activations, clips and coupled
//! gates. And `DynamicQuantizeLSTM`, which tract does not have.
//!
//! The steps are computed one by one in plain loops. Optimised plans take tract's own operator where it is right, because it
//! is faster.

use opscope_model::Fidelity;
use tract_onnx::Onnx;
use tract_onnx::model::{ParsingContext, optional_inputs, optional_outputs};
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{Datum, DatumType, SpecialOps, TDim, TValue, TVec, Tensor, TypedFact, TypedModel, tvec};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, IntoTensor, Op, OutletId, StaticName, TractResult, TypedOp, bail,
};
use tract_onnx::tract_hir::infer::{Solver, TensorProxy};
use tract_onnx::tract_hir::internal::{Expansion, expand};

use super::rewired::Rewired;
use super::{Built, build, rational, recurrent, tracts};

pub(super) fn register(framework: &mut Onnx, fidelity: Fidelity) {
    for op_type in ["GRU", "LSTM", "RNN"] {
        framework.op_register.insert(op_type, if fidelity == Fidelity::Exact { exact } else { optimised });
    }
    framework.op_register.insert("DynamicQuantizeLSTM", quantized);
}

/// Where an input or output is, counting those that are there.
type Slot = Option<usize>;

#[derive(Debug, Clone, PartialEq)]
struct Recurrence {
    kind: Kind,
    hidden: usize,
    /// One or two.
    directions: Vec<Direction>,
    clip: Option<f32>,
    /// Whether what is forgotten is what is not let in.
    is_coupled: bool,
    linear_before_reset: bool,
    is_batch_first: bool,
    bias: Slot,
    lengths: Slot,
    initial: [Slot; 2],
    peepholes: Slot,
    /// Scale and zero point of the weights, and of those of the recurrence.
    scales: Option<[[Slot; 2]; 2]>,
    /// All steps, the last state, the last cell.
    outputs: [Slot; 3],
}

impl Eq for Recurrence {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Direction {
    is_reversed: bool,
    activations: Vec<Activation>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Activation {
    Affine(f32, f32),
    Elu(f32),
    HardSigmoid(f32, f32),
    LeakyRelu(f32),
    RationalSigmoid,
    RationalTanh,
    Relu,
    ScaledTanh(f32, f32),
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu(f32),
}

fn optimised(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    general(context, node, Fidelity::Optimised)
}

fn exact(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    general(context, node, Fidelity::Exact)
}

/// At optimised fidelity tract's own operator, where it is right. Its activations are approximations, whose errors add up
/// over the steps, so that exact plans take ours.
fn general(context: &ParsingContext, node: &NodeProto, fidelity: Fidelity) -> TractResult<Built> {
    let is_default = recurrent::refuse_what_is_not_read(node).is_ok();
    let lengths = optional_inputs(node).nth(4).flatten();
    let recurrence = Recurrence::of(node)?;
    let (inferred, closures) = build(tracts(), context, node)?;
    let wired = Rewired::new(inferred, move |name, target, inputs, inner| {
        let x = target.outlet_fact(inputs[0])?;
        let is_ours = x.datum_type == f32::datum_type();
        let time = x.shape[usize::from(recurrence.is_batch_first)].clone();
        let is_full = lengths.is_none_or(|slot| is_everywhere(target, inputs[slot], &time));
        match (is_default && is_full, is_ours) {
            (true, false) => inner(target, inputs),
            (true, true) if fidelity == Fidelity::Optimised => inner(target, inputs),
            (_, true) => target.wire_node(name, recurrence.clone(), inputs),
            (false, false) => bail!("the engine computes such a recurrence in float32 only"),
        }
    });
    let inner = match (is_default, node.op_type.as_str()) {
        (true, "LSTM") => with_states(context, node)?.0,
        (true, _) => recurrent::recurrent(context, node)?.0,
        (false, _) => return Ok((Box::new(wired), closures)),
    };
    Ok((Box::new(wired.on(inner)), closures))
}

/// tract's LSTM, with states that it does not take for one: where state and cell start with the same numbers, its optimiser
/// makes one value of them, and then gets their axes wrong.
fn with_states(context: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    const STATES: std::ops::Range<usize> = 5..7;
    let (op, closures) = recurrent::recurrent(context, node)?;
    let mut complete = node.clone();
    complete.input.resize(node.input.len().max(STATES.end), String::new());
    for slot in STATES.filter(|slot| complete.input[*slot].is_empty()).collect::<Vec<_>>() {
        complete.input[slot] = format!("state{slot}");
    }
    let (inner, _) = recurrent::recurrent(context, &complete)?;
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

/// A value as it is, which the optimiser does not take for another that is equal.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Apart;

impl Op for Apart {
    fn name(&self) -> StaticName {
        "Identity".into()
    }

    fn as_typed(&self) -> Option<&dyn TypedOp> {
        Some(self)
    }
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

    fn as_op(&self) -> &dyn Op {
        self
    }

    fn as_op_mut(&mut self) -> &mut dyn Op {
        self
    }
}

/// Whether a value is known to be one number in all places.
fn is_everywhere(model: &TypedModel, outlet: OutletId, number: &TDim) -> bool {
    let Ok(Some(numbers)) = model.outlet_fact(outlet).map(|fact| fact.konst.clone()) else { return false };
    let expected = number.to_i64();
    whole_numbers(&numbers)
        .is_ok_and(|numbers| expected.is_ok_and(|expected| numbers.iter().all(|number| i64::from(*number) == expected)))
}

fn quantized(_: &ParsingContext, node: &NodeProto) -> TractResult<Built> {
    Ok((expand(Recurrence::of(node)?), vec![]))
}

impl Recurrence {
    fn of(node: &NodeProto) -> TractResult<Self> {
        let kind = match node.op_type.as_str() {
            "RNN" => Kind::Rnn,
            "GRU" => Kind::Gru,
            _ => Kind::Lstm,
        };
        let directions = match node.get_attr_opt::<&str>("direction")?.unwrap_or("forward") {
            "forward" => vec![false],
            "reverse" => vec![true],
            "bidirectional" => vec![false, true],
            other => bail!("the engine has no {} with the direction '{other}'", node.op_type),
        };
        let mut activations = activations(node, kind, directions.len())?.into_iter();
        let each = if kind == Kind::Lstm { 3 } else { kind.gates().min(2) };
        let directions = directions
            .into_iter()
            .map(|is_reversed| Direction { is_reversed, activations: activations.by_ref().take(each).collect() })
            .collect::<Vec<_>>();
        let mut inputs = optional_inputs(node).skip(3);
        let mut input = || inputs.next().flatten();
        let mut outputs = optional_outputs(node);
        let mut output = || outputs.next().flatten();
        let is_quantized = node.op_type == "DynamicQuantizeLSTM";
        let directions =
            if is_quantized { directions.into_iter().map(Direction::rational).collect() } else { directions };
        Ok(Self {
            kind,
            hidden: node.get_attr("hidden_size")?,
            directions,
            clip: node.get_attr_opt("clip")?,
            is_coupled: node.get_attr_opt::<i64>("input_forget")?.unwrap_or(0) != 0,
            linear_before_reset: node.get_attr_opt::<i64>("linear_before_reset")?.unwrap_or(0) != 0,
            is_batch_first: node.get_attr_opt::<i64>("layout")?.unwrap_or(0) == 1,
            bias: input(),
            lengths: input(),
            initial: [input(), if kind == Kind::Lstm { input() } else { None }],
            peepholes: if kind == Kind::Lstm { input() } else { None },
            scales: is_quantized.then(|| [[input(), input()], [input(), input()]]),
            outputs: [output(), output(), output()],
        })
    }

    fn shapes(&self, x: &[TDim]) -> [TVec<TDim>; 2] {
        let (time, batch) = if self.is_batch_first { (1, 0) } else { (0, 1) };
        let (time, batch) = (x[time].clone(), x[batch].clone());
        let (directions, hidden) = (TDim::from(self.directions.len()), TDim::from(self.hidden));
        match self.is_batch_first {
            true => [tvec!(batch.clone(), time, directions.clone(), hidden.clone()), tvec!(batch, directions, hidden)],
            false => [tvec!(time, directions.clone(), batch.clone(), hidden.clone()), tvec!(directions, batch, hidden)],
        }
    }

    fn nboutputs(&self) -> usize {
        self.outputs.iter().flatten().count()
    }
}

/// What the file asks for, or the default, for each direction.
fn activations(node: &NodeProto, kind: Kind, directions: usize) -> TractResult<Vec<Activation>> {
    let default: &[&str] = match kind {
        Kind::Rnn => &["Tanh"],
        Kind::Gru => &["Sigmoid", "Tanh"],
        Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
    };
    let given = node.attribute.iter().find(|attribute| attribute.name == "activations");
    let given: Vec<String> = given
        .iter()
        .flat_map(|attribute| &attribute.strings)
        .map(|name| String::from_utf8_lossy(name).to_lowercase())
        .collect();
    let names = match given.is_empty() {
        true => default.iter().cycle().take(default.len() * directions).map(|name| name.to_lowercase()).collect(),
        false => given,
    };
    if names.len() != default.len() * directions {
        bail!("{} has {} activations where it needs {}", node.op_type, names.len(), default.len() * directions);
    }
    let floats = |name: &str| -> Vec<f32> {
        let attribute = node.attribute.iter().find(|attribute| attribute.name == name);
        attribute.map(|attribute| attribute.floats.clone()).unwrap_or_default()
    };
    let (mut alphas, mut betas) = (floats("activation_alpha").into_iter(), floats("activation_beta").into_iter());
    let mut alpha = |default| alphas.next().unwrap_or(default);
    let mut beta = |default| betas.next().unwrap_or(default);
    let activation = |name: String| {
        Ok(match name.as_str() {
            "affine" => Activation::Affine(alpha(1.0), beta(0.0)),
            "elu" => Activation::Elu(alpha(1.0)),
            "hardsigmoid" => Activation::HardSigmoid(alpha(0.2), beta(0.5)),
            "leakyrelu" => Activation::LeakyRelu(alpha(0.01)),
            "relu" => Activation::Relu,
            "scaledtanh" => Activation::ScaledTanh(alpha(1.0), beta(1.0)),
            "sigmoid" => Activation::Sigmoid,
            "softplus" => Activation::Softplus,
            "softsign" => Activation::Softsign,
            "tanh" => Activation::Tanh,
            "thresholdedrelu" => Activation::ThresholdedRelu(alpha(1.0)),
            _ => bail!("the engine has no {} with the activation '{name}'", node.op_type),
        })
    };
    names.into_iter().map(activation).collect()
}

impl Direction {
    /// The same with ONNX Runtime's sigmoid and tanh. `DynamicQuantizeLSTM` is its operator, and the least difference in a
    /// state may become another step of the quantization, and from there grow.
    fn rational(mut self) -> Self {
        for activation in &mut self.activations {
            match activation {
                Activation::Sigmoid => *activation = Activation::RationalSigmoid,
                Activation::Tanh => *activation = Activation::RationalTanh,
                _ => {}
            }
        }
        self
    }
}

impl Activation {
    fn apply(self, x: f32) -> f32 {
        match self {
            Self::Affine(alpha, beta) => alpha * x + beta,
            Self::Elu(alpha) if x < 0.0 => alpha * x.exp_m1(),
            Self::HardSigmoid(alpha, beta) => (alpha * x + beta).clamp(0.0, 1.0),
            Self::LeakyRelu(alpha) if x < 0.0 => alpha * x,
            Self::RationalSigmoid => rational::sigmoid(x),
            Self::RationalTanh => rational::tanh(x),
            Self::Relu if x < 0.0 => 0.0,
            Self::ScaledTanh(alpha, beta) => alpha * (beta * x).tanh(),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Self::Softsign => x / (1.0 + x.abs()),
            Self::Tanh => x.tanh(),
            Self::ThresholdedRelu(alpha) if x <= alpha => 0.0,
            Self::Elu(_) | Self::LeakyRelu(_) | Self::Relu | Self::ThresholdedRelu(_) => x,
        }
    }
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

    fn as_typed(&self) -> Option<&dyn TypedOp> {
        Some(self)
    }
}

impl TypedOp for Recurrence {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let [steps, last] = self.shapes(&inputs[0].shape.to_tvec());
        let facts = self.outputs.iter().zip([&steps, &last, &last]).filter(|(slot, _)| slot.is_some());
        Ok(facts.map(|(_, shape)| TypedFact::dt_shape(DatumType::F32, &**shape)).collect())
    }

    fn as_op(&self) -> &dyn Op {
        self
    }

    fn as_op_mut(&mut self) -> &mut dyn Op {
        self
    }
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

/// Products of two numbers of nine bits each whose sum fp32 holds exactly. It multiplies faster than integers do.
const EXACT_PRODUCTS: usize = 256;

/// The weights of one direction, as `[from, gates * hidden]`.
enum Weights {
    Floats(Vec<f32>),
    /// Integers less their zero points, and their scales, one or as many as columns.
    Integers(Vec<f32>, Vec<f32>),
}

impl Weights {
    /// Adds the product of `rows` rows of `from` numbers each with the weights.
    fn add_product(&self, values: &[f32], rows: usize, from: usize, out: &mut [f32]) {
        let columns = out.len().checked_div(rows).unwrap_or(0);
        match self {
            Self::Floats(weights) => {
                for row in 0..rows {
                    let out = &mut out[row * columns..][..columns];
                    for (index, value) in values[row * from..][..from].iter().enumerate() {
                        let weights = &weights[index * columns..][..columns];
                        out.iter_mut().zip(weights).for_each(|(out, weight)| *out += value * weight);
                    }
                }
            }
            Self::Integers(weights, scales) => {
                let (scale, zero) = dynamic_scale(values);
                let quantize = |value: &f32| ((value / scale).round_ties_even() + zero).clamp(0.0, 255.0) - zero;
                let values: Vec<f32> = values.iter().map(quantize).collect();
                let mut sums = vec![0i32; columns];
                let mut part = vec![0f32; columns];
                for row in 0..rows {
                    sums.fill(0);
                    for (first, values) in values[row * from..][..from].chunks(EXACT_PRODUCTS).enumerate() {
                        part.fill(0.0);
                        for (index, value) in values.iter().enumerate() {
                            let weights = &weights[(first * EXACT_PRODUCTS + index) * columns..][..columns];
                            part.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
                        }
                        sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += *part as i32);
                    }
                    let out = &mut out[row * columns..][..columns];
                    for (column, (out, sum)) in out.iter_mut().zip(&sums).enumerate() {
                        *out += *sum as f32 * (scale * scales[column % scales.len()]);
                    }
                }
            }
        }
    }
}

/// The scale and the zero point with which `DynamicQuantizeLinear` makes bytes of values.
fn dynamic_scale(values: &[f32]) -> (f32, f32) {
    let low = values.iter().copied().fold(0.0, f32::min);
    let high = values.iter().copied().fold(0.0, f32::max);
    let scale = if low == high { 1.0 } else { (high - low) / 255.0 };
    (scale, (-low / scale).clamp(0.0, 255.0).round_ties_even())
}

fn floats(tensor: &Tensor) -> TractResult<Vec<f32>> {
    Ok(tensor.cast_to_dt(DatumType::F32)?.try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
}

fn whole_numbers(tensor: &Tensor) -> TractResult<Vec<i32>> {
    Ok(tensor.cast_to_dt(DatumType::I32)?.try_as_plain_ram()?.as_slice::<i32>()?.to_vec())
}

impl Recurrence {
    fn computed(&self, inputs: &[TValue]) -> TractResult<TVec<TValue>> {
        let shape = inputs[0].shape();
        let (time, batch) = if self.is_batch_first { (shape[1], shape[0]) } else { (shape[0], shape[1]) };
        let size = shape[2];
        let hidden = self.hidden;
        let columns = self.kind.gates() * hidden;
        let count = self.directions.len();
        let is_turned = self.scales.is_some();
        let shape = |from: usize| if is_turned { [count, from, columns] } else { [count, columns, from] };
        if inputs[1].shape() != shape(size) || inputs[2].shape() != shape(hidden) {
            bail!(
                "weights of {:?} and {:?} are given for {hidden} hidden numbers",
                inputs[1].shape(),
                inputs[2].shape()
            );
        }
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
        for (index, direction) in self.directions.iter().enumerate() {
            let w = self.weights(&inputs[1], index, size, columns, 0, inputs)?;
            let r = self.weights(&inputs[2], index, hidden, columns, 1, inputs)?;
            let slice = |slot: Slot, length: usize| -> TractResult<Option<Vec<f32>>> {
                let Some(slot) = slot else { return Ok(None) };
                Ok(Some(floats(&inputs[slot])?[index * length..][..length].to_vec()))
            };
            let bias = slice(self.bias, 2 * columns)?.unwrap_or_else(|| vec![0.0; 2 * columns]);
            let peepholes = slice(self.peepholes, 3 * hidden)?.unwrap_or_else(|| vec![0.0; 3 * hidden]);
            let mut projected = vec![0f32; time * batch * columns];
            w.add_product(&x, time * batch, size, &mut projected);
            let mut cell = Cell { recurrence: self, direction, bias, peepholes, r };
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
                // The place of this step in each row. A row that is over keeps its state.
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
                    // ONNX Runtime has no state of a row without steps.
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

    /// The weights of a direction. ONNX has a row for each gate; quantized weights have a column.
    fn weights(
        &self,
        tensor: &Tensor,
        direction: usize,
        from: usize,
        columns: usize,
        which: usize,
        inputs: &[TValue],
    ) -> TractResult<Weights> {
        let Some(scales) = self.scales else {
            let rows = &floats(tensor)?[direction * columns * from..][..columns * from];
            let mut turned = vec![0f32; from * columns];
            for (column, row) in rows.chunks_exact(from.max(1)).enumerate() {
                row.iter().enumerate().for_each(|(index, weight)| turned[index * columns + column] = *weight);
            }
            return Ok(Weights::Floats(turned));
        };
        let [Some(scale), zero] = scales[which] else { bail!("the scale of the weights is missing") };
        let count = self.directions.len();
        let scales = floats(&inputs[scale])?;
        let each = scales.len() / count;
        let scales = scales[direction * each..][..each].to_vec();
        let zeros = match zero {
            Some(slot) => whole_numbers(&inputs[slot])?,
            None => vec![0; count],
        };
        let each = zeros.len() / count;
        let zeros = &zeros[direction * each..][..each];
        if scales.is_empty() || zeros.is_empty() {
            bail!("the scale of the weights is missing");
        }
        let weights = &whole_numbers(tensor)?[direction * columns * from..][..columns * from];
        let less_zero = |(index, weight): (usize, &i32)| (weight - zeros[index % columns % zeros.len()]) as f32;
        let weights = weights.iter().enumerate().map(less_zero);
        Ok(Weights::Integers(weights.collect(), scales))
    }
}

/// One direction, and what it needs for a step.
struct Cell<'a> {
    recurrence: &'a Recurrence,
    direction: &'a Direction,
    bias: Vec<f32>,
    peepholes: Vec<f32>,
    r: Weights,
}

impl Cell<'_> {
    /// Computes a step of every row that has a place in the sequence.
    fn step(&mut self, projected: &[f32], places: &[Option<usize>], states: &mut [Vec<f32>; 2]) {
        let (hidden, batch) = (self.recurrence.hidden, places.len());
        let gates = self.recurrence.kind.gates();
        let columns = gates * hidden;
        let mut recurrent = vec![0f32; batch * columns];
        self.r.add_product(&states[0], batch, hidden, &mut recurrent);
        let (w_bias, r_bias) = self.bias.split_at(columns);
        // Before the state is touched, for the gates of a GRU without linear_before_reset need it twice.
        let before = states[0].clone();
        let mut reset_state = vec![0f32; batch * hidden];
        for (row, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let x = &projected[(place * batch + row) * columns..][..columns];
            let h = &recurrent[row * columns..][..columns];
            let sum = |gate: usize, index: usize| {
                let at = gate * hidden + index;
                x[at] + h[at] + (w_bias[at] + r_bias[at])
            };
            for index in 0..hidden {
                let at = row * hidden + index;
                match self.recurrence.kind {
                    Kind::Rnn => states[0][at] = self.activate(0, sum(0, index)),
                    Kind::Lstm => {
                        let [state, cells] = &mut *states;
                        let cell = cells[at];
                        let let_in = self.activate(0, sum(0, index) + self.peepholes[index] * cell);
                        let kept = match self.recurrence.is_coupled {
                            true => 1.0 - let_in,
                            false => self.activate(0, sum(2, index) + self.peepholes[2 * hidden + index] * cell),
                        };
                        let cell = kept * cell + let_in * self.activate(1, sum(3, index));
                        let let_out = self.activate(0, sum(1, index) + self.peepholes[hidden + index] * cell);
                        cells[at] = cell;
                        state[at] = let_out * self.direction.activations[2].apply(cell);
                    }
                    Kind::Gru => {
                        reset_state[at] = self.activate(0, sum(1, index)) * before[at];
                    }
                }
            }
        }
        if self.recurrence.kind == Kind::Gru {
            self.step_of_gru(projected, places, &recurrent, &before, &reset_state, &mut states[0]);
        }
    }

    fn step_of_gru(
        &self,
        projected: &[f32],
        places: &[Option<usize>],
        recurrent: &[f32],
        before: &[f32],
        reset_state: &[f32],
        state: &mut [f32],
    ) {
        let (hidden, batch) = (self.recurrence.hidden, places.len());
        let columns = 3 * hidden;
        let (w_bias, r_bias) = self.bias.split_at(columns);
        let mut of_reset = vec![0f32; batch * columns];
        if !self.recurrence.linear_before_reset {
            self.r.add_product(reset_state, batch, hidden, &mut of_reset);
        }
        for (row, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let x = &projected[(place * batch + row) * columns..][..columns];
            let h = &recurrent[row * columns..][..columns];
            for index in 0..hidden {
                let sum = |at: usize| x[at] + h[at] + (w_bias[at] + r_bias[at]);
                let kept = self.activate(0, sum(index));
                let at = 2 * hidden + index;
                let inner = match self.recurrence.linear_before_reset {
                    true => {
                        let reset = self.activate(0, sum(hidden + index));
                        reset * (h[at] + r_bias[at])
                    }
                    false => of_reset[row * columns + at] + r_bias[at],
                };
                let new = self.activate(1, x[at] + w_bias[at] + inner);
                let at = row * hidden + index;
                state[at] = (1.0 - kept) * new + kept * before[at];
            }
        }
    }

    fn activate(&self, which: usize, value: f32) -> f32 {
        let value = match self.recurrence.clip {
            Some(clip) => value.clamp(-clip.abs(), clip.abs()),
            None => value,
        };
        self.direction.activations[which].apply(value)
    }
}
