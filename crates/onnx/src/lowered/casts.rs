//! Writes the file: types of constants, and a `Cast` wherever the type of a value changes.

use std::collections::HashSet;
use std::mem;

use opscope_tensor::DType;

use super::{Lowering, is_stored};
use crate::proto::{AttributeProto, GraphProto, NodeProto, TensorProto, attribute_type};
use crate::{Graph, ModelFile, OnnxError, Operator, OperatorId, Producer, Value, ValueId};

impl<'g> Lowering<'g> {
    /// Returns the model in which these operators compute in the narrower type.
    ///
    /// # Errors
    /// Returns an error if the graph's bytes are no longer those of a model.
    pub fn file(&self, lowered: &HashSet<OperatorId>) -> Result<ModelFile<'g>, OnnxError> {
        let mut file = ModelFile::of(self.graph)?;
        let mut main = mem::take(file.main());
        let lowered = self.with_moved_constants(lowered);
        let names = names(self.graph, &main);
        let mut writer = Writer {
            uses: Uses::of(self, &lowered),
            lowering: self,
            lowered,
            taken: names.iter().flatten().cloned().collect(),
            narrow: vec![None; names.len()],
            wide: names.clone(),
            names,
            stored: HashSet::new(),
            adds_initializers: false,
        };
        writer.name_outputs();
        let outputs = self.graph.outputs.clone();
        writer.graph(&mut main, &self.graph.operators, &Place { inputs: self.graph.inputs.len(), first: 0 }, &outputs);
        for name in &writer.stored {
            file.store_as(name, self.dtype);
        }
        if writer.adds_initializers {
            // Before this version, every initializer had to be an input, too.
            file.proto.ir_version = file.proto.ir_version.max(4);
        }
        *file.main() = main;
        Ok(file)
    }
}

/// Returns the name that each value has in the file.
fn names(graph: &Graph, main: &GraphProto) -> Vec<Option<String>> {
    let mut names = vec![None; graph.all_values().count()];
    for (&value, input) in graph.inputs.iter().zip(inputs_of(main)) {
        names[value.index()] = Some(input);
    }
    graph.each_graph(main, &mut |proto, operators, first| {
        for (place, tensor) in (first.index()..).zip(&proto.initializer) {
            names[place] = Some(tensor.name.clone());
        }
        for operator in operators {
            let node = &proto.node[operator.position];
            for (value, name) in operator.outputs.iter().zip(&node.output) {
                if let Some(value) = value {
                    names[value.index()] = Some(name.clone());
                }
            }
            for (body, (_, proto)) in graph.bodies_of(operator.id).iter().zip(node.graphs()) {
                for (value, input) in body.inputs.iter().zip(inputs_of(proto)) {
                    names[value.index()] = Some(input);
                }
            }
        }
    });
    names
}

/// Returns the names of a graph's inputs, without those of initializers.
fn inputs_of(proto: &GraphProto) -> impl Iterator<Item = String> {
    let stored: HashSet<&str> = proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    proto.input.iter().map(|input| &input.name).filter(move |name| !stored.contains(name.as_str())).cloned()
}

/// In which of the two types values are taken, by value.
struct Uses {
    /// Whether an operator that is lowered takes it.
    narrow: Vec<bool>,
    /// Whether something else takes it: an operator that stays, a graph's outputs. An operator that is a `Cast` takes a
    /// value in either type.
    wide: Vec<bool>,
}

impl Uses {
    fn of(lowering: &Lowering<'_>, lowered: &HashSet<OperatorId>) -> Self {
        let graph = lowering.graph;
        let values = graph.all_values().count();
        let mut uses = Self { narrow: vec![false; values], wide: vec![false; values] };
        for operator in graph.all_operators() {
            let is_lowered = lowered.contains(&operator.id);
            for (slot, input) in operator.inputs.iter().enumerate().filter_map(|(slot, input)| Some((slot, (*input)?)))
            {
                if is_lowered && lowering.lowers_input(operator, slot) {
                    uses.narrow[input.index()] = true;
                } else if !is_cast(operator) || is_stored(graph, input) {
                    uses.wide[input.index()] = true;
                }
            }
        }
        let of_bodies = graph.bodies.iter().flat_map(|body| &body.outputs);
        graph.outputs.iter().chain(of_bodies).for_each(|output| uses.wide[output.index()] = true);
        uses
    }
}

fn is_cast(operator: &Operator) -> bool {
    operator.op_type == "Cast" && operator.domain.is_empty()
}

/// Where the values of a graph begin.
struct Place {
    /// The number of inputs.
    inputs: usize,
    /// The index of the first value.
    first: usize,
}

struct Writer<'a, 'g> {
    lowering: &'a Lowering<'g>,
    lowered: HashSet<OperatorId>,
    uses: Uses,
    /// The name of each value in the original.
    names: Vec<Option<String>>,
    /// The name of each value as float32.
    wide: Vec<Option<String>>,
    /// The name of each value in the narrower type.
    narrow: Vec<Option<String>>,
    /// All names of the file.
    taken: HashSet<String>,
    /// The tensors whose data is stored in the narrower type.
    stored: HashSet<String>,
    adds_initializers: bool,
}

impl Writer<'_, '_> {
    /// Gives every value its names: the original one for the type in which it is computed, except for the model's
    /// outputs, which keep their names as float32.
    fn name_outputs(&mut self) {
        let graph = self.lowering.graph;
        for value in graph.all_values() {
            let place = value.id.index();
            let Some(name) = self.names[place].clone() else { continue };
            if !self.lowering.is_float(value.id) {
                continue;
            }
            let is_narrow = self.is_narrow(value.id);
            if is_narrow && !graph.outputs.contains(&value.id) {
                self.narrow[place] = Some(name.clone());
                self.wide[place] = self.uses.wide[place].then(|| self.fresh(&name, DType::F32));
            } else if let Some(source) = self.narrow_source(value) {
                self.narrow[place] = self.names[source.index()].clone();
            } else if is_narrow || self.uses.narrow[place] {
                self.narrow[place] = Some(self.fresh(&name, self.lowering.dtype));
            }
        }
    }

    /// Returns whether a value is computed in the narrower type.
    fn is_narrow(&self, value: ValueId) -> bool {
        let producer = self.lowering.graph.value(value).producer;
        matches!(producer, Producer::Operator(operator, _) if self.lowered.contains(&operator))
    }

    /// Returns the value that a `Cast` of the file widens, if it has the narrower type.
    fn narrow_source(&self, value: &Value) -> Option<ValueId> {
        let Producer::Operator(producer, _) = value.producer else { return None };
        let producer = self.lowering.graph.operator(producer);
        let source = producer.inputs.first().copied().flatten().filter(|_| is_cast(producer))?;
        (self.lowering.type_of(source) == Some(self.lowering.dtype)).then_some(source)
    }

    /// Returns the name of a value in the type in which it is computed.
    fn computed(&self, value: ValueId) -> Option<&String> {
        let names = if self.is_narrow(value) { &self.narrow } else { &self.wide };
        names[value.index()].as_ref()
    }

    /// Returns a name that nothing in the file has.
    fn fresh(&mut self, name: &str, dtype: DType) -> String {
        let candidates = (1..).map(|number| match number {
            1 => format!("{name}/{dtype}"),
            _ => format!("{name}/{dtype}_{number}"),
        });
        let mut free = candidates.filter(|candidate| !self.taken.contains(candidate));
        let name = free.next().unwrap_or_default();
        drop(free);
        self.taken.insert(name.clone());
        name
    }

    /// Rewrites one graph and those inside it.
    fn graph(&mut self, proto: &mut GraphProto, operators: &[Operator], place: &Place, outputs: &[ValueId]) {
        let graph = self.lowering.graph;
        let mut nodes = Vec::new();
        for value in (place.first..place.first + place.inputs).map(|index| ValueId::new(index as u32)) {
            nodes.extend(self.casts(value));
        }
        self.initializers(proto, place.first + place.inputs);
        for operator in operators {
            let mut node = mem::take(&mut proto.node[operator.position]);
            let bodies = graph.bodies_of(operator.id).iter();
            let protos =
                node.attribute.iter_mut().flat_map(|attribute| attribute.g.iter_mut().chain(&mut attribute.graphs));
            for (body, proto) in bodies.zip(protos) {
                let place = Place { inputs: body.inputs.len(), first: body.values.start.index() };
                self.graph(proto, graph.operators_of(body), &place, &body.outputs);
            }
            self.inputs(operator, &mut node);
            if node.name.is_empty() {
                // Other programs find it by the name in the list.
                node.name.clone_from(&operator.name);
            }
            if operator.is_constant() {
                nodes.extend(self.constant(operator, node));
                continue;
            }
            for (value, name) in operator.outputs.iter().zip(&mut node.output) {
                let Some(value) = value else { continue };
                if let Some(computed) = self.computed(*value) {
                    *name = computed.clone();
                }
            }
            nodes.push(node);
            for value in operator.outputs.iter().flatten() {
                nodes.extend(self.casts(*value));
            }
        }
        proto.node = nodes;
        self.declare(proto, operators, outputs);
    }

    /// Renames the inputs of an operator to the values in the types that it takes.
    fn inputs(&self, operator: &Operator, node: &mut NodeProto) {
        let is_lowered = self.lowered.contains(&operator.id);
        for (slot, input) in operator.inputs.iter().enumerate() {
            let Some(input) = *input else { continue };
            let name = match is_lowered && self.lowering.lowers_input(operator, slot) {
                true => self.narrow[input.index()].as_ref(),
                // A Cast takes either type.
                false if is_cast(operator) => self.computed(input),
                false => self.wide[input.index()].as_ref(),
            };
            if let Some(name) = name {
                node.input[slot] = name.clone();
            }
        }
    }

    /// Returns the `Cast` nodes that stand behind the producer of a value.
    fn casts(&mut self, value: ValueId) -> Option<NodeProto> {
        let graph = self.lowering.graph;
        let place = value.index();
        let (Some(narrow), Some(wide)) = (&self.narrow[place], &self.wide[place]) else { return None };
        let producer = match graph.value(value).producer {
            Producer::Operator(operator, _) => Some(graph.operator(operator)),
            _ => None,
        };
        match producer {
            Some(producer) if self.lowered.contains(&producer.id) => {
                self.uses.wide[place].then(|| cast(narrow, wide, DType::F32))
            }
            _ if !self.uses.narrow[place] || self.narrow_source(graph.value(value)).is_some() => None,
            // No Cast behind a Cast: a second one beside it.
            Some(producer) if is_cast(producer) => {
                let source = producer.inputs[0]?;
                Some(cast(self.computed(source)?, narrow, self.lowering.dtype))
            }
            _ => Some(cast(wide, narrow, self.lowering.dtype)),
        }
    }

    /// Stores initializers in the types in which they are taken.
    fn initializers(&mut self, proto: &mut GraphProto, first: usize) {
        let mut stored = Vec::with_capacity(proto.initializer.len());
        let mut dropped = HashSet::new();
        for (place, tensor) in (first..).zip(mem::take(&mut proto.initializer)) {
            if let Some(narrow) = self.narrow[place].clone() {
                self.stored.insert(narrow.clone());
                self.adds_initializers = true;
                let copy = TensorProto { name: narrow, ..tensor.clone() };
                stored.push(copy);
                if !self.uses.wide[place] {
                    dropped.insert(tensor.name);
                    continue;
                }
            }
            stored.push(tensor);
        }
        proto.initializer = stored;
        proto.input.retain(|input| !dropped.contains(&input.name));
        proto.value_info.retain(|info| !dropped.contains(&info.name));
    }

    /// Returns the `Constant` nodes for a constant, in the types in which it is taken.
    fn constant(&mut self, operator: &Operator, node: NodeProto) -> Vec<NodeProto> {
        let Some(value) = operator.outputs[0] else { return vec![node] };
        let Some(narrow) = self.narrow[value.index()].clone() else { return vec![node] };
        let mut copy = NodeProto { output: vec![narrow.clone()], ..node.clone() };
        if !copy.name.is_empty() {
            copy.name = self.fresh(&node.name, self.lowering.dtype);
        }
        copy.attribute = node.attribute.iter().map(|attribute| as_tensor(attribute, &narrow)).collect();
        self.stored.insert(narrow);
        match self.uses.wide[value.index()] {
            true => vec![node, copy],
            false => vec![copy],
        }
    }

    /// Corrects the types that the file declares for values, and the names of a body's outputs.
    fn declare(&self, proto: &mut GraphProto, operators: &[Operator], outputs: &[ValueId]) {
        for (info, value) in proto.output.iter_mut().zip(outputs) {
            if let Some(wide) = &self.wide[value.index()] {
                info.name = wide.clone();
            }
        }
        let computed = operators.iter().flat_map(|operator| operator.outputs.iter().flatten());
        let narrow = computed.filter(|value| self.is_narrow(**value));
        let narrow: HashSet<&String> = narrow.filter_map(|value| self.narrow[value.index()].as_ref()).collect();
        for info in proto.value_info.iter_mut().filter(|info| narrow.contains(&info.name)) {
            if let Some(tensor) = info.r#type.as_mut().and_then(|declared| declared.tensor_type.as_mut()) {
                tensor.elem_type = self.lowering.dtype.onnx_code();
            }
        }
    }
}

/// Returns a node that converts a value.
fn cast(from: &str, to: &str, dtype: DType) -> NodeProto {
    let attribute = AttributeProto {
        name: "to".to_owned(),
        i: i64::from(dtype.onnx_code()),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    };
    NodeProto {
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        name: format!("{to}/Cast"),
        op_type: "Cast".to_owned(),
        attribute: vec![attribute],
        ..NodeProto::default()
    }
}

/// Returns the attribute of a `Constant` as a tensor of this name.
fn as_tensor(attribute: &AttributeProto, name: &str) -> AttributeProto {
    let (dims, float_data) = match attribute.name.as_str() {
        "value_float" => (Vec::new(), vec![attribute.f]),
        "value_floats" => (vec![attribute.floats.len() as i64], attribute.floats.clone()),
        _ => {
            let tensor = attribute.t.as_ref().map(|tensor| TensorProto { name: name.to_owned(), ..tensor.clone() });
            return AttributeProto { t: tensor, ..attribute.clone() };
        }
    };
    let tensor = TensorProto {
        dims,
        float_data,
        data_type: DType::F32.onnx_code(),
        name: name.to_owned(),
        ..TensorProto::default()
    };
    AttributeProto {
        name: "value".to_owned(),
        t: Some(tensor),
        r#type: attribute_type::TENSOR,
        ..AttributeProto::default()
    }
}
