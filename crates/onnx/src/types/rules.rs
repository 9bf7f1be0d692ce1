use opscope_tensor::DType;

use super::operator_inputs::{OperatorInputs, Outputs, broadcast, one};
use super::{layout, windows};
use crate::einsum::Equation;
use crate::{Attribute, Operator, TensorInfo};

/// Returns the types of the outputs of an operator, or `None` if they do not follow from these inputs.
pub(super) fn outputs<'c>(
    operator: &Operator,
    inputs: &[Option<TensorInfo>],
    contents: impl Fn(usize) -> Option<&'c [i64]>,
) -> Outputs {
    let given = OperatorInputs { operator, inputs, contents };
    match operator.domain.as_str() {
        "" | "ai.onnx" => {}
        // Operators with the names of ONNX's have the same meaning, and a few have outputs of the same shape as their
        // input.
        "com.microsoft" => match operator.op_type.as_str() {
            "FastGelu" | "QuickGelu" | "BiasGelu" | "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => {
                return one(given.input(0)?.clone());
            }
            "Gelu" | "FusedMatMul" | "MatMulInteger" | "QuantizeLinear" | "DequantizeLinear" => {}
            _ => return None,
        },
        _ => return None,
    }
    match operator.op_type.as_str() {
        "Abs"
        | "Acos"
        | "Acosh"
        | "Asin"
        | "Asinh"
        | "Atan"
        | "Atanh"
        | "BatchNormalization"
        | "BitwiseNot"
        | "Ceil"
        | "Celu"
        | "Clip"
        | "Cos"
        | "Cosh"
        | "CumSum"
        | "Dropout"
        | "Elu"
        | "Erf"
        | "Exp"
        | "Floor"
        | "Gelu"
        | "GroupNormalization"
        | "HardSigmoid"
        | "HardSwish"
        | "Hardmax"
        | "Identity"
        | "InstanceNormalization"
        | "LRN"
        | "LayerNormalization"
        | "LeakyRelu"
        | "Log"
        | "LogSoftmax"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "Mish"
        | "Neg"
        | "Not"
        | "RMSNormalization"
        | "Reciprocal"
        | "Relu"
        | "Round"
        | "Scatter"
        | "ScatterElements"
        | "ScatterND"
        | "Selu"
        | "Shrink"
        | "Sigmoid"
        | "Sign"
        | "Sin"
        | "Sinh"
        | "Softmax"
        | "Softplus"
        | "Softsign"
        | "Sqrt"
        | "Swish"
        | "Tan"
        | "Tanh"
        | "ThresholdedRelu"
        | "Trilu"
        | "RotaryEmbedding" => one(given.input(0)?.clone()),
        "IsInf" | "IsNaN" => one(given.shaped(DType::Bool, given.input(0)?.shape.clone())),
        "Cast" => {
            let dtype = DType::from_onnx(i32::try_from(operator.int("to")?).ok()?)?;
            one(given.shaped(dtype, given.input(0)?.shape.clone()))
        }
        "CastLike" => one(TensorInfo { dtype: given.input(1)?.dtype, shape: given.input(0)?.shape.clone() }),
        "QuantizeLinear" => {
            let zero_point = inputs.get(2).and_then(|point| point.as_ref()?.dtype);
            let stated = operator.int("output_dtype").and_then(|code| DType::from_onnx(i32::try_from(code).ok()?));
            one(given.shaped(zero_point.or(stated).unwrap_or(DType::U8), given.input(0)?.shape.clone()))
        }
        "DequantizeLinear" => one(TensorInfo { dtype: given.input(1)?.dtype, shape: given.input(0)?.shape.clone() }),
        "DynamicQuantizeLinear" => {
            let scalar = |dtype| Some(given.shaped(dtype, Vec::new()));
            let whole = given.shaped(DType::U8, given.input(0)?.shape.clone());
            Some(vec![Some(whole), scalar(DType::F32), scalar(DType::U8)])
        }
        "Add" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Div" | "Max" | "Mean" | "Min" | "Mod"
        | "Mul" | "PRelu" | "Pow" | "Sub" | "Sum" => {
            one(TensorInfo { dtype: given.input(0)?.dtype, shape: given.broadcast()? })
        }
        "And" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Or" | "Xor" => {
            one(given.shaped(DType::Bool, given.broadcast()?))
        }
        "Where" => one(TensorInfo { dtype: given.input(1)?.dtype, shape: given.broadcast()? }),
        "MatMul" | "MatMulInteger" | "QLinearMatMul" | "FusedMatMul" => matmul(&given),
        "Gemm" => gemm(&given),
        "Einsum" => {
            let shapes =
                inputs.iter().map(|input| Some(input.as_ref()?.shape.as_slice())).collect::<Option<Vec<_>>>()?;
            let shape = Equation::parse(operator.text("equation")?)?.sizes(&shapes)?.output;
            one(TensorInfo { dtype: given.input(0)?.dtype, shape })
        }
        "LSTM" | "GRU" | "RNN" => recurrent(&given),
        "Constant" => match operator.attributes.values().next()? {
            Attribute::Tensor(info) => one(info.clone()),
            Attribute::Int(_) => one(given.shaped(DType::I64, Vec::new())),
            Attribute::Float(_) => one(given.shaped(DType::F32, Vec::new())),
            Attribute::Ints(numbers) => one(given.shaped(DType::I64, vec![numbers.len()])),
            Attribute::Floats(numbers) => one(given.shaped(DType::F32, vec![numbers.len()])),
            _ => None,
        },
        _ => windows::outputs(&given).or_else(|| layout::outputs(&given)),
    }
}

fn matmul<'c>(given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>) -> Outputs {
    let quantized = given.operator.op_type == "QLinearMatMul";
    let (mut a, mut b) = (given.input(0)?.shape.clone(), given.input(if quantized { 3 } else { 1 })?.shape.clone());
    for (name, shape) in [("transA", &mut a), ("transB", &mut b)] {
        if given.operator.int(name) == Some(1) {
            let rank = shape.len();
            shape.swap(rank.checked_sub(2)?, rank - 1);
        }
    }
    let (is_row, is_column) = (a.len() == 1, b.len() == 1);
    if is_row {
        a.insert(0, 1);
    }
    if is_column {
        b.push(1);
    }
    let (rows, columns) = (a.split_off(a.len().checked_sub(2)?), b.split_off(b.len().checked_sub(2)?));
    if rows[1] != columns[0] {
        return None;
    }
    let mut shape = broadcast(&a, &b)?;
    shape.extend((!is_row).then_some(rows[0]).into_iter().chain((!is_column).then_some(columns[1])));
    let dtype = match given.operator.op_type.as_str() {
        "MatMulInteger" => Some(DType::I32),
        "QLinearMatMul" => given.input(7).and_then(|point| point.dtype),
        _ => given.input(0)?.dtype,
    };
    one(TensorInfo { dtype, shape })
}

fn gemm<'c>(given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>) -> Outputs {
    let (a, b) = (given.input(0)?, given.input(1)?);
    let side = |info: &TensorInfo, flag: &str, side: usize| {
        let side = if given.operator.int(flag).unwrap_or(0) == 0 { side } else { 1 - side };
        info.shape.get(side).copied()
    };
    one(TensorInfo { dtype: a.dtype, shape: vec![side(a, "transA", 0)?, side(b, "transB", 1)?] })
}

fn recurrent<'c>(given: &OperatorInputs<'_, impl Fn(usize) -> Option<&'c [i64]>>) -> Outputs {
    let (x, r) = (given.input(0)?, given.input(2)?);
    let (&[a, b, _], &[directions, _, hidden]) = (&x.shape[..], &r.shape[..]) else { return None };
    let batch_first = given.operator.int("layout") == Some(1);
    let (steps, batch) = if batch_first { (b, a) } else { (a, b) };
    let info = |shape: Vec<usize>| Some(TensorInfo { dtype: x.dtype, shape });
    let (all, last) = match batch_first {
        true => (vec![batch, steps, directions, hidden], vec![batch, directions, hidden]),
        false => (vec![steps, directions, batch, hidden], vec![directions, batch, hidden]),
    };
    Some(vec![info(all), info(last.clone()), info(last)])
}
