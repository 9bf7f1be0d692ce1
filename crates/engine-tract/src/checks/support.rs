//! Refuses operators that tract lacks by their names, before it sees the graph.

use opscope_model::EngineError;
use opscope_onnx::{Attribute, Graph, Operator};
use opscope_tensor::DType;
use tract_onnx::Onnx;
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto};

use super::attributes;
use crate::rewrite::loops;
use crate::{names, tensors};

/// The operators of other domains that tract has. tract identifies operators by type alone, so without this check it
/// would execute a vendor's `Relu` as if it were ONNX's.
const OTHER_DOMAINS: &[(&str, &[&str])] = &[
    (
        "com.microsoft",
        &[
            "DynamicQuantizeLSTM",
            "GatherBlockQuantized",
            "GroupQueryAttention",
            "MatMulNBits",
            "RotaryEmbedding",
            "SimplifiedLayerNormalization",
        ],
    ),
    (
        "ai.onnx.ml",
        &[
            "ArrayFeatureExtractor",
            "CategoryMapper",
            "LinearClassifier",
            "LinearRegressor",
            "Normalizer",
            "TreeEnsembleClassifier",
        ],
    ),
];

/// Checks operators, including those in graphs inside operators, and element types. Loops and the branches of an `If`
/// are left to [`check_branches`], because the inputs decide whether they matter.
pub(crate) fn check(graph: &Graph, framework: &Onnx, proto: &ModelProto) -> Result<(), EngineError> {
    for node in proto.graph.iter().flat_map(|graph| &graph.node) {
        let operator = names::decode(&node.name).and_then(|id| graph.operators.get(id.index()));
        if let Some(operator) = operator.filter(|_| !loops::is_loop(node)) {
            check_node(node, &operator.name, framework)?;
        }
    }
    for operator in &graph.operators {
        check_types(operator)?;
    }
    for value in &graph.values {
        if let Some(dtype) = value.dtype.filter(|_| !matches!(value.producer, opscope_onnx::Producer::Operator(..))) {
            check_type(dtype, None, &format!("tensor '{}'", value.name))?;
        }
    }
    Ok(())
}

/// Checks the branches of every `If` that a run decides, and the nodes that loops and branches are unrolled to.
pub(crate) fn check_branches(graph: &Graph, framework: &Onnx, proto: &ModelProto) -> Result<(), EngineError> {
    for node in proto.graph.iter().flat_map(|graph| &graph.node) {
        let name = names::restore(&node.name, graph);
        if loops::is_loop(node) {
            let reason =
                "the engine has a Loop only where it is known before a run how often it runs, up to 1024 times";
            return Err(EngineError::Load { node: Some(name), reason: reason.to_owned() });
        }
        check_node(node, &name, framework)?;
        if node.op_type == "If" {
            check_bodies(node, &name, framework)?;
        }
    }
    Ok(())
}

fn check_node(node: &NodeProto, name: &str, framework: &Onnx) -> Result<(), EngineError> {
    if !has(framework, &node.domain, &node.op_type) {
        return Err(EngineError::UnsupportedOperator {
            node: name.to_owned(),
            op_type: match node.domain.as_str() {
                "" | "ai.onnx" => node.op_type.clone(),
                domain => format!("{domain}.{}", node.op_type),
            },
        });
    }
    // Checks what is known without the inputs; the rest is checked once they are known.
    attributes::check(node, &[])
        .map_err(|refused| EngineError::Load { node: Some(name.to_owned()), reason: refused.reason })?;
    if node.op_type == "If" { Ok(()) } else { check_bodies(node, name, framework) }
}

fn check_bodies(node: &NodeProto, name: &str, framework: &Onnx) -> Result<(), EngineError> {
    let bodies = node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
    for body in bodies {
        check_body(body, name, framework)?;
    }
    Ok(())
}

/// Checks a graph inside a node. Its nodes are called `outer/inner`.
fn check_body(body: &GraphProto, outer: &str, framework: &Onnx) -> Result<(), EngineError> {
    for (position, node) in body.node.iter().enumerate() {
        let name = match node.name.as_str() {
            "" => format!("{outer}/{}_{position}", node.op_type),
            name => format!("{outer}/{name}"),
        };
        check_node(node, &name, framework)?;
        if node.op_type == "If" {
            check_bodies(node, &name, framework)?;
        }
    }
    Ok(())
}

fn has(framework: &Onnx, domain: &str, op_type: &str) -> bool {
    let in_domain = match domain {
        "" | "ai.onnx" => true,
        other => OTHER_DOMAINS.iter().any(|(domain, types)| *domain == other && types.contains(&op_type)),
    };
    in_domain && framework.op_register.0.contains_key(op_type)
}

fn check_types(operator: &Operator) -> Result<(), EngineError> {
    for (name, attribute) in &operator.attributes {
        let dtype = match attribute {
            Attribute::Tensor(tensor) => tensor.dtype,
            Attribute::Int(code) if operator.op_type == "Cast" && name == "to" => {
                i32::try_from(*code).ok().and_then(DType::from_onnx)
            }
            _ => None,
        };
        if let Some(dtype) = dtype {
            check_type(dtype, Some(&operator.name), &format!("attribute '{name}'"))?;
        }
    }
    Ok(())
}

fn check_type(dtype: DType, node: Option<&str>, what: &str) -> Result<(), EngineError> {
    if dtype == DType::String || tensors::datum_type(dtype).is_some() {
        return Ok(());
    }
    let reason = format!("the engine has no {dtype}, which {what} needs");
    Err(EngineError::Load { node: node.map(str::to_owned), reason })
}
