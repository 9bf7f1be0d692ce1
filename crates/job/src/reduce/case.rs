//! A model with the inputs that it is run with.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use opscope_onnx::proto::{
    AttributeProto, DATA_IS_EXTERNAL, GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto, dimension,
};
use opscope_onnx::{Graph, ModelFile, OnnxError};
use opscope_tensor::{DType, Tensor};

/// A model with its inputs: what is made smaller, step by step.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The messages of the model's file.
    pub proto: ModelProto,
    /// A tensor for every input, by its name.
    pub inputs: Vec<(String, Tensor)>,
    /// The original file. External data is looked up beside it.
    pub path: Arc<Path>,
}

/// The place of a tensor of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// An input, by its position.
    Input(usize),
    /// An initializer, by its position.
    Initializer(usize),
}

impl Case {
    /// Returns the main graph.
    pub fn main(&self) -> &GraphProto {
        self.proto.graph.as_ref().expect("a case is made with a graph")
    }

    /// Returns the main graph, to change it.
    pub fn main_mut(&mut self) -> &mut GraphProto {
        self.proto.graph.get_or_insert_default()
    }

    /// Reads the messages as a graph.
    ///
    /// # Errors
    /// Returns an error if the model is not valid.
    pub fn graph(&self) -> Result<Arc<Graph>, OnnxError> {
        use prost::Message;
        Graph::from_bytes(&self.path, self.proto.encode_to_vec().into()).map(Arc::new)
    }

    /// Returns the tensors in the order of a graph's inputs. An input without a tensor is left out.
    pub fn tensors(&self, graph: &Graph) -> Vec<Tensor> {
        let tensors: HashMap<&str, &Tensor> =
            self.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        graph
            .inputs
            .iter()
            .filter_map(|&input| tensors.get(graph.value(input).name.as_str()).copied())
            .cloned()
            .collect()
    }

    /// Returns the number of operators of the main graph. Constants do not count.
    pub fn operators(&self) -> usize {
        self.main().node.iter().filter(|node| !is_constant(node)).count()
    }

    /// Returns the types of the operators of the main graph, in the order of the file.
    pub fn operator_types(&self) -> Vec<String> {
        self.main().node.iter().filter(|node| !is_constant(node)).map(|node| node.op_type.clone()).collect()
    }

    /// Returns the data of the model: its inputs, and its initializers as far as they are stored as bytes.
    pub fn data(&self) -> Vec<(Slot, Tensor)> {
        let inputs = self.inputs.iter().enumerate().map(|(at, (_, tensor))| (Slot::Input(at), tensor.clone()));
        let initializers = self.main().initializer.iter().enumerate();
        let initializers = initializers.filter_map(|(at, proto)| Some((Slot::Initializer(at), tensor_of(proto)?)));
        inputs.chain(initializers).collect()
    }

    /// Returns a tensor of the data.
    pub fn tensor(&self, slot: Slot) -> Option<Tensor> {
        match slot {
            Slot::Input(at) => self.inputs.get(at).map(|(_, tensor)| tensor.clone()),
            Slot::Initializer(at) => self.main().initializer.get(at).and_then(tensor_of),
        }
    }

    /// Returns the name of a tensor of the data.
    pub fn name(&self, slot: Slot) -> &str {
        match slot {
            Slot::Input(at) => &self.inputs[at].0,
            Slot::Initializer(at) => &self.main().initializer[at].name,
        }
    }

    /// Replaces a tensor of the data, and its declaration.
    pub fn set(&mut self, slot: Slot, tensor: Tensor) {
        let name = self.name(slot).to_owned();
        let declared = described(&name, tensor.dtype(), Some(tensor.shape()));
        if let Some(place) = self.main_mut().input.iter_mut().find(|input| input.name == name) {
            *place = declared;
        }
        match slot {
            Slot::Input(at) => self.inputs[at].1 = tensor,
            Slot::Initializer(at) => self.main_mut().initializer[at] = stored(&name, &tensor),
        }
    }

    /// Removes inputs and initializers that no operator takes.
    pub fn prune(&mut self) {
        let used: HashSet<String> = self.main().node.iter().flat_map(taken).map(str::to_owned).collect();
        let main = self.main_mut();
        let passed: HashSet<String> = main.output.iter().map(|output| output.name.clone()).collect();
        let is_used = |name: &String| used.contains(name) || passed.contains(name);
        main.initializer.retain(|tensor| is_used(&tensor.name));
        main.input.retain(|input| is_used(&input.name));
        main.sparse_initializer.retain(|sparse| sparse.values.as_ref().is_some_and(|values| is_used(&values.name)));
        self.inputs.retain(|(name, _)| is_used(name));
    }

    /// Takes all data that is stored beside the file, or in another form than as bytes, into the messages.
    ///
    /// # Errors
    /// Returns an error if the model is not valid, or data cannot be read.
    pub fn embed(&mut self) -> Result<(), OnnxError> {
        let graph = self.graph()?;
        let mut found = HashMap::new();
        graph.initializers::<OnnxError>(
            |_| true,
            |value, tensor| {
                found.insert(graph.value(value).name.clone(), tensor.clone());
                Ok(())
            },
        )?;
        for initializer in &mut self.main_mut().initializer {
            if let Some(tensor) = found.get(&initializer.name) {
                *initializer = stored(&initializer.name, tensor);
            }
        }
        let is_outside = |node: &NodeProto| node.attribute.iter().any(has_external_data);
        if self.main().node.iter().any(is_outside) {
            use prost::Message;
            let bytes = ModelFile::of(&graph)?.encode()?;
            let damaged = |error: prost::DecodeError| OnnxError::NotOnnx {
                path: self.path.to_path_buf(),
                reason: error.to_string(),
            };
            self.proto = ModelProto::decode(bytes).map_err(damaged)?;
        }
        Ok(())
    }
}

/// Returns whether a node is ONNX's `Constant`, which computes nothing.
pub(super) fn is_constant(node: &NodeProto) -> bool {
    node.op_type == "Constant" && matches!(node.domain.as_str(), "" | "ai.onnx")
}

fn has_external_data(attribute: &AttributeProto) -> bool {
    let is_outside = |tensor: &TensorProto| tensor.data_location == DATA_IS_EXTERNAL;
    attribute.t.iter().chain(&attribute.tensors).any(is_outside)
        || attribute.g.iter().chain(&attribute.graphs).any(|graph| {
            graph.initializer.iter().any(is_outside)
                || graph.node.iter().flat_map(|node| &node.attribute).any(has_external_data)
        })
}

/// Returns the message of a tensor, with its data as bytes.
pub(super) fn stored(name: &str, tensor: &Tensor) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: tensor.shape().iter().map(|&dim| dim as i64).collect(),
        data_type: tensor.dtype().onnx_code(),
        raw_data: tensor.bytes().to_vec().into(),
        ..TensorProto::default()
    }
}

/// Returns the tensor of a message whose data is in it; `None` for strings.
pub(super) fn tensor_of(proto: &TensorProto) -> Option<Tensor> {
    let dtype = DType::from_onnx(proto.data_type)?;
    if proto.data_location == DATA_IS_EXTERNAL {
        return None;
    }
    let shape = proto.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect::<Option<Vec<_>>>()?;
    let bytes: Vec<u8> = match dtype {
        _ if !proto.raw_data.is_empty() => proto.raw_data.to_vec(),
        DType::F32 => proto.float_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        DType::F64 => proto.double_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        DType::I64 => proto.int64_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        other => {
            let size = other.size()?;
            proto.int32_data.iter().flat_map(|number| number.to_le_bytes().into_iter().take(size)).collect()
        }
    };
    Tensor::new(dtype, shape, bytes).ok()
}

/// Returns the declaration of a value.
pub(super) fn described(name: &str, dtype: DType, shape: Option<&[usize]>) -> ValueInfoProto {
    let dimension = |&dim: &usize| opscope_onnx::proto::DimensionProto {
        value: Some(dimension::Value::Number(dim as i64)),
        ..Default::default()
    };
    let shape = shape.map(|shape| TensorShapeProto { dim: shape.iter().map(dimension).collect() });
    let tensor_type = TensorTypeProto { elem_type: dtype.onnx_code(), shape };
    let of_tensor = TypeProto { tensor_type: Some(tensor_type), ..TypeProto::default() };
    ValueInfoProto { name: name.to_owned(), r#type: Some(of_tensor), ..ValueInfoProto::default() }
}

/// Returns the names of the values that a node takes: its inputs, and what the graphs inside it use from outside.
pub(super) fn taken(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    for attribute in &node.attribute {
        for graph in attribute.g.iter().chain(&attribute.graphs) {
            free(graph, &HashSet::new(), &mut names);
        }
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// Adds the names that a graph uses and does not define, nor one of those around it.
fn free<'p>(graph: &'p GraphProto, around: &HashSet<&'p str>, names: &mut Vec<&'p str>) {
    let mut defined = around.clone();
    defined.extend(graph.input.iter().map(|input| input.name.as_str()));
    defined.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    defined.extend(sparse.map(|values| values.name.as_str()));
    defined.extend(graph.node.iter().flat_map(|node| &node.output).map(String::as_str));
    for node in &graph.node {
        names.extend(node.input.iter().map(String::as_str).filter(|name| !name.is_empty() && !defined.contains(name)));
        for inner in node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs)) {
            free(inner, &defined, names);
        }
    }
    let outputs = graph.output.iter().map(|output| output.name.as_str());
    names.extend(outputs.filter(|name| !defined.contains(name)));
}
