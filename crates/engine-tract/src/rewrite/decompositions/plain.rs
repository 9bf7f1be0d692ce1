//! ONNX's own operators that the engine has in another form.

use tract_onnx::pb::{NodeProto, TensorProto};
use tract_onnx::tract_core::internal::TractResult;

use super::Decomposer;
use super::decomposition::{Decomposition, int, whole_numbers};

pub(super) fn decomposer(node: &NodeProto) -> Option<Decomposer> {
    let is_given = |slot: usize| node.input.get(slot).is_some_and(|name| !name.is_empty());
    Some(match node.op_type.as_str() {
        "LpPool" => pool,
        "TopK" if !is_given(1) => largest,
        _ => return None,
    })
}

/// Decomposes a norm over windows: the root of the mean of the powers times their number.
fn pool(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_unless("ceil_mode", 0)?;
    let p = decomposition.int("p", 2) as f32;
    let kernel = decomposition.attribute("kernel_shape").map_or(1, |attribute| attribute.ints.iter().product());
    let magnitudes = decomposition.add("magnitudes", "Abs", &[decomposition.input(0)?], vec![]);
    let exponent = decomposition.number("p", p);
    let powers = decomposition.add("powers", "Pow", &[&magnitudes, &exponent], vec![]);
    let mut attributes = decomposition.attributes(&["auto_pad", "dilations", "kernel_shape", "pads", "strides"]);
    attributes.push(int("count_include_pad", 1));
    let means = decomposition.add("means", "AveragePool", &[&powers], attributes);
    let count = decomposition.number("count", kernel as f32);
    let sums = decomposition.add("sums", "Mul", &[&means, &count], vec![]);
    let root = decomposition.number("root", p.recip());
    decomposition.give(0, "Pow", &[&sums, &root], vec![]);
    Ok(())
}

/// Before opset 10 the number of elements is an attribute.
fn largest(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let count: TensorProto = whole_numbers(&[decomposition.int("k", 1)]);
    let count = decomposition.constant("k", count);
    let attributes = decomposition.attributes(&["axis"]);
    decomposition.give_all("TopK", &[decomposition.input(0)?, &count], attributes);
    Ok(())
}
