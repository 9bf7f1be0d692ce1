//! The types of a model's values, as ONNX Runtime infers them before a run.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use opscope_model::TensorType;
use opscope_onnx::{Dim, Graph, ValueId};
use opscope_tensor::{DType, Tensor};
use prost::Message;

use crate::api::{Known, Session, SessionOptions};
use crate::errors::Refusal;
use crate::names;
use crate::options::GraphOptimizationLevel;
use crate::proto::{DimensionProto, ModelProto, TensorShapeProto, TensorTypeProto, TypeProto};
use crate::rewrite::{is_constant, named, typed};
use crate::setup::Setup;

/// The types of values of the main graph.
#[derive(Debug, Default)]
pub(crate) struct Types(HashMap<ValueId, Known>);

impl Types {
    /// Returns the types of the operators' outputs. The library infers them from a model without weights, which is
    /// quick. There are none if it cannot load that model.
    pub fn of(graph: &Graph, named: &ModelProto, options: impl Fn() -> Result<SessionOptions, Refusal>) -> Self {
        Self::inferred(graph, named, GraphOptimizationLevel::Disable, options)
    }

    fn inferred(
        graph: &Graph,
        named: &ModelProto,
        level: GraphOptimizationLevel,
        options: impl Fn() -> Result<SessionOptions, Refusal>,
    ) -> Self {
        let mut model = named.clone();
        let values = typed(graph, &mut model);
        let (inputs, _) = names::of_ends(graph);
        let outputs: Vec<String> = values.iter().map(|&value| names::of_value(value)).collect();
        let inferred = options().and_then(|mut options| {
            options.graph_optimization_level(level)?;
            Session::load(&model.encode_to_vec(), &options, &inputs, &outputs)?.output_types()
        });
        match inferred {
            Ok(types) => Self(values.into_iter().zip(types).collect()),
            Err(reason) => {
                tracing::debug!("the types of values are not known before a run: {reason}");
                Self::default()
            }
        }
    }

    /// Returns the types of the operators' outputs for inputs of these shapes.
    pub fn for_shapes(graph: &Graph, inputs: &[Tensor], options: impl Fn() -> Result<SessionOptions, Refusal>) -> Self {
        let Ok(mut model) = named(graph) else { return Self::default() };
        for input in model.graph.iter_mut().flat_map(|proto| &mut proto.input) {
            let named = |&value: &ValueId| names::of_value(value) == input.name;
            if let Some(tensor) = graph.inputs.iter().position(named).and_then(|slot| inputs.get(slot)) {
                let dim = |&size: &usize| DimensionProto { dim_value: Some(size as i64), dim_param: None };
                let shape = TensorShapeProto { dim: tensor.shape().iter().map(dim).collect() };
                let tensor_type = TensorTypeProto { elem_type: tensor.dtype().onnx_code(), shape: Some(shape) };
                input.r#type = Some(TypeProto { tensor_type: Some(tensor_type) }.encode_to_vec().into());
            }
        }
        // With constant folding, the library knows the shapes of values that are reshaped to computed sizes.
        Self::inferred(graph, &model, GraphOptimizationLevel::Basic, options)
    }

    pub fn get(&self, value: ValueId) -> Option<&Known> {
        self.0.get(&value)
    }

    /// Returns whether the rank of a value is known. `None` if the value is not a tensor.
    pub fn has_rank(&self, graph: &Graph, value: ValueId) -> Option<bool> {
        match self.0.get(&value) {
            Some(Known::Tensor { dims, .. }) => Some(dims.is_some()),
            Some(Known::Other) => None,
            // Without any types, it has to be tried whether the library knows enough.
            None => Some(self.0.is_empty() || graph.value(value).shape.is_some() || is_constant(graph, value)),
        }
    }

    /// Returns what a model can declare about a tensor: its element type, and its dimensions if their number is known.
    /// `None` if even the type is unknown, or the value is not a tensor.
    pub fn declared(&self, graph: &Graph, value: ValueId) -> Option<TensorTypeProto> {
        let (elem_type, dims) = match self.0.get(&value) {
            Some(Known::Tensor { element, dims }) => (*element, dims.as_deref()),
            Some(Known::Other) => return None,
            None => (graph.value(value).dtype?.onnx_code(), graph.value(value).shape.as_deref()),
        };
        let dim = |dim: &Dim| match dim {
            Dim::Fixed(size) => DimensionProto { dim_value: Some(*size as i64), dim_param: None },
            // Equal names would claim that two dimensions are equal.
            Dim::Symbol(_) => DimensionProto::default(),
        };
        let shape = dims.map(|dims| TensorShapeProto { dim: dims.iter().map(dim).collect() });
        Some(TensorTypeProto { elem_type, shape })
    }

    /// Returns the type and shape of a value for inputs of these shapes. Without an element type there is no shape
    /// either, because an unknown shape looks like a scalar's.
    pub fn for_inputs(&self, graph: &Graph, sizes: &Sizes, value: ValueId) -> TensorType {
        let declared = graph.value(value);
        let (dtype, dims) = match self.0.get(&value) {
            Some(Known::Tensor { element, dims }) => (DType::from_onnx(*element), dims.as_ref()),
            Some(Known::Other) => (None, None),
            None => (declared.dtype, declared.shape.as_ref()),
        };
        let dims = if graph.inputs.contains(&value) { declared.shape.as_ref() } else { dims };
        let shape: Option<Vec<usize>> = dims.and_then(|dims| dims.iter().map(|dim| sizes.of(dim)).collect());
        TensorType { dtype: dtype.filter(|_| shape.is_some()), shape: shape.unwrap_or_default() }
    }
}

/// Returns a function from values to their types in runs with these inputs.
pub(crate) fn types_in_plan<'a>(
    graph: &'a Graph,
    setup: &Setup,
    inputs: &[Tensor],
) -> impl Fn(ValueId) -> TensorType + use<'a> {
    let options = || setup.session_options(NonZeroUsize::MIN, GraphOptimizationLevel::Disable, true);
    let (types, sizes) = (Types::for_shapes(graph, inputs, options), Sizes::new(graph, inputs));
    let type_of = |tensor: &Tensor| TensorType { dtype: Some(tensor.dtype()), shape: tensor.shape().to_vec() };
    let given: HashMap<ValueId, TensorType> = graph.inputs.iter().copied().zip(inputs.iter().map(type_of)).collect();
    move |value| given.get(&value).cloned().unwrap_or_else(|| types.for_inputs(graph, &sizes, value))
}

/// The sizes of the dimensions that a graph's inputs name.
#[derive(Default)]
pub(crate) struct Sizes(HashMap<String, usize>);

impl Sizes {
    pub fn new(graph: &Graph, inputs: &[Tensor]) -> Self {
        let mut sizes = HashMap::new();
        for (&value, tensor) in graph.inputs.iter().zip(inputs) {
            for (dim, &size) in graph.value(value).shape.iter().flatten().zip(tensor.shape()) {
                if let Dim::Symbol(name) = dim
                    && !name.is_empty()
                {
                    sizes.insert(name.clone(), size);
                }
            }
        }
        Self(sizes)
    }

    fn of(&self, dim: &Dim) -> Option<usize> {
        match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Symbol(name) => self.0.get(name).copied(),
        }
    }
}
