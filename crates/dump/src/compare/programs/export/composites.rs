/// For each operator that an exporter keeps whole, the operators of the dispatcher that may compute its result, as the
/// last of those that it consists of.
const COMPOSITES: &[(&str, &[&str])] = &[
    ("linear", &["addmm", "mm", "bmm", "baddbmm", "_unsafe_view", "add"]),
    ("matmul", &["bmm", "mm", "mv", "dot", "_unsafe_view", "mul"]),
    ("einsum", &["bmm", "mul", "sum"]),
    ("bilinear", &["_trilinear", "add"]),
    ("layer_norm", &["native_layer_norm"]),
    ("rms_norm", &["_fused_rms_norm", "mul"]),
    ("group_norm", &["native_group_norm"]),
    ("instance_norm", &["native_batch_norm"]),
    ("batch_norm", &["native_batch_norm", "_native_batch_norm_legit_no_training", "_batch_norm_impl_index"]),
    ("_native_batch_norm_legit_no_training", &["native_batch_norm"]),
    ("_native_batch_norm_legit", &["native_batch_norm"]),
    ("softmax", &["_softmax"]),
    ("log_softmax", &["_log_softmax"]),
    ("dropout", &["native_dropout", "mul"]),
    (
        "scaled_dot_product_attention",
        &[
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_fused_attention_overrideable",
            "bmm",
        ],
    ),
    ("conv1d", &["convolution", "mkldnn_convolution"]),
    ("conv2d", &["convolution", "mkldnn_convolution"]),
    ("conv3d", &["convolution", "mkldnn_convolution"]),
    ("conv_transpose1d", &["convolution"]),
    ("conv_transpose2d", &["convolution"]),
    ("conv_transpose3d", &["convolution"]),
    ("adaptive_avg_pool1d", &["mean", "_adaptive_avg_pool2d"]),
    ("adaptive_avg_pool2d", &["mean", "_adaptive_avg_pool2d"]),
    ("adaptive_avg_pool3d", &["mean", "_adaptive_avg_pool3d"]),
    ("max_pool1d", &["max_pool2d_with_indices"]),
    ("max_pool2d", &["max_pool2d_with_indices"]),
    ("max_pool3d", &["max_pool3d_with_indices"]),
    ("reshape", &["clone", "_unsafe_view"]),
    ("flatten", &["clone", "_unsafe_view"]),
    ("contiguous", &["clone"]),
    ("to", &["_to_copy"]),
    ("type_as", &["_to_copy"]),
    ("repeat_interleave", &["index_select", "clone"]),
    ("pad", &["constant_pad_nd", "reflection_pad2d", "replication_pad2d", "reflection_pad1d", "replication_pad1d"]),
    ("embedding", &["embedding", "index_select"]),
    ("relu6", &["hardtanh"]),
    ("mish", &["mish"]),
    ("selu", &["elu"]),
    ("where", &["where"]),
    ("outer", &["mul"]),
    ("stack", &["stack", "cat"]),
    ("concat", &["cat"]),
    ("lstm", &["stack", "cat", "mkldnn_rnn_layer", "_thnn_fused_lstm_cell"]),
    ("gru", &["stack", "cat"]),
    ("square", &["pow"]),
    ("rsub", &["rsub", "sub"]),
    ("std", &["std", "sqrt"]),
    ("norm", &["linalg_vector_norm"]),
    ("clamp", &["clamp", "clamp_min", "clamp_max"]),
];

/// For operators of ONNX, the operators of the dispatcher that compute the same.
const ONNX: &[(&str, &[&str])] = &[
    ("Conv", &["convolution", "mkldnn_convolution"]),
    ("ConvTranspose", &["convolution"]),
    ("BatchNormalization", &["native_batch_norm", "_native_batch_norm_legit_no_training"]),
    ("LayerNormalization", &["native_layer_norm"]),
    ("GroupNormalization", &["native_group_norm"]),
    ("RMSNormalization", &["_fused_rms_norm"]),
    ("Gemm", &["addmm", "mm"]),
    ("MatMul", &["bmm", "mm", "mv"]),
    ("Add", &["add", "addmm", "baddbmm"]),
    ("Sub", &["sub", "rsub"]),
    ("Div", &["div"]),
    ("Pow", &["pow", "square"]),
    ("Softmax", &["_softmax"]),
    ("LogSoftmax", &["_log_softmax"]),
    ("Concat", &["cat", "stack"]),
    ("Gather", &["embedding", "index_select"]),
    ("ReduceMean", &["mean"]),
    ("ReduceSum", &["sum"]),
    ("ReduceMax", &["amax", "max"]),
    ("ReduceMin", &["amin", "min"]),
    ("ReduceL2", &["linalg_vector_norm"]),
    ("GlobalAveragePool", &["mean", "_adaptive_avg_pool2d"]),
    ("AveragePool", &["avg_pool2d", "_adaptive_avg_pool2d"]),
    ("MaxPool", &["max_pool2d_with_indices", "max_pool3d_with_indices"]),
    ("Where", &["masked_fill", "where"]),
    ("Clip", &["clamp", "clamp_min", "clamp_max", "hardtanh"]),
    ("Relu", &["relu", "threshold"]),
    ("Max", &["maximum"]),
    ("Min", &["minimum"]),
    ("CumSum", &["cumsum"]),
    ("Pad", &["constant_pad_nd", "reflection_pad2d", "replication_pad2d"]),
    ("Resize", &["upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_nearest_exact2d"]),
    ("Tile", &["repeat"]),
    ("Trilu", &["triu", "tril"]),
    ("InstanceNormalization", &["native_batch_norm", "native_group_norm"]),
    ("Swish", &["silu"]),
];

/// Returns whether an operator of an exported graph gives what one of the dispatcher computes.
pub(super) fn is_of_composite(target: &str, operator: &str) -> bool {
    let (target, operator) = (bare(target), bare(operator));
    target == operator || is_listed(COMPOSITES, target, operator)
}

/// Returns whether an operator of ONNX gives what one of the dispatcher computes.
pub(super) fn is_of_onnx(op_type: &str, operator: &str) -> bool {
    let operator = bare(operator);
    is_listed(ONNX, op_type, operator) || op_type.to_lowercase() == operator.replace('_', "")
}

fn is_listed(table: &[(&str, &[&str])], name: &str, operator: &str) -> bool {
    table.iter().any(|(known, operators)| *known == name && operators.contains(&operator))
}

/// Returns the name of an operator without its namespace.
fn bare(operator: &str) -> &str {
    operator.split_once("::").or_else(|| operator.split_once('.')).map_or(operator, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composite_gives_what_the_last_of_its_group_computes() {
        assert!(is_of_composite("aten.linear", "aten.addmm"));
        assert!(is_of_composite("aten.softmax", "aten._softmax"));
        assert!(is_of_composite("aten.mul", "aten.mul"));
        assert!(is_of_composite("mine.fused", "mine.fused"), "other libraries have their own");
        assert!(!is_of_composite("aten.linear", "aten.mul"));
    }

    #[test]
    fn operators_of_onnx_are_known_by_a_table_or_by_their_letters() {
        for (op_type, operator) in [("MatMul", "aten.bmm"), ("LeakyRelu", "aten.leaky_relu"), ("Gemm", "aten.addmm")] {
            assert!(is_of_onnx(op_type, operator));
        }
        assert!(!is_of_onnx("MatMul", "aten.addmm"), "the bias comes with the Add behind it");
        assert!(!is_of_onnx("Reshape", "aten.clone"));
    }
}
