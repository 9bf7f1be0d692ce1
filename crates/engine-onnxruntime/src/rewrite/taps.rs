//! Puts a tap in front of every operator and one behind it, including operators in bodies.
//!
//! The tap in front takes every value that the operator takes, including those that its bodies capture, and passes them
//! on under names that only this operator uses. So the operator depends on no other node. ONNX Runtime executes a node
//! directly after the last one that it depends on, so nothing runs between a tap and its operator. The tap behind takes
//! the operator's outputs, and passes them on under the names that the others use.
//! One tap serves as the tap behind an operator and in front of the next if nothing else can come between them: the
//! second operator takes only constants and what the first one computes, and nothing else takes that.

use std::collections::{BTreeSet, HashMap};

use opscope_onnx::{Graph, Operator, OperatorId, Producer, ValueId};
use opscope_tensor::DType;
use prost::Message;

use super::values::{is_constant, tensors};
use crate::names;
use crate::names::{DOMAIN, NUMBER, TAP, TAP_OF_DECLARED, TAP_OF_ONE};
use crate::proto::{
    AttributeProto, GraphProto, INT, ModelProto, NodeProto, OperatorSetIdProto, TensorTypeProto, TypeProto,
    ValueInfoProto,
};

/// A tap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tap {
    /// The operator that it belongs to.
    pub operator: OperatorId,
    /// Whether it is in front of the operator.
    pub in_front: bool,
    /// The values that pass through it, by its slots.
    pub values: Vec<ValueId>,
    /// The index of its first slot among those of all taps on this side of the operator.
    pub first: usize,
    /// How many slots these taps have in total.
    pub of: usize,
    /// The operator that it is also in front of, with the same values.
    pub next: Option<OperatorId>,
}

/// Where each value passes through its own tap.
///
/// A tap for all values of an operator must infer their shapes, so it cannot be used where the library does not know a
/// value's rank. A tap of values whose types the model declares need not infer them, but in bodies nothing is known
/// that could be declared. A tap for a single value never needs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Apart {
    /// Only where types cannot be declared.
    Undeclared,
    /// Where the rank is known to be unknown.
    Unknown,
    /// There, and in all bodies, about whose values nothing is known.
    Bodies,
    /// Everywhere.
    All,
}

impl Apart {
    /// Every choice, the best first.
    pub const ALL: [Self; 4] = [Self::Undeclared, Self::Unknown, Self::Bodies, Self::All];
}

/// Where an operator's input or output can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// At this slot of the operator's tap.
    Tap(usize),
    /// It is a constant of the file.
    Constant,
    /// Nowhere: it is not a tensor.
    Hidden,
}

/// An input or output of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub value: ValueId,
    pub source: Source,
}

/// The taps of a model.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    /// By the number that each tap's node has as an attribute.
    pub taps: Vec<Tap>,
    /// For each operator that runs, what it takes: its inputs, then the values that its bodies capture.
    pub inputs: HashMap<OperatorId, Vec<Slot>>,
    /// For each operator that runs, its outputs.
    pub outputs: HashMap<OperatorId, Vec<Slot>>,
}

/// Adds taps to a model with the names of [`names`](crate::names).
///
/// `has_rank` returns whether the rank of a value is known, and `None` if the value is not a tensor. `type_of` returns
/// what is known about a tensor's type, if that includes the element type.
pub(crate) fn tapped(
    graph: &Graph,
    model: &mut ModelProto,
    has_rank: &dyn Fn(ValueId) -> Option<bool>,
    type_of: &dyn Fn(ValueId) -> Option<TensorTypeProto>,
    apart: Apart,
) -> Taps {
    let mut taps = Taps::default();
    let mut tensors = tensors(graph);
    for value in &graph.values {
        tensors[value.id.index()] &= has_rank(value.id).is_some();
    }
    if let Some(proto) = &mut model.graph {
        let mut adding = Adding {
            graph,
            tensors: &tensors,
            has_rank,
            type_of,
            apart,
            taps: &mut taps,
            declared: HashMap::new(),
            takers: takers(graph),
            alone: HashMap::new(),
        };
        adding.to(proto);
        let declared = adding.declared;
        proto.value_info.retain(|info| !declared.contains_key(&info.name));
        proto.value_info.extend(declared.into_iter().map(|(name, tensor_type)| {
            let described = TypeProto { tensor_type: Some(tensor_type) };
            ValueInfoProto { name, r#type: Some(described.encode_to_vec().into()) }
        }));
    }
    model.opset_import.push(OperatorSetIdProto { domain: DOMAIN.to_owned(), version: 1 });
    taps
}

struct Adding<'a> {
    graph: &'a Graph,
    /// Whether each value is a tensor.
    tensors: &'a [bool],
    has_rank: &'a dyn Fn(ValueId) -> Option<bool>,
    type_of: &'a dyn Fn(ValueId) -> Option<TensorTypeProto>,
    apart: Apart,
    taps: &'a mut Taps,
    /// The types of the taps' outputs by name, which the model has to declare.
    declared: HashMap<String, TensorTypeProto>,
    /// How many operators take each value. The caller of a run takes the outputs.
    takers: HashMap<ValueId, usize>,
    /// The taps behind operators that compute a single value, by that value.
    alone: HashMap<ValueId, usize>,
}

impl Adding<'_> {
    fn to(&mut self, proto: &mut GraphProto) {
        let nodes = std::mem::take(&mut proto.node);
        for mut node in nodes {
            let attributes = node.attribute.iter_mut();
            attributes
                .flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs))
                .for_each(|body| self.to(body));
            match names::operator(&node.name) {
                Some(id) if !self.graph.operator(id).is_constant() => {
                    let operator = self.graph.operator(id);
                    proto.node.extend(self.in_front_of(operator, &mut node));
                    let behind = self.behind(operator, &mut node);
                    proto.node.push(node);
                    proto.node.extend(behind);
                }
                _ => proto.node.push(node),
            }
        }
    }

    /// Returns the tap in front of an operator, if any value can pass through one.
    fn in_front_of(&mut self, operator: &Operator, node: &mut NodeProto) -> Vec<NodeProto> {
        let graph = self.graph;
        let mut taken: Vec<ValueId> = Vec::new();
        for &value in operator.inputs.iter().flatten().chain(&operator.captures) {
            if !taken.contains(&value) {
                taken.push(value);
            }
        }
        let mut through: Vec<ValueId> =
            taken.iter().copied().filter(|&value| !is_constant(graph, value) && self.tensors[value.index()]).collect();
        if through.is_empty() {
            // An operator that takes only constants still needs to wait for its tap, so the smallest constant passes
            // through it.
            let own = operator.inputs.iter().flatten().copied();
            let constants = own.filter(|&value| is_constant(graph, value) && self.tensors[value.index()]);
            through.extend(constants.min_by_key(|&value| known_elements(graph, value)));
        }
        let slot = |value: ValueId| {
            let source = match through.iter().position(|other| *other == value) {
                Some(slot) => Source::Tap(slot),
                None if is_constant(graph, value) => Source::Constant,
                None => Source::Hidden,
            };
            Slot { value, source }
        };
        let own = operator.inputs.iter().flatten().copied();
        let captured = operator.captures.iter().copied().filter(|value| !operator.inputs.contains(&Some(*value)));
        self.taps.inputs.insert(operator.id, own.chain(captured).map(slot).collect());
        if through.is_empty() {
            return Vec::new();
        }
        if let Some(tap) = self.joined(operator, &taken) {
            self.taps.taps[tap].next = Some(operator.id);
            return Vec::new();
        }
        let mut renamed: HashMap<String, String> = HashMap::new();
        for (name, id) in node.input.iter().zip(&operator.inputs) {
            if let Some(slot) = id.and_then(|id| through.iter().position(|other| *other == id)) {
                renamed.insert(name.clone(), names::of_tapped_input(operator.id, slot));
            }
        }
        let mut inputs: Vec<String> = through.iter().map(|&value| names::of_value(value)).collect();
        for (name, new) in &renamed {
            // A constant keeps its name from the file.
            if let Some(slot) = (0..through.len()).find(|&slot| *new == names::of_tapped_input(operator.id, slot)) {
                name.clone_into(&mut inputs[slot]);
            }
        }
        for (slot, name) in inputs.iter().enumerate() {
            renamed.entry(name.clone()).or_insert_with(|| names::of_tapped_input(operator.id, slot));
        }
        take(node, &renamed);
        let outputs = (0..through.len()).map(|slot| names::of_tapped_input(operator.id, slot)).collect();
        self.taps(operator.id, true, &through, inputs, outputs)
    }

    /// Returns the tap behind another operator that can also be the one in front of this operator.
    fn joined(&self, operator: &Operator, taken: &[ValueId]) -> Option<usize> {
        let graph = self.graph;
        let mut computed = taken.iter().filter(|&&value| !is_constant(graph, value));
        let (Some(value), None) = (computed.next(), computed.next()) else { return None };
        let in_main_graph = operator.id.index() < graph.operators.len();
        // The library also converts a node that stands alone between two that it executes in single precision.
        let dtype = (self.type_of)(*value).and_then(|declared| DType::from_onnx(declared.elem_type));
        let is_joined = in_main_graph
            && graph.bodies_of(operator.id).is_empty()
            && self.takers.get(value) == Some(&1)
            && dtype.is_some_and(|dtype| !matches!(dtype, DType::F16 | DType::Bf16));
        self.alone.get(value).copied().filter(|_| is_joined)
    }

    /// Returns the tap behind an operator, if it computes any tensor.
    fn behind(&mut self, operator: &Operator, node: &mut NodeProto) -> Vec<NodeProto> {
        let computed: Vec<ValueId> = operator.outputs.iter().flatten().copied().collect();
        let through: Vec<ValueId> = computed.iter().copied().filter(|value| self.tensors[value.index()]).collect();
        let slot = |value: ValueId| {
            let source = through.iter().position(|other| *other == value).map_or(Source::Hidden, Source::Tap);
            Slot { value, source }
        };
        self.taps.outputs.insert(operator.id, computed.iter().copied().map(slot).collect());
        for (output, id) in node.output.iter_mut().zip(&operator.outputs) {
            if let Some(id) = id.filter(|id| through.contains(id)) {
                *output = names::of_raw_value(id);
            }
        }
        let inputs = through.iter().map(|&value| names::of_raw_value(value)).collect();
        let outputs = through.iter().map(|&value| names::of_value(value)).collect();
        if let [value] = computed[..]
            && through.len() == 1
            && operator.id.index() < self.graph.operators.len()
        {
            self.alone.insert(value, self.taps.taps.len());
        }
        self.taps(operator.id, false, &through, inputs, outputs)
    }

    /// Returns the taps on one side of an operator: one for all values, or one for each.
    fn taps(
        &mut self,
        operator: OperatorId,
        in_front: bool,
        values: &[ValueId],
        inputs: Vec<String>,
        outputs: Vec<String>,
    ) -> Vec<NodeProto> {
        let in_body = operator.index() >= self.graph.operators.len();
        let unknown = |value: &ValueId| !in_body && (self.has_rank)(*value) == Some(false);
        let types: Option<Vec<TensorTypeProto>> = match self.apart {
            Apart::Undeclared if values.iter().any(unknown) => {
                values.iter().map(|&value| (self.type_of)(value)).collect()
            }
            _ => None,
        };
        let apart = match self.apart {
            Apart::Undeclared | Apart::Unknown => values.iter().any(unknown),
            Apart::Bodies => in_body || values.iter().any(unknown),
            Apart::All => true,
        };
        let of = values.len();
        if values.is_empty() {
            Vec::new()
        } else if let Some(types) = types {
            self.declared.extend(outputs.iter().cloned().zip(types));
            let tap = Tap { operator, in_front, values: values.to_vec(), first: 0, of, next: None };
            vec![self.tap(TAP_OF_DECLARED, tap, inputs, outputs)]
        } else if !apart {
            let tap = Tap { operator, in_front, values: values.to_vec(), first: 0, of, next: None };
            vec![self.tap(TAP, tap, inputs, outputs)]
        } else {
            let each = values.iter().zip(inputs).zip(outputs).enumerate();
            let tap = |(first, ((&value, input), output))| {
                let tap = Tap { operator, in_front, values: vec![value], first, of, next: None };
                self.tap(TAP_OF_ONE, tap, vec![input], vec![output])
            };
            each.map(tap).collect()
        }
    }

    fn tap(&mut self, op_type: &str, tap: Tap, input: Vec<String>, output: Vec<String>) -> NodeProto {
        let number = self.taps.taps.len();
        self.taps.taps.push(tap);
        let attribute = AttributeProto {
            name: NUMBER.to_owned(),
            i: Some(number as i64),
            r#type: Some(INT),
            ..AttributeProto::default()
        };
        NodeProto {
            input,
            output,
            name: names::of_tap(number),
            op_type: op_type.to_owned(),
            domain: DOMAIN.to_owned(),
            attribute: vec![attribute],
            overload: None,
        }
    }
}

/// Returns how many operators take each value; the caller of a run takes the outputs.
fn takers(graph: &Graph) -> HashMap<ValueId, usize> {
    let mut takers = HashMap::new();
    for operator in graph.all_operators() {
        let taken: BTreeSet<ValueId> = operator.inputs.iter().flatten().chain(&operator.captures).copied().collect();
        taken.into_iter().for_each(|value| *takers.entry(value).or_default() += 1);
    }
    for &value in graph.outputs.iter().chain(graph.bodies.iter().flat_map(|body| &body.outputs)) {
        *takers.entry(value).or_default() += 1;
    }
    takers
}

/// Renames what a node takes, including the nodes of its bodies. The new names mean the same in all of them; if a body
/// redefines the name of a constant, it keeps its own.
fn take(node: &mut NodeProto, renamed: &HashMap<String, String>) {
    let rename = |name: &mut String| {
        if let Some(new) = renamed.get(name) {
            new.clone_into(name);
        }
    };
    node.input.iter_mut().for_each(rename);
    let bodies = node.attribute.iter_mut().flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs));
    for body in bodies {
        take_in(body, renamed);
    }
}

fn take_in(body: &mut GraphProto, renamed: &HashMap<String, String>) {
    let ours = |name: &String| if names::value(name).is_some() { renamed.get(name) } else { None };
    for node in &mut body.node {
        for name in &mut node.input {
            if let Some(new) = ours(name) {
                new.clone_into(name);
            }
        }
        let inner = node.attribute.iter_mut().flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs));
        inner.for_each(|inner| take_in(inner, renamed));
    }
    for output in &mut body.output {
        if let Some(new) = ours(&output.name) {
            new.clone_into(&mut output.name);
        }
    }
}

fn known_elements(graph: &Graph, value: ValueId) -> usize {
    let fixed = |dim: &opscope_onnx::Dim| match dim {
        opscope_onnx::Dim::Fixed(size) => Some(*size),
        opscope_onnx::Dim::Symbol(_) => None,
    };
    let shape = graph.value(value).shape.as_deref();
    match (shape, graph.value(value).producer) {
        (Some(shape), _) => {
            shape.iter().map(fixed).try_fold(1usize, |all, size| all.checked_mul(size?)).unwrap_or(usize::MAX)
        }
        // A value that a node contains has no shape in the graph, and is usually small.
        (None, Producer::Operator(..)) => 0,
        (None, _) => usize::MAX,
    }
}
