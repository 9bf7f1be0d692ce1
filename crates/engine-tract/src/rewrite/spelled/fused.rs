//! Several operators of ONNX's in one.

use tract_onnx::pb::AttributeProto;
use tract_onnx::tract_core::internal::{TractResult, bail};

use super::spelling::{Spelling, float, text};

/// Spells out a convolution, what is added to it, and an activation.
pub(super) fn conv(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let attributes = spelling.attributes(&["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"]);
    let inputs = [spelling.input(0)?, spelling.input(1)?, spelling.given(2).unwrap_or_default()];
    let mut value = spelling.add("convolved", "Conv", &inputs, attributes);
    if let Some(added) = spelling.given(3) {
        value = spelling.add("added", "Add", &[&value, added], vec![]);
    }
    let parameters = spelling.attribute("activation_params").map_or(&[][..], |attribute| &attribute.floats);
    activated(spelling, &value, parameters)
}

/// Spells out a matrix product with a bias, and an activation.
pub(super) fn gemm(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let attributes = spelling.attributes(&["alpha", "beta", "transA", "transB"]);
    let inputs = [spelling.input(0)?, spelling.input(1)?, spelling.given(2).unwrap_or_default()];
    let value = spelling.add("product", "Gemm", &inputs, attributes);
    let names = ["activation_alpha", "activation_beta", "activation_gamma"];
    let parameters: Vec<f32> =
        names.iter().map_while(|name| spelling.attribute(name)).map(|attribute| attribute.f).collect();
    activated(spelling, &value, &parameters)
}

fn activated(spelling: &mut Spelling<'_>, value: &str, parameters: &[f32]) -> TractResult<()> {
    let activation = spelling.text("activation");
    let with = |names: &[&str]| -> Vec<AttributeProto> {
        names.iter().zip(parameters).map(|(name, parameter)| float(name, *parameter)).collect()
    };
    match (activation.as_str(), parameters) {
        ("Relu" | "Sigmoid" | "Softplus" | "Softsign" | "Tanh", _) => {
            spelling.give(0, &activation, &[value], vec![]);
        }
        ("Elu" | "LeakyRelu" | "ThresholdedRelu", _) => spelling.give(0, &activation, &[value], with(&["alpha"])),
        ("HardSigmoid", _) => spelling.give(0, &activation, &[value], with(&["alpha", "beta"])),
        ("Clip", &[low, high]) => {
            let (low, high) = (spelling.number("low", low), spelling.number("high", high));
            let raised = spelling.add("raised", "Max", &[value, &low], vec![]);
            spelling.give(0, "Min", &[&raised, &high], vec![]);
        }
        ("", _) => spelling.give(0, "Identity", &[value], vec![]),
        (other, _) => bail!("the engine has no {} with the activation '{other}'", spelling.op_type()),
    }
    Ok(())
}

/// Spells out a matrix product of transposed operands.
pub(super) fn matmul(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_unless("transBatchA", 0)?;
    spelling.refuse_unless("transBatchB", 0)?;
    let mut operands = Vec::new();
    for (slot, name) in ["transA", "transB"].into_iter().enumerate() {
        let operand = spelling.input(slot)?.to_owned();
        operands.push(match spelling.int(name, 0) {
            0 => operand,
            // How many axes there are before the last two is not known here.
            _ => {
                let what = format!("transposed{slot}");
                spelling.add(&what, "Einsum", &[&operand], vec![text("equation", "...ij->...ji")])
            }
        });
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    match spelling.float("alpha", 1.0) {
        1.0 => spelling.give(0, "MatMul", &operands, vec![]),
        alpha => {
            let product = spelling.add("product", "MatMul", &operands, vec![]);
            let alpha = spelling.number("alpha", alpha);
            spelling.give(0, "Mul", &[&product, &alpha], vec![]);
        }
    }
    Ok(())
}

/// Gelu in its forms, two of them with a bias.
pub(super) fn gelu(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let mut x = spelling.input(0)?.to_owned();
    if let Some(bias) = spelling.given(1) {
        x = spelling.add("biased", "Add", &[&x, bias], vec![]);
    }
    match spelling.op_type() {
        "QuickGelu" => {
            let alpha = spelling.float("alpha", 1.702);
            let alpha = spelling.number("alpha", alpha);
            let scaled = spelling.add("scaled", "Mul", &[&x, &alpha], vec![]);
            let gate = spelling.add("gate", "Sigmoid", &[&scaled], vec![]);
            spelling.give(0, "Mul", &[&x, &gate], vec![]);
        }
        "FastGelu" => spelling.give(0, "Gelu", &[&x], vec![text("approximate", "tanh")]),
        _ => spelling.give(0, "Gelu", &[&x], vec![text("approximate", "none")]),
    }
    Ok(())
}
