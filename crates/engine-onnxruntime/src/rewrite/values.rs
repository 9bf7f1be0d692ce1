//! What is known about values before the library reads the file.
//!
//! A model whose only purpose is to infer the types of its values: its weights are inputs, and every value is an
//! output.

use opscope_onnx::{Graph, Operator, Producer, ValueId};
use prost::Message;

use crate::names;
use crate::proto::{
    DimensionProto, ModelProto, TensorHead, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};

/// Returns whether the file contains a value.
pub(crate) fn is_constant(graph: &Graph, value: ValueId) -> bool {
    match graph.value(value).producer {
        Producer::Initializer => true,
        Producer::Input => false,
        Producer::Operator(operator, _) => graph.operator(operator).is_constant(),
    }
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tensor,
    /// A sequence, an optional or a map.
    Other,
}

/// Returns for each value, by its id, whether it is a tensor.
///
/// The kinds follow from the operators: some create sequences, optionals or maps, and some pass on what they receive.
pub(crate) fn tensors(graph: &Graph) -> Vec<bool> {
    let count = graph.values.len() + graph.inner_values.len();
    let mut kinds = vec![Kind::Tensor; count];
    // A body's inputs are known once its operator's are, and the operator's outputs once its body's outputs are. Each
    // round goes one body deeper or further out, so a file with a few levels needs as many rounds.
    for _ in 0..=deepest(graph) * 2 + 1 {
        let before = kinds.clone();
        for operator in graph.all_operators() {
            judge(graph, operator, &mut kinds);
        }
        if kinds == before {
            break;
        }
    }
    kinds.into_iter().map(|kind| kind == Kind::Tensor).collect()
}

fn deepest(graph: &Graph) -> usize {
    graph.inner_operators.iter().map(|operator| graph.owners_of(operator.id).len()).max().unwrap_or(0)
}

fn judge(graph: &Graph, operator: &Operator, kinds: &mut [Kind]) {
    let of = |kinds: &[Kind], value: Option<ValueId>| value.map_or(Kind::Tensor, |value| kinds[value.index()]);
    let set = |kinds: &mut [Kind], value: Option<ValueId>, kind: Kind| {
        if let Some(value) = value.filter(|_| kind == Kind::Other) {
            kinds[value.index()] = kind;
        }
    };
    let first = of(kinds, operator.inputs.first().copied().flatten());
    match (operator.domain.as_str(), operator.op_type.as_str()) {
        (
            "",
            "SequenceEmpty" | "SequenceConstruct" | "SequenceInsert" | "SequenceErase" | "SplitToSequence"
            | "SequenceMap" | "Optional",
        )
        | ("ai.onnx.ml", "ZipMap") => {
            for &output in &operator.outputs {
                set(kinds, output, Kind::Other);
            }
        }
        // An optional that contains a tensor yields a tensor; one with a sequence does not. The operator that created
        // it shows which it is.
        ("", "Identity") => set(kinds, operator.outputs.first().copied().flatten(), first),
        ("", "OptionalGetElement") => {
            let kind = if first == Kind::Other { element_of_optional(graph, operator, kinds) } else { first };
            set(kinds, operator.outputs.first().copied().flatten(), kind);
        }
        ("", "If") => {
            for body in graph.bodies_of(operator.id) {
                for (&output, &inner) in operator.outputs.iter().zip(&body.outputs) {
                    let kind = of(kinds, Some(inner));
                    set(kinds, output, kind);
                }
            }
        }
        ("", "Loop") => {
            for body in graph.bodies_of(operator.id) {
                let carried = operator.inputs.iter().skip(2).copied();
                for (input, &inner) in carried.zip(body.inputs.iter().skip(2)) {
                    let kind = of(kinds, input);
                    set(kinds, Some(inner), kind);
                }
                for (&output, &inner) in operator.outputs.iter().zip(body.outputs.iter().skip(1)) {
                    let kind = of(kinds, Some(inner));
                    set(kinds, output, kind);
                }
            }
        }
        _ => {}
    }
}

/// Returns what an optional contains, as far as the operator that created it shows that.
fn element_of_optional(graph: &Graph, operator: &Operator, kinds: &[Kind]) -> Kind {
    let mut value = operator.inputs.first().copied().flatten();
    while let Some(id) = value {
        let Producer::Operator(maker, _) = graph.value(id).producer else { return Kind::Tensor };
        let maker = graph.operator(maker);
        value = maker.inputs.first().copied().flatten();
        match maker.op_type.as_str() {
            "Identity" => {}
            "Optional" => return value.map_or(Kind::Tensor, |value| kinds[value.index()]),
            _ => return Kind::Other,
        }
    }
    Kind::Tensor
}

/// Weights of at most this many bytes stay, because shapes may depend on their content.
const LARGEST_KEPT: usize = 4096;

/// Turns a model with the names of [`names`](crate::names) into one that only serves to infer types. Returns the values
/// that are its outputs.
pub(crate) fn typed(graph: &Graph, model: &mut ModelProto) -> Vec<ValueId> {
    let Some(proto) = &mut model.graph else { return Vec::new() };
    for tensor in std::mem::take(&mut proto.initializer) {
        let head = TensorHead::decode(tensor.clone()).unwrap_or_default();
        let is_external = head.data_location == 1;
        if tensor.len() <= LARGEST_KEPT && !is_external {
            proto.initializer.push(tensor);
            continue;
        }
        let dim = |&size: &i64| DimensionProto { dim_value: Some(size), dim_param: None };
        let shape = TensorShapeProto { dim: head.dims.iter().map(dim).collect() };
        let tensor_type = TensorTypeProto { elem_type: head.data_type, shape: Some(shape) };
        let described = TypeProto { tensor_type: Some(tensor_type) };
        proto.input.retain(|input| input.name != head.name);
        proto.input.push(ValueInfoProto { name: head.name, r#type: Some(described.encode_to_vec().into()) });
    }
    let computed = graph.values.iter().map(|value| value.id);
    let computed = computed.filter(|&value| {
        !is_constant(graph, value) && matches!(graph.value(value).producer, opscope_onnx::Producer::Operator(..))
    });
    let outputs: Vec<ValueId> = computed.collect();
    proto.output = outputs.iter().map(|&value| ValueInfoProto { name: names::of_value(value), r#type: None }).collect();
    outputs
}
