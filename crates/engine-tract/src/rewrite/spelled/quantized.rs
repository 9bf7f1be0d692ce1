//! Operators that compute with quantized values.

use tract_onnx::tract_core::internal::{TractResult, bail};

use super::spelling::{Spelling, float, int, ints, to_float};

/// Adds a node that dequantizes a value, whose scale and zero point are the next inputs. Returns the name of the result.
fn dequantized(spelling: &mut Spelling<'_>, what: &str, first: usize) -> TractResult<String> {
    let inputs = [spelling.input(first)?, spelling.input(first + 1)?, spelling.given(first + 2).unwrap_or_default()];
    Ok(spelling.add(what, "DequantizeLinear", &inputs, vec![]))
}

/// Gives a value as the operator's output, with the scale and the zero point at the slots.
fn give_quantized(spelling: &mut Spelling<'_>, value: &str, scale: usize) -> TractResult<()> {
    let inputs = [value, spelling.input(scale)?, spelling.given(scale + 1).unwrap_or_default()];
    spelling.give(0, "QuantizeLinear", &inputs, vec![]);
    Ok(())
}

/// Spells out an operator that ONNX has under the same name.
pub(super) fn same(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let inputs = [spelling.input(0)?, spelling.input(1)?, spelling.given(2).unwrap_or_default()];
    let attributes = spelling.attributes(&["axis"]);
    let op_type = spelling.op_type();
    spelling.give(0, op_type, &inputs, attributes);
    Ok(())
}

pub(super) fn add(spelling: &mut Spelling<'_>) -> TractResult<()> {
    of_two(spelling, "Add")
}

pub(super) fn mul(spelling: &mut Spelling<'_>) -> TractResult<()> {
    of_two(spelling, "Mul")
}

fn of_two(spelling: &mut Spelling<'_>, op_type: &str) -> TractResult<()> {
    let a = dequantized(spelling, "a", 0)?;
    let b = dequantized(spelling, "b", 3)?;
    let value = spelling.add("computed", op_type, &[&a, &b], vec![]);
    give_quantized(spelling, &value, 6)
}

pub(super) fn select(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let a = dequantized(spelling, "a", 1)?;
    let b = dequantized(spelling, "b", 4)?;
    let value = spelling.add("computed", "Where", &[spelling.input(0)?, &a, &b], vec![]);
    give_quantized(spelling, &value, 7)
}

pub(super) fn concat(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let mut parts = Vec::new();
    for first in (2..spelling.inputs()).step_by(3) {
        parts.push(dequantized(spelling, &format!("part{}", parts.len()), first)?);
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let axis = spelling.attributes(&["axis"]);
    let value = spelling.add("joined", "Concat", &parts, axis);
    give_quantized(spelling, &value, 0)
}

pub(super) fn leaky_relu(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let alpha = spelling.float("alpha", 0.01);
    of_one(spelling, "LeakyRelu", vec![float("alpha", alpha)])
}

pub(super) fn sigmoid(spelling: &mut Spelling<'_>) -> TractResult<()> {
    of_one(spelling, "Sigmoid", vec![])
}

pub(super) fn average_pool(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_unless("channels_last", 0)?;
    let names = ["auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"];
    let attributes = spelling.attributes(&names);
    of_one(spelling, "AveragePool", attributes)
}

pub(super) fn global_average_pool(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_unless("channels_last", 0)?;
    of_one(spelling, "GlobalAveragePool", vec![])
}

fn of_one(
    spelling: &mut Spelling<'_>,
    op_type: &str,
    attributes: Vec<tract_onnx::pb::AttributeProto>,
) -> TractResult<()> {
    let x = dequantized(spelling, "dequantized", 0)?;
    let value = spelling.add("computed", op_type, &[&x], attributes);
    give_quantized(spelling, &value, 3)
}

/// Since version 13 over one axis; before, over `axis` and all axes behind it. The attribute `opset` is the version.
pub(super) fn softmax(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let axis = spelling.int("axis", -1);
    if spelling.int("opset", 13) < 13 && axis != -1 {
        bail!("the engine has no QLinearSoftmax over several axes");
    }
    let x = dequantized(spelling, "dequantized", 0)?;
    let value = match spelling.opset < 13 && axis != -1 {
        true => bail!("the engine has no QLinearSoftmax with the axis {axis} in a file of opset {}", spelling.opset),
        false => spelling.add("computed", "Softmax", &[&x], vec![int("axis", axis)]),
    };
    give_quantized(spelling, &value, 3)
}

/// Quantizes `a` by its own range, then multiplies.
pub(super) fn dynamic_matmul(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let a = spelling.add_all("quantized", "DynamicQuantizeLinear", &[spelling.input(0)?], vec![], 3);
    let (b, zero) = (spelling.input(1)?, spelling.given(3).unwrap_or_default());
    let product = spelling.add("product", "MatMulInteger", &[&a[0], b, &a[2], zero], vec![]);
    let bias = spelling.given(4);
    give_scaled(spelling, &product, &a[1], spelling.input(2)?, bias)
}

pub(super) fn matmul_to_float(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let (a, b) = (spelling.input(0)?, spelling.input(1)?);
    let (a_zero, b_zero) = (spelling.given(4).unwrap_or_default(), spelling.given(5).unwrap_or_default());
    let product = spelling.add("product", "MatMulInteger", &[a, b, a_zero, b_zero], vec![]);
    let bias = spelling.given(6);
    give_scaled(spelling, &product, spelling.input(2)?, spelling.input(3)?, bias)
}

/// Gives an integer product times both scales, and a bias.
fn give_scaled(spelling: &mut Spelling<'_>, product: &str, a: &str, b: &str, bias: Option<&str>) -> TractResult<()> {
    match bias {
        Some(bias) => {
            let value = scaled(spelling, product, a, b);
            spelling.give(0, "Add", &[&value, bias], vec![]);
        }
        None => {
            let float = spelling.add("as_float", "Cast", &[product], to_float());
            let scale = spelling.add("scale", "Mul", &[a, b], vec![]);
            spelling.give(0, "Mul", &[&float, &scale], vec![]);
        }
    }
    Ok(())
}

/// Multiplies an integer product by both scales. Returns the name of the result.
pub(super) fn scaled(spelling: &mut Spelling<'_>, product: &str, a: &str, b: &str) -> String {
    let float = spelling.add("as_float", "Cast", &[product], to_float());
    let scale = spelling.add("scale", "Mul", &[a, b], vec![]);
    spelling.add("scaled", "Mul", &[&float, &scale], vec![])
}

/// Spells out a matrix product with a bias of integers, which has the product's scale.
pub(super) fn gemm(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let mut operands = Vec::new();
    for (slot, name) in [(0, "transA"), (3, "transB")] {
        let operand = spelling.input(slot)?.to_owned();
        operands.push(match spelling.int(name, 0) {
            0 => operand,
            _ => spelling.add(&format!("transposed{slot}"), "Transpose", &[&operand], vec![ints("perm", &[1, 0])]),
        });
    }
    let (a_zero, b_zero) = (spelling.given(2).unwrap_or_default(), spelling.given(5).unwrap_or_default());
    let mut sum = spelling.add("product", "MatMulInteger", &[&operands[0], &operands[1], a_zero, b_zero], vec![]);
    if let Some(bias) = spelling.given(6) {
        sum = spelling.add("biased", "Add", &[&sum, bias], vec![]);
    }
    let mut value = scaled(spelling, &sum, spelling.input(1)?, spelling.input(4)?);
    let alpha = spelling.float("alpha", 1.0);
    if alpha != 1.0 {
        let alpha = spelling.number("alpha", alpha);
        value = spelling.add("times_alpha", "Mul", &[&value, &alpha], vec![]);
    }
    if spelling.given(7).is_some() {
        return give_quantized(spelling, &value, 7);
    }
    spelling.give(0, "Identity", &[&value], vec![]);
    Ok(())
}
