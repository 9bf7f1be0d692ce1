//! Layer normalisation of sums and of embeddings.

use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::tract_core::internal::TractResult;

use super::decomposition::{Decomposition, float, int, ints, whole_numbers};

/// The number that ONNX Runtime adds to the variance if the file has none.
const EPSILON: f32 = 1e-12;

/// Decomposes the sum of an input, a value from some layers before and a bias, normalised over the last axis.
pub(super) fn skip(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    decomposition.refuse_outputs(&[1, 2])?;
    let is_simple = decomposition.op_type() == "SkipSimplifiedLayerNormalization";
    let mut sum = decomposition.add("sum", "Add", &[decomposition.input(0)?, decomposition.input(1)?], vec![]);
    if let Some(bias) = decomposition.given(if is_simple { 3 } else { 4 }) {
        sum = decomposition.add("biased", "Add", &[&sum, bias], vec![]);
    }
    let attributes = vec![int("axis", -1), float("epsilon", decomposition.float("epsilon", EPSILON))];
    let gamma = decomposition.input(2)?;
    if is_simple {
        decomposition.give(0, "RMSNormalization", &[&sum, gamma], attributes);
    } else {
        let beta = decomposition.given(3).unwrap_or_default();
        decomposition.give(0, "LayerNormalization", &[&sum, gamma, beta], attributes);
    }
    decomposition.give(3, "Identity", &[&sum], vec![]);
    Ok(())
}

/// Decomposes the embeddings of words, positions and segments: their normalised sum, the length of each row, and the
/// sum.
pub(super) fn embedding(decomposition: &mut Decomposition<'_>) -> TractResult<()> {
    let ids = decomposition.input(0)?;
    let words = decomposition.add("words", "Gather", &[decomposition.input(2)?, ids], vec![]);
    let places = match decomposition.given(8) {
        Some(positions) => decomposition.add("places", "Gather", &[decomposition.input(3)?, positions], vec![]),
        None => {
            let shape = decomposition.add("shape", "Shape", &[ids], vec![]);
            let zero = decomposition.constant("zero", whole_numbers(&[0]));
            let one = decomposition.constant("one", whole_numbers(&[1]));
            let length = decomposition.add("length", "Gather", &[&shape, &one], vec![]);
            decomposition.add("places", "Slice", &[decomposition.input(3)?, &zero, &length, &zero], vec![])
        }
    };
    let mut sum = decomposition.add("sum", "Add", &[&words, &places], vec![]);
    if let Some(segments) = decomposition.given(1) {
        let segments = decomposition.add("segments", "Gather", &[decomposition.input(4)?, segments], vec![]);
        sum = decomposition.add("sum_of_all", "Add", &[&sum, &segments], vec![]);
    }
    let attributes = vec![int("axis", -1), float("epsilon", decomposition.float("epsilon", EPSILON))];
    decomposition.give(0, "LayerNormalization", &[&sum, decomposition.input(5)?, decomposition.input(6)?], attributes);
    if decomposition.has_output(1) {
        lengths(decomposition, ids);
    }
    decomposition.give(2, "Identity", &[&sum], vec![]);
    Ok(())
}

/// Adds the output with the number of tokens that the mask leaves in each row; nothing without a mask.
fn lengths(decomposition: &mut Decomposition<'_>, ids: &str) {
    let counted = match decomposition.given(7) {
        Some(mask) => mask.to_owned(),
        None => decomposition.add("nothing", "Sub", &[ids, ids], vec![]),
    };
    let to = vec![int("to", DataType::Int32 as i64)];
    let counted = decomposition.add("counted", "Cast", &[&counted], to);
    match decomposition.opset < 13 {
        true => decomposition.give(1, "ReduceSum", &[&counted], vec![ints("axes", &[1]), int("keepdims", 0)]),
        false => {
            let axis = decomposition.constant("axis", whole_numbers(&[1]));
            decomposition.give(1, "ReduceSum", &[&counted, &axis], vec![int("keepdims", 0)]);
        }
    }
}
