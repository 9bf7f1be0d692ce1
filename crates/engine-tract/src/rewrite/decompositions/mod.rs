//! Operators that the engine lacks, decomposed into others before it sees them.
//!
//! Most are from the domain com.microsoft, where ONNX Runtime's quantizers and optimizers put them. Each becomes
//! several nodes that are named after it, so that all of them lead back to the operator of the file.

mod attention;
mod decomposition;
mod fused;
mod normalised;
mod plain;
mod quantized;

use tract_onnx::pb::NodeProto;
use tract_onnx::tract_core::internal::TractResult;

use decomposition::Decomposition;

/// The domain of ONNX Runtime's own operators.
const DOMAIN: &str = "com.microsoft";

/// Decomposes one operator.
type Decomposer = fn(&mut Decomposition<'_>) -> TractResult<()>;

/// Returns the nodes that replace a node; `None` if its operator is not among these.
///
/// # Errors
///
/// Returns an error if the operator has an attribute or input that is not supported.
pub(crate) fn decompose(node: &NodeProto, opset: i64) -> TractResult<Option<Vec<NodeProto>>> {
    let Some(decomposer) = decomposer(node) else { return Ok(None) };
    let mut decomposition = Decomposition::of(node, opset);
    decomposer(&mut decomposition)?;
    decomposition.finish().map(Some)
}

fn decomposer(node: &NodeProto) -> Option<Decomposer> {
    if matches!(node.domain.as_str(), "" | "ai.onnx") {
        return plain::decomposer(node);
    }
    if node.domain != DOMAIN {
        return None;
    }
    Some(match node.op_type.as_str() {
        "Attention" => attention::attention,
        "BiasGelu" | "FastGelu" | "Gelu" | "QuickGelu" => fused::gelu,
        "DequantizeLinear" | "QuantizeLinear" => quantized::same,
        "DynamicQuantizeMatMul" => quantized::dynamic_matmul,
        "EmbedLayerNormalization" => normalised::embedding,
        "FusedConv" => fused::conv,
        "FusedGemm" => fused::gemm,
        "FusedMatMul" | "TransposeMatMul" => fused::matmul,
        "MatMulIntegerToFloat" => quantized::matmul_to_float,
        "MultiHeadAttention" => attention::multi_head,
        "QAttention" => attention::quantized,
        "QGemm" => quantized::gemm,
        "QLinearAdd" => quantized::add,
        "QLinearAveragePool" => quantized::average_pool,
        "QLinearConcat" => quantized::concat,
        "QLinearGlobalAveragePool" => quantized::global_average_pool,
        "QLinearLeakyRelu" => quantized::leaky_relu,
        "QLinearMul" => quantized::mul,
        "QLinearSigmoid" => quantized::sigmoid,
        "QLinearSoftmax" => quantized::softmax,
        "QLinearWhere" => quantized::select,
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => normalised::skip,
        _ => return None,
    })
}
