//! Matrix products and convolutions.

use super::{Typed, elements, elements_of, product};
use crate::einsum::Equation;

pub(super) fn flops(typed: &Typed<'_>) -> Option<u64> {
    match typed.operator.op_type.as_str() {
        "Conv" => convolution(typed, 1, typed.has(2)),
        "ConvInteger" => convolution(typed, 1, false),
        "QLinearConv" => convolution(typed, 3, typed.has(8)),
        "FusedConv" => with_activation(typed, convolution(typed, 1, typed.has(2))?.checked_add(once(typed, 3)?)?),
        "ConvTranspose" => transposed_convolution(typed),
        "MatMul" | "MatMulInteger" | "QLinearMatMul" | "FusedMatMul" | "TransposeMatMul" => product_of(typed),
        "DynamicQuantizeMatMul" => product_of(typed)?.checked_add(once(typed, 4)?),
        "MatMulIntegerToFloat" => product_of(typed)?.checked_add(once(typed, 6)?),
        "MatMulNBits" => {
            let depth = u64::try_from(typed.operator.int("K")?).ok()?;
            product(&[2, typed.given()?, depth])?.checked_add(once(typed, 5)?)
        }
        // C is added once to every element; every engine folds alpha and beta into the operands.
        "Gemm" => gemm(typed)?.checked_add(once(typed, 2)?),
        "FusedGemm" => with_activation(typed, gemm(typed)?.checked_add(once(typed, 2)?)?),
        "QGemm" => gemm(typed)?.checked_add(once(typed, 6)?),
        "Einsum" => einsum(typed),
        _ => None,
    }
}

/// Returns one operation per element of the output if an optional input that is added to it exists.
fn once(typed: &Typed<'_>, slot: usize) -> Option<u64> {
    if typed.has(slot) { typed.given() } else { Some(0) }
}

/// Adds the operations of the activation that the operator applies to its output.
fn with_activation(typed: &Typed<'_>, flops: u64) -> Option<u64> {
    let of_each = match typed.operator.text("activation") {
        None | Some("") => 0,
        Some("Clip") => 2,
        Some(activation) => elements::of_each(activation)?,
    };
    flops.checked_add(product(&[of_each, typed.given()?])?)
}

fn gemm(typed: &Typed<'_>) -> Option<u64> {
    let depth = *typed.input(0)?.shape.get(usize::from(typed.operator.int("transA").unwrap_or(0) == 0))?;
    product(&[2, typed.given()?, depth as u64])
}

/// Returns the operations of a convolution: every element of the output is a sum over the window and the channels of
/// its group.
fn convolution(typed: &Typed<'_>, weights: usize, bias: bool) -> Option<u64> {
    let window = elements_of(typed.input(weights)?.shape.get(1..)?)?;
    let given = typed.given()?;
    product(&[2, given, window])?.checked_add(if bias { given } else { 0 })
}

/// Returns the operations of a transposed convolution: every element of the input is multiplied with the weights of its
/// channel and added to the output.
fn transposed_convolution(typed: &Typed<'_>) -> Option<u64> {
    let window = elements_of(typed.input(1)?.shape.get(1..)?)?;
    product(&[2, typed.taken(0)?, window])?.checked_add(if typed.has(2) { typed.given()? } else { 0 })
}

/// Returns the operations of a matrix product: every element of the output is a sum over the inner dimension.
fn product_of(typed: &Typed<'_>) -> Option<u64> {
    let shape = &typed.input(0)?.shape;
    let is_transposed = typed.operator.int("transA") == Some(1);
    let depth = if is_transposed { shape.get(shape.len().checked_sub(2)?)? } else { shape.last()? };
    product(&[2, typed.given()?, *depth as u64])
}

/// Returns the operations of an `Einsum`. One operand needs a sum. Two need a product for every combination of labels,
/// and a sum over the labels that the output lacks. The cost of more operands depends on the order that the engine
/// chooses.
fn einsum(typed: &Typed<'_>) -> Option<u64> {
    let shapes = typed.inputs.iter().map(|input| Some((*input)?.shape.as_slice())).collect::<Option<Vec<_>>>()?;
    let all = Equation::parse(typed.operator.text("equation")?)?.sizes(&shapes)?.all?;
    let given = typed.given()?;
    match shapes.len() {
        1 => Some(typed.taken(0)?.saturating_sub(given)),
        2 if all == given => Some(all),
        2 => all.checked_mul(2),
        _ => None,
    }
}
