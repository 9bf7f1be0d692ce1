//! Operators that the engine lacks, spelled out in others before it sees them.
//!
//! Most are of the domain com.microsoft, where ONNX Runtime's quantizers and optimizers write them. Each becomes several
//! nodes that are named after it, so that all of them lead back to the operator of the file.

mod attention;
mod fused;
mod normalised;
mod plain;
mod quantized;
mod spelling;

use tract_onnx::pb::NodeProto;
use tract_onnx::tract_core::internal::TractResult;

use spelling::Spelling;

/// The domain of ONNX Runtime's own operators.
const DOMAIN: &str = "com.microsoft";

/// Spells out one operator.
type Speller = fn(&mut Spelling<'_>) -> TractResult<()>;

/// Returns the nodes that stand for one; `None` where the operator is not one of those.
///
/// # Errors
///
/// If the operator has an attribute or input that is not spelled out.
pub(crate) fn spelled_out(node: &NodeProto, opset: i64) -> TractResult<Option<Vec<NodeProto>>> {
    let Some(speller) = speller(node) else { return Ok(None) };
    let mut spelling = Spelling::of(node, opset);
    speller(&mut spelling)?;
    spelling.finish().map(Some)
}

fn speller(node: &NodeProto) -> Option<Speller> {
    if matches!(node.domain.as_str(), "" | "ai.onnx") {
        return plain::speller(node);
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
