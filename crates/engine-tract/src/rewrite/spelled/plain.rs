//! Operators of ONNX's own that the engine has in other forms.

use tract_onnx::pb::{NodeProto, TensorProto};
use tract_onnx::tract_core::internal::TractResult;

use super::Speller;
use super::spelling::{Spelling, int, whole_numbers};

pub(super) fn speller(node: &NodeProto) -> Option<Speller> {
    let is_given = |slot: usize| node.input.get(slot).is_some_and(|name| !name.is_empty());
    Some(match node.op_type.as_str() {
        "LpPool" => pool,
        "TopK" if !is_given(1) => largest,
        _ => return None,
    })
}

/// Spells out a norm over windows: the root of the mean of the powers, times their number.
fn pool(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_unless("ceil_mode", 0)?;
    let p = spelling.int("p", 2) as f32;
    let kernel = spelling.attribute("kernel_shape").map_or(1, |attribute| attribute.ints.iter().product());
    let magnitudes = spelling.add("magnitudes", "Abs", &[spelling.input(0)?], vec![]);
    let exponent = spelling.number("p", p);
    let powers = spelling.add("powers", "Pow", &[&magnitudes, &exponent], vec![]);
    let mut attributes = spelling.attributes(&["auto_pad", "dilations", "kernel_shape", "pads", "strides"]);
    attributes.push(int("count_include_pad", 1));
    let means = spelling.add("means", "AveragePool", &[&powers], attributes);
    let count = spelling.number("count", kernel as f32);
    let sums = spelling.add("sums", "Mul", &[&means, &count], vec![]);
    let root = spelling.number("root", p.recip());
    spelling.give(0, "Pow", &[&sums, &root], vec![]);
    Ok(())
}

/// Before opset 10 the number of elements is an attribute.
fn largest(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let count: TensorProto = whole_numbers(&[spelling.int("k", 1)]);
    let count = spelling.constant("k", count);
    let attributes = spelling.attributes(&["axis"]);
    spelling.give_all("TopK", &[spelling.input(0)?, &count], attributes);
    Ok(())
}
