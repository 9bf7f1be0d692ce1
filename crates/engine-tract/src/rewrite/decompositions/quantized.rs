//! Operators that compute with quantized values.

use tract_onnx::tract_core::internal::{TractResult, bail};

use super::decomposition::{Decomposition, float, int, ints, to_float};

/// Adds a node that dequantizes a value, whose scale and zero point are the next inputs. Returns the name of the
/// result.
fn dequantized(decomposition: &mut Decomposition<'_>, what: &str, first: usize) -> TractResult<String> {
    let inputs = [
        decomposition.input(first)?,
        decomposition.input(first + 1)?,
        decomposition.given(first + 2).unwrap_or_default(),
    ];
    Ok(decomposition.add(what, "DequantizeLinear", &inputs, vec![]))
}

/// Makes a value the operator's output, with the scale and the zero point in these slots.
fn give_quantized(decomposition: &mut Decomposition<'_>, value: &str, scale: usize) -> TractResult<()> {
    let inputs = [value, decomposition.input(scale)?, decomposition.given(scale + 1).unwrap_or_default()];
    decomposition.give(0, "QuantizeLinear", &inputs, vec![]);
    Ok(())
}

/// Decomposes an operator that ONNX has under the same name.
pub(super) fn same(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let inputs = [decomposition.input(0)?, decomposition.input(1)?, decomposition.given(2).unwrap_or_default()];
    let attributes = decomposition.attributes(&["axis"]);
    let op_type = decomposition.op_type();
    decomposition.give(0, op_type, &inputs, attributes);
    Ok(())
}

pub(super) fn add(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    of_two(decomposition, "Add")
}

pub(super) fn mul(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    of_two(decomposition, "Mul")
}

fn of_two(decomposition: &mut Decomposition<'_>, op_type: &str) -> TractResult<()> {
    let a = dequantized(decomposition, "a", 0)?;
    let b = dequantized(decomposition, "b", 3)?;
    let value = decomposition.add("computed", op_type, &[&a, &b], vec![]);
    give_quantized(decomposition, &value, 6)
}

pub(super) fn select(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let a = dequantized(decomposition, "a", 1)?;
    let b = dequantized(decomposition, "b", 4)?;
    let value = decomposition.add("computed", "Where", &[decomposition.input(0)?, &a, &b], vec![]);
    give_quantized(decomposition, &value, 7)
}

pub(super) fn concat(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let mut parts = Vec::new();
    for first in (2..decomposition.inputs()).step_by(3) {
        parts.push(dequantized(decomposition, &format!("part{}", parts.len()), first)?);
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let axis = decomposition.attributes(&["axis"]);
    let value = decomposition.add("joined", "Concat", &parts, axis);
    give_quantized(decomposition, &value, 0)
}

pub(super) fn leaky_relu(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let alpha = decomposition.float("alpha", 0.01);
    of_one(decomposition, "LeakyRelu", vec![float("alpha", alpha)])
}

pub(super) fn sigmoid(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    of_one(decomposition, "Sigmoid", vec![])
}

pub(super) fn average_pool(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_unless("channels_last", 0)?;
    let names = ["auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"];
    let attributes = decomposition.attributes(&names);
    of_one(decomposition, "AveragePool", attributes)
}

pub(super) fn global_average_pool(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_unless("channels_last", 0)?;
    of_one(decomposition, "GlobalAveragePool", vec![])
}

fn of_one(
    decomposition: &mut Decomposition<'_>,
    op_type: &str,
    attributes: Vec<tract_onnx::pb::AttributeProto>,
) -> TractResult<()> {
    let x = dequantized(decomposition, "dequantized", 0)?;
    let value = decomposition.add("computed", op_type, &[&x], attributes);
    give_quantized(decomposition, &value, 3)
}

/// Decomposes a softmax. Since version 13 it is over one axis, and before over `axis` and all axes after it. The
/// attribute `opset` is the version.
pub(super) fn softmax(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let axis = decomposition.int("axis", -1);
    if decomposition.int("opset", 13) < 13 && axis != -1 {
        bail!("the engine has no QLinearSoftmax over several axes");
    }
    let x = dequantized(decomposition, "dequantized", 0)?;
    let value = match decomposition.opset < 13 && axis != -1 {
        true => {
            bail!("the engine has no QLinearSoftmax with the axis {axis} in a file of opset {}", decomposition.opset)
        }
        false => decomposition.add("computed", "Softmax", &[&x], vec![int("axis", axis)]),
    };
    give_quantized(decomposition, &value, 3)
}

/// Quantizes `a` by its own range, then multiplies.
pub(super) fn dynamic_matmul(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let a = decomposition.add_all("quantized", "DynamicQuantizeLinear", &[decomposition.input(0)?], vec![], 3);
    let (b, zero) = (decomposition.input(1)?, decomposition.given(3).unwrap_or_default());
    let product = decomposition.add("product", "MatMulInteger", &[&a[0], b, &a[2], zero], vec![]);
    let bias = decomposition.given(4);
    give_scaled(decomposition, &product, &a[1], decomposition.input(2)?, bias)
}

pub(super) fn matmul_to_float(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let (a, b) = (decomposition.input(0)?, decomposition.input(1)?);
    let (a_zero, b_zero) = (decomposition.given(4).unwrap_or_default(), decomposition.given(5).unwrap_or_default());
    let product = decomposition.add("product", "MatMulInteger", &[a, b, a_zero, b_zero], vec![]);
    let bias = decomposition.given(6);
    give_scaled(decomposition, &product, decomposition.input(2)?, decomposition.input(3)?, bias)
}

/// Makes an integer product the output, times both scales and plus a bias.
fn give_scaled(
    decomposition: &mut Decomposition<'_>,
    product: &str,
    a: &str,
    b: &str,
    bias: Option<&str>,
) -> TractResult<()> {
    match bias {
        Some(bias) => {
            let value = scaled(decomposition, product, a, b);
            decomposition.give(0, "Add", &[&value, bias], vec![]);
        }
        None => {
            let float = decomposition.add("as_float", "Cast", &[product], to_float());
            let scale = decomposition.add("scale", "Mul", &[a, b], vec![]);
            decomposition.give(0, "Mul", &[&float, &scale], vec![]);
        }
    }
    Ok(())
}

/// Multiplies an integer product by both scales. Returns the name of the result.
pub(super) fn scaled(decomposition: &mut Decomposition<'_>, product: &str, a: &str, b: &str) -> String {
    let float = decomposition.add("as_float", "Cast", &[product], to_float());
    let scale = decomposition.add("scale", "Mul", &[a, b], vec![]);
    decomposition.add("scaled", "Mul", &[&float, &scale], vec![])
}

/// Decomposes a matrix product with an integer bias, which has the product's scale.
pub(super) fn gemm(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let mut operands = Vec::new();
    for (slot, name) in [(0, "transA"), (3, "transB")] {
        let operand = decomposition.input(slot)?.to_owned();
        operands.push(match decomposition.int(name, 0) {
            0 => operand,
            _ => decomposition.add(&format!("transposed{slot}"), "Transpose", &[&operand], vec![ints("perm", &[1, 0])]),
        });
    }
    let (a_zero, b_zero) = (decomposition.given(2).unwrap_or_default(), decomposition.given(5).unwrap_or_default());
    let mut sum = decomposition.add("product", "MatMulInteger", &[&operands[0], &operands[1], a_zero, b_zero], vec![]);
    if let Some(bias) = decomposition.given(6) {
        sum = decomposition.add("biased", "Add", &[&sum, bias], vec![]);
    }
    let mut value = scaled(decomposition, &sum, decomposition.input(1)?, decomposition.input(4)?);
    let alpha = decomposition.float("alpha", 1.0);
    if alpha != 1.0 {
        let alpha = decomposition.number("alpha", alpha);
        value = decomposition.add("times_alpha", "Mul", &[&value, &alpha], vec![]);
    }
    if decomposition.given(7).is_some() {
        return give_quantized(decomposition, &value, 7);
    }
    decomposition.give(0, "Identity", &[&value], vec![]);
    Ok(())
}
