//! Operators that compute each element by itself, or from a few others: element-wise functions, reductions,
//! normalisations, pooling.

use super::{Typed, attention, elements_of, product};

/// Operations of a normalisation per element, without the bias.
const NORMALISATION: u64 = 6;

/// The same for a normalisation that keeps the mean: square, sum, division by the root, product with the scale.
const RMS_NORMALISATION: u64 = 4;

pub(super) fn flops(typed: &Typed<'_>) -> Option<u64> {
    let op_type = typed.operator.op_type.as_str();
    if let Some(of_each) = of_each(op_type) {
        return typed.given()?.checked_mul(of_each);
    }
    match op_type {
        "Sum" | "Max" | "Min" => product(&[typed.given()?, typed.operator.inputs.len().checked_sub(1)? as u64]),
        "Mean" => product(&[typed.given()?, typed.operator.inputs.len() as u64]),
        "Clip" => product(&[typed.given()?, bounds(typed)]),
        "QuantizeLinear" => product(&[typed.given()?, 3 + u64::from(typed.has(2))]),
        "DequantizeLinear" => product(&[typed.given()?, 1 + u64::from(typed.has(2))]),
        "DynamicQuantizeLinear" => product(&[typed.given()?, 2 + 4]),
        "Softmax" | "LogSoftmax" | "QLinearSoftmax" => attention::softmax(&typed.output()?.shape),
        "CumSum" | "CumProd" => typed.given(),
        // A product with the step, and a sum with the start.
        "Range" => product(&[2, typed.given()?]),
        "Gelu" => product(&[typed.given()?, gelu(typed.operator.text("approximate") == Some("tanh"))]),
        "FastGelu" => product(&[typed.given()?, gelu(true) + u64::from(typed.has(1))]),
        "RotaryEmbedding" => product(&[3, rotated(typed)?]),
        "ScatterElements" | "ScatterND" | "Scatter" => match typed.operator.text("reduction").unwrap_or("none") {
            "none" => Some(0),
            _ => typed.taken(2),
        },
        // (x - mean) * factor + offset, with one factor per channel.
        "BatchNormalization" if typed.operator.int("training_mode").unwrap_or(0) == 0 => product(&[2, typed.given()?]),
        "LayerNormalization" => normalised(typed, typed.has(2)),
        "InstanceNormalization" | "GroupNormalization" => normalised(typed, true),
        "RMSNormalization" | "SimplifiedLayerNormalization" => product(&[RMS_NORMALISATION, typed.given()?]),
        "SkipSimplifiedLayerNormalization" => {
            product(&[typed.given()?, 1 + RMS_NORMALISATION + u64::from(typed.has(3))])
        }
        // The sum of two or three rows of tables.
        "EmbedLayerNormalization" => {
            normalised(typed, true)?.checked_add(product(&[typed.given()?, 1 + u64::from(typed.has(4))])?)
        }
        "SkipLayerNormalization" => {
            product(&[typed.given()?, 1 + NORMALISATION + u64::from(typed.has(3)) + u64::from(typed.has(4))])
        }
        "LpNormalization" => product(&[3, typed.given()?]),
        // x / (bias + alpha / size * sum of squares) ^ beta
        "LRN" => {
            let size = u64::try_from(typed.operator.int("size")?).ok()?;
            product(&[typed.given()?, size.checked_mul(2)?.checked_add(3)?])
        }
        "MeanVarianceNormalization" => product(&[NORMALISATION - 1, typed.given()?]),
        "MaxPool" | "AveragePool" | "QLinearAveragePool" => product(&[typed.given()?, window(typed)?]),
        "LpPool" => product(&[2, typed.given()?, window(typed)?]),
        "GlobalMaxPool" | "GlobalAveragePool" | "QLinearGlobalAveragePool" | "QLinearReduceMean" | "Col2Im" => {
            typed.taken(0)
        }
        "GlobalLpPool" => product(&[2, typed.taken(0)?]),
        "Resize" | "Upsample" => interpolation(typed),
        "ArgMax" | "ArgMin" => Some(typed.taken(0)?.saturating_sub(typed.given()?)),
        reduce if reduce.starts_with("Reduce") => reduction(typed, reduce),
        _ => None,
    }
}

/// Returns the operations per element of the output. An arithmetic operation counts as one, as does an elementary
/// function; an activation counts as the sum of the operations in its definition.
pub(super) fn of_each(op_type: &str) -> Option<u64> {
    Some(match op_type {
        "Abs" | "Acos" | "Acosh" | "Add" | "Asin" | "Asinh" | "Atan" | "Atanh" | "BitShift" | "Ceil" | "Cos"
        | "Cosh" | "Div" | "Erf" | "Exp" | "Floor" | "Log" | "Mod" | "Mul" | "Neg" | "Pow" | "Reciprocal" | "Relu"
        | "Round" | "Sin" | "Sinh" | "Sqrt" | "Sub" | "Tan" | "Tanh" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor"
        | "BitwiseNot" | "Shrink" | "QLinearAdd" | "QLinearMul" => 1,
        // A comparison and a product.
        "LeakyRelu" | "PRelu" | "ThresholdedRelu" | "QLinearLeakyRelu" => 2,
        // Exponential and sum, logarithm; x / (1 + |x|); and so on.
        "Softplus" | "Softsign" | "Elu" => 3,
        "Selu" | "Celu" | "HardSigmoid" => 4,
        // 1 / (1 + exp(-x))
        "Sigmoid" | "QLinearSigmoid" => 4,
        "HardSwish" | "Swish" | "QuickGelu" => 5,
        "BiasGelu" => 1 + gelu(false),
        // x * tanh(log(1 + exp(x)))
        "Mish" => 5,
        _ => return None,
    })
}

/// Returns the operations of a GELU per element: those of x / 2 * (1 + erf(x / sqrt(2))), or of x / 2 * (1 +
/// tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
const fn gelu(is_tanh: bool) -> u64 {
    if is_tanh { 8 } else { 5 }
}

/// Returns how many elements a rotary embedding rotates: the first of each head, or all. Each takes two products and a
/// sum.
fn rotated(typed: &Typed<'_>) -> Option<u64> {
    let all = typed.taken(0)?;
    match typed.operator.int("rotary_embedding_dim").unwrap_or(0) {
        0 => Some(all),
        rotated => {
            let head = attention::heads(typed, 0, "num_heads")?.size;
            let rotated = u64::try_from(rotated).ok().filter(|&rotated| rotated <= head)?;
            product(&[all / head.max(1), rotated])
        }
    }
}

/// Returns how many bounds a `Clip` has.
fn bounds(typed: &Typed<'_>) -> u64 {
    let attributes = ["min", "max"].iter().filter(|name| typed.operator.attributes.contains_key(**name)).count();
    (attributes + usize::from(typed.has(1)) + usize::from(typed.has(2))) as u64
}

/// Returns the operations of a normalisation to mean 0 and variance 1: mean, difference, square, sum, division by the
/// root, product with the scale, and the bias.
fn normalised(typed: &Typed<'_>, bias: bool) -> Option<u64> {
    product(&[typed.given()?, NORMALISATION + u64::from(bias)])
}

/// Returns the number of elements of a pooling window.
fn window(typed: &Typed<'_>) -> Option<u64> {
    let sizes = typed.operator.ints("kernel_shape")?.iter().map(|&size| usize::try_from(size).ok());
    elements_of(&sizes.collect::<Option<Vec<_>>>()?)
}

/// Returns the operations of a resize: each element of the output is a weighted sum of its neighbours along the
/// dimensions that change, two per dimension for `linear`, four for `cubic`. With `antialias` there are more, and their
/// number depends on the scale.
fn interpolation(typed: &Typed<'_>) -> Option<u64> {
    match neighbours(typed)? {
        1 => Some(0),
        neighbours => product(&[typed.given()?, neighbours.checked_mul(2)? - 1]),
    }
}

/// Returns how many elements of the input contribute to one element of a resize's output.
pub(super) fn neighbours(typed: &Typed<'_>) -> Option<u64> {
    let is_of_a_region = typed.operator.text("coordinate_transformation_mode") == Some("tf_crop_and_resize");
    let of_each = match typed.operator.text("mode").unwrap_or("nearest") {
        "nearest" => return Some(1),
        _ if is_of_a_region || typed.operator.int("antialias").unwrap_or(0) != 0 => return None,
        "linear" => 2u64,
        "cubic" => 4,
        _ => return None,
    };
    let (taken, given) = (&typed.input(0)?.shape, &typed.output()?.shape);
    if taken.len() != given.len() {
        return None;
    }
    let resized = taken.iter().zip(given).filter(|(taken, given)| taken != given).count();
    of_each.checked_pow(u32::try_from(resized).ok()?)
}

fn reduction(typed: &Typed<'_>, op_type: &str) -> Option<u64> {
    let (taken, given) = (typed.taken(0)?, typed.given()?);
    // n elements need n - 1 operations.
    let folded = taken.saturating_sub(given);
    match op_type {
        "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceProd" => Some(folded),
        "ReduceMean" | "ReduceLogSum" => folded.checked_add(given),
        "ReduceL1" | "ReduceSumSquare" => folded.checked_add(taken),
        "ReduceL2" | "ReduceLogSumExp" => folded.checked_add(taken)?.checked_add(given),
        _ => None,
    }
}
