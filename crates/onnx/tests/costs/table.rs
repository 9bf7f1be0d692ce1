//! The cost of each of the 185 operators, by its definition: every operation on two numbers and every elementary
//! function counts as one. The numbers after `=` are derived from the definition, not from the program.

use std::collections::HashSet;

use crate::by_hand::{Case, case};

const MICROSOFT: &str = "com.microsoft";

/// Operators with a fixed cost per element of the output.
const OF_EACH: [(u64, &[&str]); 7] = [
    // They move, select, convert or compare.
    (
        0,
        &[
            "And",
            "Cast",
            "CastLike",
            "CenterCropPad",
            "Compress",
            "Concat",
            "Constant",
            "ConstantOfShape",
            "DepthToSpace",
            "Dropout",
            "Equal",
            "Expand",
            "EyeLike",
            "Flatten",
            "Gather",
            "GatherElements",
            "GatherND",
            "Greater",
            "GreaterOrEqual",
            "Hardmax",
            "Identity",
            "IsInf",
            "IsNaN",
            "Less",
            "LessOrEqual",
            "MaxUnpool",
            "NonZero",
            "Not",
            "OneHot",
            "Or",
            "Pad",
            "QLinearConcat",
            "QLinearWhere",
            "Reshape",
            "ReverseSequence",
            "Shape",
            "Sign",
            "Size",
            "Slice",
            "SpaceToDepth",
            "Split",
            "Squeeze",
            "TensorScatter",
            "Tile",
            "TopK",
            "Transpose",
            "Trilu",
            "Unique",
            "Unsqueeze",
            "Where",
            "Xor",
        ],
    ),
    // One operation or function.
    (
        1,
        &[
            "Abs",
            "Acos",
            "Acosh",
            "Add",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "BitShift",
            "BitwiseAnd",
            "BitwiseNot",
            "BitwiseOr",
            "BitwiseXor",
            "Ceil",
            "Cos",
            "Cosh",
            "CumProd",
            "CumSum",
            "Div",
            "Erf",
            "Exp",
            "Floor",
            "Log",
            "Mod",
            "Mul",
            "Neg",
            "Pow",
            "QLinearAdd",
            "QLinearMul",
            "Reciprocal",
            "Relu",
            "Round",
            "Shrink",
            "Sin",
            "Sinh",
            "Sqrt",
            "Sub",
            "Tan",
            "Tanh",
        ],
    ),
    // A comparison and a product; x * factor + offset; the step and the start.
    (2, &["LeakyRelu", "PRelu", "ThresholdedRelu", "QLinearLeakyRelu", "BatchNormalization", "Range"]),
    // log(exp(x) + 1); x / (1 + |x|); alpha * (exp(x) - 1); x / sqrt(sum of x * x).
    (3, &["Softplus", "Softsign", "Elu", "LpNormalization"]),
    // gamma * alpha * (exp(x) - 1); alpha * (exp(x / alpha) - 1); the bounds of alpha * x + beta; 1 / (1 + exp(-x));
    // x * x, its sum, a division and a scale.
    (
        4,
        &[
            "Selu",
            "Celu",
            "HardSigmoid",
            "Sigmoid",
            "QLinearSigmoid",
            "RMSNormalization",
            "SimplifiedLayerNormalization",
        ],
    ),
    // x times one of these; x * tanh(log(1 + exp(x))); 0.5 * x * (1 + erf(x / sqrt(2))); maximum, difference,
    // exponential, sum and division; mean, difference, square, sum and division.
    (
        5,
        &[
            "HardSwish",
            "Swish",
            "QuickGelu",
            "Mish",
            "Gelu",
            "Softmax",
            "LogSoftmax",
            "QLinearSoftmax",
            "MeanVarianceNormalization",
        ],
    ),
    // Two for the extremes, and division, rounding, zero point and bounds; a scale after a normalisation; a bias before
    // Gelu.
    (6, &["DynamicQuantizeLinear", "LayerNormalization", "BiasGelu"]),
];

/// An operator without attributes: its domain, type, inputs, output, and cost.
type Shapes = &'static [&'static [usize]];
const OF_SHAPES: [(&str, &str, Shapes, &[usize], u64); 69] = [
    ("", "Sum", &[&[2, 3]], &[2, 3], 0),
    ("", "Sum", &[&[2, 3], &[3], &[2, 3]], &[2, 3], 2 * 6),
    ("", "Max", &[&[2, 3], &[3], &[2, 3], &[1]], &[2, 3], 3 * 6),
    ("", "Min", &[&[2, 3], &[3]], &[2, 3], 6),
    ("", "Mean", &[&[2, 3], &[3], &[2, 3]], &[2, 3], 2 * 6 + 6),
    ("", "Clip", &[&[2, 3]], &[2, 3], 0),
    ("", "Clip", &[&[2, 3], &[1]], &[2, 3], 6),
    ("", "Clip", &[&[2, 3], &[], &[1]], &[2, 3], 6),
    ("", "Clip", &[&[2, 3], &[1], &[1]], &[2, 3], 2 * 6),
    // Division, rounding, bounds, zero point; zero point and product.
    ("", "QuantizeLinear", &[&[2, 3], &[1]], &[2, 3], 3 * 6),
    ("", "QuantizeLinear", &[&[2, 3], &[1], &[1]], &[2, 3], 4 * 6),
    ("", "DequantizeLinear", &[&[2, 3], &[1]], &[2, 3], 6),
    ("", "DequantizeLinear", &[&[2, 3], &[1], &[1]], &[2, 3], 2 * 6),
    // 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))), and a bias.
    (MICROSOFT, "FastGelu", &[&[2, 3]], &[2, 3], 8 * 6),
    (MICROSOFT, "FastGelu", &[&[2, 3], &[3]], &[2, 3], 9 * 6),
    // Two products and a sum for each element that is rotated.
    ("", "RotaryEmbedding", &[&[1, 2, 5, 8], &[5, 4], &[5, 4]], &[1, 2, 5, 8], 3 * 80),
    // Mean, difference, square, sum, division, scale; a bias.
    ("", "LayerNormalization", &[&[2, 3], &[3], &[3]], &[2, 3], 7 * 6),
    ("", "InstanceNormalization", &[&[1, 2, 3], &[2], &[2]], &[1, 2, 3], 7 * 6),
    ("", "GroupNormalization", &[&[1, 2, 3], &[2], &[2]], &[1, 2, 3], 7 * 6),
    // After one or two sums.
    (MICROSOFT, "SkipLayerNormalization", &[&[2, 3], &[2, 3], &[3]], &[2, 3], 7 * 6),
    (MICROSOFT, "SkipLayerNormalization", &[&[2, 3], &[2, 3], &[3], &[3]], &[2, 3], 8 * 6),
    (MICROSOFT, "SkipLayerNormalization", &[&[2, 3], &[2, 3], &[3], &[], &[3]], &[2, 3], 8 * 6),
    (MICROSOFT, "SkipLayerNormalization", &[&[2, 3], &[2, 3], &[3], &[3], &[3]], &[2, 3], 9 * 6),
    (MICROSOFT, "SkipSimplifiedLayerNormalization", &[&[2, 3], &[2, 3], &[3]], &[2, 3], 5 * 6),
    (MICROSOFT, "SkipSimplifiedLayerNormalization", &[&[2, 3], &[2, 3], &[3], &[3]], &[2, 3], 6 * 6),
    (MICROSOFT, "EmbedLayerNormalization", &[&[1, 2], &[], &[9, 3], &[5, 3], &[], &[3], &[3]], &[1, 2, 3], (1 + 7) * 6),
    (
        MICROSOFT,
        "EmbedLayerNormalization",
        &[&[1, 2], &[1, 2], &[9, 3], &[5, 3], &[2, 3], &[3], &[3]],
        &[1, 2, 3],
        (2 + 7) * 6,
    ),
    // Sums, means and largest elements of all 18 elements.
    ("", "GlobalMaxPool", &[&[1, 2, 3, 3]], &[1, 2, 1, 1], 18),
    ("", "GlobalAveragePool", &[&[1, 2, 3, 3]], &[1, 2, 1, 1], 18),
    (MICROSOFT, "QLinearGlobalAveragePool", &[&[1, 2, 3, 3], &[1], &[1], &[1], &[1]], &[1, 2, 1, 1], 18),
    (MICROSOFT, "QLinearReduceMean", &[&[1, 2, 3, 3], &[1], &[1], &[1], &[1]], &[1, 2, 1, 1], 18),
    ("", "GlobalLpPool", &[&[1, 2, 3, 3]], &[1, 2, 1, 1], 2 * 18),
    ("", "Col2Im", &[&[1, 8, 5], &[2], &[2]], &[1, 2, 3, 4], 40),
    // 12 elements become 4: eight operations fold them.
    ("", "ArgMax", &[&[4, 3]], &[4, 1], 8),
    ("", "ArgMin", &[&[4, 3]], &[4], 8),
    ("", "ReduceSum", &[&[4, 3]], &[4], 8),
    ("", "ReduceMax", &[&[4, 3]], &[4, 1], 8),
    ("", "ReduceMin", &[&[4, 3]], &[4, 1], 8),
    ("", "ReduceProd", &[&[4, 3]], &[4, 1], 8),
    // And one for each of the four: a division, a logarithm.
    ("", "ReduceMean", &[&[4, 3]], &[4, 1], 8 + 4),
    ("", "ReduceLogSum", &[&[4, 3]], &[4, 1], 8 + 4),
    // One before for each of the twelve: |x|, x * x.
    ("", "ReduceL1", &[&[4, 3]], &[4, 1], 12 + 8),
    ("", "ReduceSumSquare", &[&[4, 3]], &[4, 1], 12 + 8),
    // Both: sqrt(sum of x * x), log(sum of exp(x)).
    ("", "ReduceL2", &[&[4, 3]], &[4, 1], 12 + 8 + 4),
    ("", "ReduceLogSumExp", &[&[4, 3]], &[4, 1], 12 + 8 + 4),
    // Products of matrices: 5 x 4 sums of 3 products.
    ("", "MatMul", &[&[5, 3], &[3, 4]], &[5, 4], 2 * 3 * 20),
    ("", "MatMulInteger", &[&[5, 3], &[3, 4], &[1], &[1]], &[5, 4], 2 * 3 * 20),
    ("", "QLinearMatMul", &[&[5, 3], &[1], &[1], &[3, 4], &[1], &[1], &[1], &[1]], &[5, 4], 2 * 3 * 20),
    (MICROSOFT, "FusedMatMul", &[&[5, 3], &[3, 4]], &[5, 4], 2 * 3 * 20),
    (MICROSOFT, "TransposeMatMul", &[&[5, 3], &[3, 4]], &[5, 4], 2 * 3 * 20),
    (MICROSOFT, "DynamicQuantizeMatMul", &[&[5, 3], &[3, 4], &[1]], &[5, 4], 2 * 3 * 20),
    (MICROSOFT, "DynamicQuantizeMatMul", &[&[5, 3], &[3, 4], &[1], &[], &[4]], &[5, 4], (2 * 3 + 1) * 20),
    (MICROSOFT, "MatMulIntegerToFloat", &[&[5, 3], &[3, 4], &[1], &[1], &[1], &[1]], &[5, 4], 2 * 3 * 20),
    (MICROSOFT, "MatMulIntegerToFloat", &[&[5, 3], &[3, 4], &[1], &[1], &[1], &[1], &[4]], &[5, 4], (2 * 3 + 1) * 20),
    ("", "Gemm", &[&[5, 3], &[3, 4]], &[5, 4], 2 * 3 * 20),
    ("", "Gemm", &[&[5, 3], &[3, 4], &[4]], &[5, 4], (2 * 3 + 1) * 20),
    (MICROSOFT, "FusedGemm", &[&[5, 3], &[3, 4], &[4]], &[5, 4], (2 * 3 + 1) * 20),
    (MICROSOFT, "QGemm", &[&[5, 3], &[1], &[1], &[3, 4], &[1], &[1]], &[5, 4], 2 * 3 * 20),
    (MICROSOFT, "QGemm", &[&[5, 3], &[1], &[1], &[3, 4], &[1], &[1], &[4]], &[5, 4], (2 * 3 + 1) * 20),
    // Six filters of 4 channels and 3 x 3 weights, at 6 x 6 places.
    ("", "Conv", &[&[1, 4, 8, 8], &[6, 4, 3, 3]], &[1, 6, 6, 6], 2 * 36 * 216),
    ("", "Conv", &[&[1, 4, 8, 8], &[6, 4, 3, 3], &[6]], &[1, 6, 6, 6], (2 * 36 + 1) * 216),
    ("", "ConvInteger", &[&[1, 4, 8, 8], &[6, 4, 3, 3], &[1], &[1]], &[1, 6, 6, 6], 2 * 36 * 216),
    (
        "",
        "QLinearConv",
        &[&[1, 4, 8, 8], &[1], &[1], &[6, 4, 3, 3], &[1], &[1], &[1], &[1]],
        &[1, 6, 6, 6],
        2 * 36 * 216,
    ),
    (
        "",
        "QLinearConv",
        &[&[1, 4, 8, 8], &[1], &[1], &[6, 4, 3, 3], &[1], &[1], &[1], &[1], &[6]],
        &[1, 6, 6, 6],
        (2 * 36 + 1) * 216,
    ),
    (MICROSOFT, "FusedConv", &[&[1, 4, 8, 8], &[6, 4, 3, 3]], &[1, 6, 6, 6], 2 * 36 * 216),
    (MICROSOFT, "FusedConv", &[&[1, 4, 8, 8], &[6, 4, 3, 3], &[6], &[1, 6, 6, 6]], &[1, 6, 6, 6], (2 * 36 + 2) * 216),
    // Each of 64 elements is multiplied with 3 x 2 x 2 weights; 243 elements have a bias.
    ("", "ConvTranspose", &[&[1, 4, 4, 4], &[4, 3, 2, 2]], &[1, 3, 9, 9], 2 * 64 * 12),
    ("", "ConvTranspose", &[&[1, 4, 4, 4], &[4, 3, 2, 2], &[3]], &[1, 3, 9, 9], 2 * 64 * 12 + 243),
    (MICROSOFT, "Attention", &[&[1, 3, 4]], &[1, 3, 4], u64::MAX),
];

fn shaped(domain: &'static str, op_type: &'static str, inputs: Shapes, output: &'static [usize]) -> Case {
    Case { domain, output: Some(output), ..case(op_type, inputs) }
}

/// Operators with attributes, and their costs; `None` if a cost does not follow.
fn of_attributes() -> Vec<(Case, Option<u64>)> {
    let pool = |op_type| shaped("", op_type, &[&[1, 2, 6, 6]], &[1, 2, 3, 3]).ints("kernel_shape", &[2, 4]);
    let quantised_pool =
        shaped(MICROSOFT, "QLinearAveragePool", &[&[1, 2, 6, 6], &[1], &[1], &[1], &[1]], &[1, 2, 3, 3]);
    let scattered = |op_type, reduction: &str| {
        shaped("", op_type, &[&[9, 4], &[2, 4], &[2, 4]], &[9, 4]).text("reduction", reduction)
    };
    let resized = |op_type, mode: &str| shaped("", op_type, &[&[1, 3, 4, 4]], &[1, 3, 8, 8]).text("mode", mode);
    let fused = |op_type, activation: &str| {
        shaped(MICROSOFT, op_type, &[&[5, 3], &[3, 4]], &[5, 4]).text("activation", activation)
    };
    let recurrent = |op_type, inputs| shaped("", op_type, inputs, &[5, 1, 2, 4]).int("hidden_size", 4);
    let heads = |domain, op_type, inputs| shaped(domain, op_type, inputs, &[2, 3, 16]);
    let packed: Shapes = &[&[2, 5, 64], &[7, 2, 16], &[14]];
    let queries: Shapes = &[&[2, 3, 16], &[2, 5, 16], &[2, 5, 16]];
    // 2 sequences, 4 heads, 3 queries, 5 keys.
    let scores = 2 * 4 * 3 * 5;
    vec![
        // 2 x 4 elements of each window.
        (pool("MaxPool"), Some(18 * 8)),
        (pool("AveragePool"), Some(18 * 8)),
        (quantised_pool.ints("kernel_shape", &[2, 4]), Some(18 * 8)),
        (pool("LpPool"), Some(18 * 8 * 2)),
        // A square and a sum for each of 5 neighbours; alpha / size * sum + bias, a power, a division.
        (shaped("", "LRN", &[&[1, 7, 2, 2]], &[1, 7, 2, 2]).int("size", 5), Some(28 * (2 * 5 + 3))),
        (scattered("ScatterND", "add"), Some(8)),
        (scattered("ScatterElements", "mul"), Some(8)),
        (scattered("ScatterElements", "none"), Some(0)),
        (shaped("", "Scatter", &[&[9, 4], &[2, 4], &[2, 4]], &[9, 4]), Some(0)),
        (resized("Resize", "nearest"), Some(0)),
        (resized("Resize", "linear"), Some(192 * (2 * 4 - 1))),
        (resized("Upsample", "linear"), Some(192 * (2 * 4 - 1))),
        (resized("Resize", "cubic"), Some(192 * (2 * 16 - 1))),
        (resized("Resize", "another"), None),
        // 0.5 * x * (1 + tanh(...)) with x + 0.044715 * x^3 inside.
        (shaped("", "Gelu", &[&[6]], &[6]).text("approximate", "tanh"), Some(8 * 6)),
        (shaped("", "Gelu", &[&[6]], &[6]).text("approximate", "none"), Some(5 * 6)),
        (shaped("", "BatchNormalization", &[&[1, 6]], &[1, 6]).int("training_mode", 1), None),
        (shaped("", "Clip", &[&[6]], &[6]).int("min", 0), Some(6)),
        (shaped("", "Clip", &[&[6]], &[6]).int("min", 0).int("max", 1), Some(2 * 6)),
        (fused("FusedGemm", "Relu"), Some((2 * 3 + 1) * 20)),
        (fused("FusedGemm", "Sigmoid"), Some((2 * 3 + 4) * 20)),
        (fused("FusedGemm", "Clip"), Some((2 * 3 + 2) * 20)),
        (fused("FusedGemm", ""), Some(2 * 3 * 20)),
        (fused("FusedGemm", "LeakyRelu"), Some((2 * 3 + 2) * 20)),
        (shaped("", "Gemm", &[&[3, 5], &[3, 4]], &[5, 4]).int("transA", 1), Some(2 * 3 * 20)),
        (shaped(MICROSOFT, "FusedMatMul", &[&[3, 5], &[3, 4]], &[5, 4]).int("transA", 1), Some(2 * 3 * 20)),
        (shaped(MICROSOFT, "MatMulNBits", packed, &[2, 5, 7]).int("K", 64), Some(2 * 64 * 70)),
        // Of one operand a sum; of two, products, and sums unless every label stays; of three, the order decides.
        (shaped("", "Einsum", &[&[5, 3]], &[5]).text("equation", "ij->i"), Some(15 - 5)),
        (shaped("", "Einsum", &[&[5, 3]], &[3, 5]).text("equation", "ij->ji"), Some(0)),
        (shaped("", "Einsum", &[&[5, 3], &[5, 3]], &[5, 3]).text("equation", "ij,ij->ij"), Some(15)),
        (shaped("", "Einsum", &[&[5, 3], &[3, 4]], &[5, 4]).text("equation", "ij,jk->ik"), Some(2 * 5 * 3 * 4)),
        (shaped("", "Einsum", &[&[5], &[5], &[5]], &[5]).text("equation", "i,i,i->i"), None),
        // Each of 5 steps and 2 sequences has 4 hidden elements. A gate: 3 + 4 products and sums, a sum of both, a
        // bias. An LSTM has 4 gates, 3 sigmoids (4), 2 tanh, 3 products and a sum.
        (
            recurrent("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4], &[1, 32]]),
            Some(40 * (4 * (2 * 7 + 2) + 3 * 4 + 2 + 4)),
        ),
        (recurrent("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4]]), Some(40 * (4 * (2 * 7 + 1) + 3 * 4 + 2 + 4))),
        (recurrent("LSTM", &[&[5, 2, 3], &[2, 16, 3], &[2, 16, 4]]), Some(2 * 40 * (4 * (2 * 7 + 1) + 3 * 4 + 2 + 4))),
        // A GRU has 3 gates, 2 sigmoids, a tanh, 3 products, a difference and a sum.
        (
            recurrent("GRU", &[&[5, 2, 3], &[1, 12, 3], &[1, 12, 4], &[1, 24]]),
            Some(40 * (3 * (2 * 7 + 2) + 2 * 4 + 1 + 5)),
        ),
        (recurrent("RNN", &[&[5, 2, 3], &[1, 4, 3], &[1, 4, 4], &[1, 8]]), Some(40 * (2 * 7 + 2 + 1))),
        (recurrent("RNN", &[&[5, 2, 3], &[1, 4, 3], &[1, 4, 4]]), Some(40 * (2 * 7 + 1 + 1))),
        (recurrent("RNN", &[&[5, 2, 3], &[1, 4, 3], &[1, 4, 4], &[], &[2]]), None),
        (recurrent("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4], &[], &[], &[], &[], &[1, 12]]), None),
        (recurrent("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4]]).int("input_forget", 1), None),
        (recurrent("LSTM", &[&[5, 2, 3], &[1, 16, 3], &[1, 16, 4]]).int("clip", 1), None),
        // For each score: 4 products and sums with a key, a scale, a softmax (5), 4 products and sums with a value; a
        // mask.
        (heads("", "Attention", queries).int("q_num_heads", 4).int("kv_num_heads", 4), Some(scores * (8 + 1 + 5 + 8))),
        (
            heads("", "Attention", &[&[2, 4, 3, 4], &[2, 4, 5, 4], &[2, 4, 5, 6], &[3, 5]]),
            Some(scores * (8 + 1 + 5 + 12 + 1)),
        ),
        (
            heads("", "Attention", &[&[2, 4, 3, 4], &[2, 4, 5, 4], &[2, 4, 5, 4], &[], &[2, 4, 7, 4], &[2, 4, 7, 4]]),
            Some(2 * 4 * 3 * 12 * (8 + 1 + 5 + 8)),
        ),
        (heads(MICROSOFT, "MultiHeadAttention", queries).int("num_heads", 4), Some(scores * (8 + 1 + 5 + 8))),
        (
            heads(
                MICROSOFT,
                "MultiHeadAttention",
                &[&[2, 3, 16], &[2, 5, 16], &[2, 5, 16], &[48], &[2, 5], &[2, 4, 3, 5]],
            )
            .int("num_heads", 4),
            Some(scores * (8 + 1 + 5 + 8 + 2) + 2 * (3 + 5 + 5) * 16),
        ),
        (heads(MICROSOFT, "MultiHeadAttention", queries), None),
        // 2 x 3 rows of 20 times 48 columns, with a bias; three queries see three keys.
        (
            heads(MICROSOFT, "Attention", &[&[2, 3, 20], &[20, 48], &[48]]).int("num_heads", 4),
            Some(6 * 48 * (2 * 20 + 1) + 2 * 4 * 3 * 3 * (8 + 1 + 5 + 8)),
        ),
        (
            heads(MICROSOFT, "Attention", &[&[2, 3, 20], &[20, 48], &[], &[2, 3], &[2, 2, 4, 7, 4], &[2, 4, 3, 10]])
                .int("num_heads", 4),
            Some(6 * 48 * 2 * 20 + 2 * 4 * 3 * 10 * (8 + 1 + 5 + 8 + 2)),
        ),
        (heads(MICROSOFT, "Attention", &[&[2, 3, 20], &[20, 48]]).int("num_heads", 4).int("do_rotary", 1), None),
        (
            heads(MICROSOFT, "QAttention", &[&[2, 3, 20], &[20, 48], &[48], &[1], &[1], &[2, 3], &[1], &[1]])
                .int("num_heads", 4),
            Some(6 * 48 * (2 * 20 + 1) + 2 * 4 * 3 * 3 * (8 + 1 + 5 + 8 + 1)),
        ),
    ]
}

#[test]
fn every_operator_costs_what_its_definition_has() {
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    for (of_each, names) in OF_EACH {
        for &name in names {
            seen.insert(("", name));
            // 15 elements in the output, whatever the inputs are.
            let inputs: Shapes = &[&[5, 3], &[3]];
            let found = shaped("", name, inputs, &[5, 3]).flops();
            assert_eq!(found, Some(of_each * 15), "{name}");
            assert_eq!(shaped(MICROSOFT, name, inputs, &[5, 3]).flops(), found, "{name}");
            assert_eq!(shaped("another.domain", name, inputs, &[5, 3]).flops(), None, "{name}");
        }
    }
    for (domain, name, inputs, output, cost) in OF_SHAPES {
        seen.insert((if name == "Attention" { domain } else { "" }, name));
        let expected = (cost < u64::MAX).then_some(cost);
        assert_eq!(shaped(domain, name, inputs, output).flops(), expected, "{name} {inputs:?}");
    }
    for (case, cost) in of_attributes() {
        let (name, inputs) = (case.op_type, case.inputs);
        seen.insert((if name == "Attention" { case.domain } else { "" }, name));
        assert_eq!(case.flops(), cost, "{name} {inputs:?}");
    }
    assert_eq!(seen.len(), 185);
}

#[test]
fn what_moves_elements_reads_and_writes_bytes_as_its_kind() {
    let views = ["Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];
    let selections = ["Compress", "Gather", "GatherElements", "GatherND", "Slice"];
    for &name in OF_EACH[0].1 {
        // The output has 6 of 24 elements of 4 bytes.
        let cost = shaped("", name, &[&[4, 6]], &[2, 3]).cost();
        let expected = match name {
            _ if views.contains(&name) => (0, 0),
            _ if selections.contains(&name) => (24, 24),
            "Shape" | "Size" | "ConstantOfShape" => (0, 24),
            _ => (96, 24),
        };
        assert_eq!((cost.bytes_read, cost.bytes_written), (Some(expected.0), Some(expected.1)), "{name}");
    }
    // Indices are read completely, and a selection with more outputs than inputs reads all inputs.
    for name in selections {
        let cost = shaped("", name, &[&[2, 3], &[7]], &[4, 6]).cost();
        assert_eq!(cost.bytes_read, Some(24 + 28), "{name}");
    }
    // Four neighbours of 6 elements, or all 96 bytes.
    let resized: [(&'static [usize], &str, u64); 4] =
        [(&[1, 6], "linear", 48), (&[4, 3], "linear", 96), (&[2, 3], "nearest", 24), (&[2, 3], "linear", 96)];
    for (output, mode, read) in resized {
        let cost = shaped("", "Resize", &[&[4, 6]], output).text("mode", mode).cost();
        assert_eq!(cost.bytes_read, Some(read), "{output:?} {mode}");
    }
}
