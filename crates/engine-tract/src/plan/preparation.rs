//! Turns the file's messages and the actual inputs into one of tract's models that can be planned.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use opscope_model::{EngineError, Fidelity, KnownOutputs};
use opscope_onnx::{Graph, Producer, ValueId};
use opscope_tensor::Tensor;
use tract_onnx::model::ParseResult;
use tract_onnx::prelude::{InferenceFact, IntoArcTensor, Tensor as TractTensor, TypedFact, TypedModel};
use tract_onnx::tract_core::internal::{OutletId, TractResult, bail};
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::{Onnx, pb};

use crate::budget::Budget;
use crate::budget::guard;
use crate::checks::broadcasts;
use crate::checks::limits::Memory;
use crate::checks::support;
use crate::optimise::provenance::{self, Provenance};
use crate::optimise::{self, Form, optimise};
use crate::rewrite::branches;
use crate::rewrite::loops;
use crate::{operators, tensors};

/// Inputs that become constants, by slot.
pub(crate) type Baked = Vec<(usize, Tensor)>;

/// The parts that one of tract's models is built from.
#[derive(Clone)]
pub(crate) struct Source {
    pub graph: Arc<Graph>,
    pub framework: Arc<Onnx>,
    pub proto: Arc<pb::ModelProto>,
    /// How far it is rewritten. `None` at exact fidelity, where each operator of the file is a step of its own.
    pub form: Option<Form>,
    /// Additional knowledge about the values of the rewritten model.
    pub known: Arc<KnownOutputs>,
}

/// A model that is ready to be planned.
pub(crate) struct PreparedModel {
    pub model: TypedModel,
    /// Which values of the file each outlet holds, with equal elements. Complete at exact fidelity.
    pub values: HashMap<OutletId, Vec<ValueId>>,
    /// At optimised fidelity, which values of the file each outlet carries, some of them with their axes in another
    /// order.
    pub carried: Provenance,
    /// Values that were computed at load, because they need no data of an input.
    pub constants: Vec<(ValueId, OutletId)>,
    /// Initializers of the file that are used unchanged.
    pub weights: Vec<(ValueId, OutletId)>,
    /// How many of the model's first outputs are those of the file.
    pub outputs: usize,
    /// Notes for the user about how the plan runs the model.
    pub notes: Vec<String>,
}

/// Fixes every dimension from the inputs, and lets tract translate and, at optimised fidelity, optimise.
pub(crate) fn prepare(
    source: &Source,
    inputs: &[Tensor],
    baked: &Baked,
    budget: Budget,
) -> Result<PreparedModel, EngineError> {
    let Source { graph, framework, proto, form, known } = source;
    let memory = Memory::of(budget);
    let mut proto = Cow::Borrowed(&**proto);
    let parsed = loop {
        let parsed = guard::load(graph, || analysed(graph, framework, &proto, inputs, baked, memory))?;
        let counted = loops::counted(&proto, &parsed);
        if !counted.is_empty() && loops::unroll(proto.to_mut(), &counted) {
            continue;
        }
        let decided = branches::decided(&proto, &parsed);
        if decided.is_empty() {
            break parsed;
        }
        branches::inline(proto.to_mut(), &decided);
    };
    support::check_branches(graph, framework, &proto)?;
    guard::load(graph, || {
        let initializers = initializers(graph, &parsed);
        let mut prepared = typed(graph, parsed)?;
        broadcasts::check(&prepared.model)?;
        let too_many = form.and_then(|form| form.too_many_operators(&prepared.model));
        let form = if too_many.is_some() { Some(Form::Plain) } else { *form };
        let notes = widened(graph, &prepared.model).into_iter().chain(amplified(graph)).chain(too_many).collect();
        match form {
            Some(form) => prepared = optimised(prepared, form, graph, known)?,
            None => operators::with_special_values(&mut prepared.model, Fidelity::Exact),
        }
        operators::with_checked_indices(&mut prepared.model);
        memory.check_typed(&prepared.model)?;
        prepared.notes = notes;
        prepared.weights = used(&initializers, &prepared.model);
        Ok(prepared)
    })
}

/// Returns a note on the operators that compute in fp32 what the file has in fp16.
fn widened(graph: &Graph, model: &TypedModel) -> Option<String> {
    let operators = operators::widened(model);
    let first = &graph.operators.get(operators.first()?.index())?.name;
    Some(match operators.len() {
        1 => format!("'{first}' computes float16 in float32, for the engine is slow with float16"),
        n => format!(
            "{n} operators compute float16 in float32, for the engine is slow with float16; the first is '{first}'"
        ),
    })
}

/// Returns a note on an operator for which other engines may compute other values.
fn amplified(graph: &Graph) -> Option<String> {
    let operator = graph.operators.iter().find(|operator| operator.op_type == "DynamicQuantizeLSTM")?;
    Some(format!(
        "'{}' (DynamicQuantizeLSTM) rounds its state to 8 bits in every step, so that a difference in the last digit may grow: \
         another engine may give other values",
        operator.name
    ))
}

/// Returns the graph as tract reads it, with what can be known in advance about its values.
fn analysed(
    graph: &Graph,
    framework: &Onnx,
    proto: &pb::ModelProto,
    inputs: &[Tensor],
    baked: &Baked,
    memory: Memory,
) -> TractResult<ParseResult> {
    let mut parsed = parse(graph, framework, proto)?;
    bake(&mut parsed, graph, baked)?;
    let free = (0..inputs.len()).filter(|slot| !baked.iter().any(|(baked, _)| baked == slot));
    for (outlet, slot) in free.enumerate() {
        let Some(datum) = tensors::datum_type(inputs[slot].dtype()) else {
            bail!("tract takes no inputs of {}", inputs[slot].dtype());
        };
        parsed.model.set_input_fact(outlet, InferenceFact::dt_shape(datum, inputs[slot].shape()))?;
    }
    memory.check_untyped(&mut parsed.model, proto.graph.as_ref())?;
    Ok(parsed)
}

fn parse(graph: &Graph, framework: &Onnx, proto: &pb::ModelProto) -> TractResult<ParseResult> {
    let directory = graph.source.path.parent().map(|directory| directory.to_string_lossy().into_owned());
    let parsed = framework.parse(proto, directory.as_deref())?;
    if let Some(input) = parsed.unresolved_inputs.first() {
        bail!("nothing computes the value '{input}'");
    }
    Ok(parsed)
}

/// Turns inputs into constants.
fn bake(parsed: &mut ParseResult, graph: &Graph, baked: &Baked) -> TractResult<()> {
    let mut sources = parsed.model.input_outlets()?.to_vec();
    for (slot, tensor) in baked {
        let name = &graph.value(graph.inputs[*slot]).name;
        let outlet = parsed.outlets_by_name[name.as_str()];
        let constant = tensors::import(tensor)?.into_arc_tensor();
        let node = parsed.model.node_mut(outlet.node);
        node.op = Box::new(Const::new(constant.clone())?);
        node.outputs[0].fact = InferenceFact::try_from(constant)?;
        sources.retain(|source| source.node != outlet.node);
    }
    parsed.model.inputs = sources;
    Ok(())
}

/// Returns the tensors of the file's initializers, as weak references: unused ones are freed, but no other tensor
/// reuses their addresses.
fn initializers(graph: &Graph, parsed: &ParseResult) -> Vec<(ValueId, Weak<TractTensor>)> {
    let initializers = graph.values.iter().filter(|value| matches!(value.producer, Producer::Initializer));
    let tensor = |value: &opscope_onnx::Value| {
        let outlet = parsed.outlets_by_name.get(&value.name)?;
        Some((value.id, Arc::downgrade(parsed.model.node(outlet.node).op_as::<Const>()?.val())))
    };
    initializers.filter_map(tensor).collect()
}

/// Returns the outlets of a model where these same tensors are constants. Tensors derived from them do not count.
fn used(tensors: &[(ValueId, Weak<TractTensor>)], model: &TypedModel) -> Vec<(ValueId, OutletId)> {
    let known: HashMap<_, ValueId> = tensors.iter().map(|(value, tensor)| (tensor.as_ptr(), *value)).collect();
    let constants = model.nodes().iter().filter_map(|node| Some((node.id, node.op_as::<Const>()?)));
    constants
        .filter_map(|(id, constant)| Some((*known.get(&Arc::as_ptr(constant.val()))?, OutletId::new(id, 0))))
        .collect()
}

/// Translates with every value of the file as an output. So each value is known by its outlet, even if no later
/// operator needs it, and none is dropped. Afterwards only the values that nothing else uses stay outputs, so that a
/// run keeps no value longer than it must.
fn typed(graph: &Graph, mut parsed: ParseResult) -> TractResult<PreparedModel> {
    let is_computed = |value: &&opscope_onnx::Value| matches!(value.producer, Producer::Operator(..));
    let asked: Vec<(ValueId, OutletId)> = graph
        .values
        .iter()
        .filter(is_computed)
        .filter_map(|value| Some((value.id, *parsed.outlets_by_name.get(&value.name)?)))
        .collect();
    let mut outlets = parsed.model.output_outlets()?.to_vec();
    let outputs = outlets.len();
    outlets.extend(asked.iter().map(|(_, outlet)| *outlet));
    parsed.model.select_output_outlets(&outlets)?;
    let mut model = optimise::typed(parsed.model)?;

    let found = model.output_outlets()?.to_vec();
    let mut values: HashMap<OutletId, Vec<ValueId>> = HashMap::new();
    let mut constants = Vec::new();
    for (&(value, _), &outlet) in asked.iter().zip(&found[outputs..]) {
        if model.node(outlet.node).op_is::<Const>() {
            constants.push((value, outlet));
        } else {
            values.entry(outlet).or_default().push(value);
        }
    }
    let mut kept = found[..outputs].to_vec();
    for outlet in values.keys() {
        if model.node(outlet.node).outputs.iter().all(|output| output.successors.is_empty()) && !kept.contains(outlet) {
            kept.push(*outlet);
        }
    }
    kept[outputs..].sort_by_key(|outlet| (outlet.node, outlet.slot));
    model.select_output_outlets(&kept)?;
    Ok(PreparedModel { model, values, carried: Provenance::new(), constants, weights: vec![], outputs, notes: vec![] })
}

/// Lets tract rewrite the model, and follows the values through the rewrites.
fn optimised(typed: PreparedModel, form: Form, graph: &Graph, known: &KnownOutputs) -> TractResult<PreparedModel> {
    let PreparedModel { mut model, values: before, outputs, .. } = typed;
    let facts: HashMap<ValueId, TypedFact> = before
        .iter()
        .flat_map(|(outlet, values)| values.iter().map(|value| (*value, *outlet)))
        .map(|(value, outlet)| Ok((value, model.outlet_fact(outlet)?.without_value())))
        .collect::<TractResult<_>>()?;
    let results = model.output_outlets()?[..outputs].to_vec();
    model.select_output_outlets(&results)?;
    provenance::mark(&mut model, &before);
    let mut model = operators::without_casts(model)?;
    operators::with_special_values(&mut model, Fidelity::Optimised);
    let model = optimise(model, form)?;
    let mut carried = provenance::read(&model);
    provenance::add(&mut carried, &model, graph, known);
    let mut values: HashMap<OutletId, Vec<ValueId>> = HashMap::new();
    for (&outlet, carried) in &carried {
        let fact = model.outlet_fact(outlet)?;
        let is_same = |carried: &&provenance::CarriedValue| {
            let before = &facts[&carried.value];
            !carried.reordered && before.shape == fact.shape && before.datum_type == fact.datum_type
        };
        let same: Vec<ValueId> = carried.iter().filter(is_same).map(|carried| carried.value).collect();
        if !same.is_empty() && fact.exotic_fact.is_none() {
            values.insert(outlet, same);
        }
    }
    Ok(PreparedModel { model, values, carried, constants: vec![], weights: vec![], outputs, notes: vec![] })
}
