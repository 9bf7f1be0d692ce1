//! Operators that fuse several of ONNX's operators.

use tract_onnx::pb::AttributeProto;
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::decomposition::{Decomposition, float, text};

/// Decomposes a convolution, a summand, and an activation.
pub(super) fn conv(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let attributes = decomposition.attributes(&["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"]);
    let inputs = [decomposition.input(0)?, decomposition.input(1)?, decomposition.given(2).unwrap_or_default()];
    let mut value = decomposition.add("convolved", "Conv", &inputs, attributes);
    if let Some(added) = decomposition.given(3) {
        value = decomposition.add("added", "Add", &[&value, added], vec![]);
    }
    let parameters = decomposition.attribute("activation_params").map_or(&[][..], |attribute| &attribute.floats);
    activated(decomposition, &value, parameters)
}

/// Decomposes a matrix product with a bias, and an activation.
pub(super) fn gemm(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let attributes = decomposition.attributes(&["alpha", "beta", "transA", "transB"]);
    let inputs = [decomposition.input(0)?, decomposition.input(1)?, decomposition.given(2).unwrap_or_default()];
    let value = decomposition.add("product", "Gemm", &inputs, attributes);
    let names = ["activation_alpha", "activation_beta", "activation_gamma"];
    let parameters: Vec<f32> =
        names.iter().map_while(|name| decomposition.attribute(name)).map(|attribute| attribute.f).collect();
    activated(decomposition, &value, &parameters)
}

fn activated(decomposition: &mut Decomposition<'_>, value: &str, parameters: &[f32]) -> TractResult<()> {
    let activation = decomposition.text("activation");
    let with = |names: &[&str]| -> Vec<AttributeProto> {
        names.iter().zip(parameters).map(|(name, parameter)| float(name, *parameter)).collect()
    };
    match (activation.as_str(), parameters) {
        ("Relu" | "Sigmoid" | "Softplus" | "Softsign" | "Tanh", _) => {
            decomposition.give(0, &activation, &[value], vec![]);
        }
        ("Elu" | "LeakyRelu" | "ThresholdedRelu", _) => decomposition.give(0, &activation, &[value], with(&["alpha"])),
        ("HardSigmoid", _) => decomposition.give(0, &activation, &[value], with(&["alpha", "beta"])),
        ("Clip", &[low, high]) => {
            let (low, high) = (decomposition.number("low", low), decomposition.number("high", high));
            let raised = decomposition.add("raised", "Max", &[value, &low], vec![]);
            decomposition.give(0, "Min", &[&raised, &high], vec![]);
        }
        ("", _) => decomposition.give(0, "Identity", &[value], vec![]),
        (other, _) => bail!("the engine has no {} with the activation '{other}'", decomposition.op_type()),
    }
    Ok(())
}

/// Decomposes a matrix product of transposed operands.
pub(super) fn matmul(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_unless("transBatchA", 0)?;
    decomposition.refuse_unless("transBatchB", 0)?;
    let mut operands = Vec::new();
    for (slot, name) in ["transA", "transB"].into_iter().enumerate() {
        let operand = decomposition.input(slot)?.to_owned();
        operands.push(match decomposition.int(name, 0) {
            0 => operand,
            // The number of axes before the last two is unknown here.
            _ => {
                let what = format!("transposed{slot}");
                decomposition.add(&what, "Einsum", &[&operand], vec![text("equation", "...ij->...ji")])
            }
        });
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    match decomposition.float("alpha", 1.0) {
        1.0 => decomposition.give(0, "MatMul", &operands, vec![]),
        alpha => {
            let product = decomposition.add("product", "MatMul", &operands, vec![]);
            let alpha = decomposition.number("alpha", alpha);
            decomposition.give(0, "Mul", &[&product, &alpha], vec![]);
        }
    }
    Ok(())
}

/// Gelu in its variants, two of them with a bias.
pub(super) fn gelu(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let mut x = decomposition.input(0)?.to_owned();
    if let Some(bias) = decomposition.given(1) {
        x = decomposition.add("biased", "Add", &[&x, bias], vec![]);
    }
    match decomposition.op_type() {
        "QuickGelu" => {
            let alpha = decomposition.float("alpha", 1.702);
            let alpha = decomposition.number("alpha", alpha);
            let scaled = decomposition.add("scaled", "Mul", &[&x, &alpha], vec![]);
            let gate = decomposition.add("gate", "Sigmoid", &[&scaled], vec![]);
            decomposition.give(0, "Mul", &[&x, &gate], vec![]);
        }
        "FastGelu" => decomposition.give(0, "Gelu", &[&x], vec![text("approximate", "tanh")]),
        _ => decomposition.give(0, "Gelu", &[&x], vec![text("approximate", "none")]),
    }
    Ok(())
}
