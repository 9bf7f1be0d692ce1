//! Layer normalisation of sums and of embeddings.

use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::tract_core::internal::TractResult;

use super::spelling::{Spelling, float, int, ints, whole_numbers};

/// What ONNX Runtime adds to the variance where the file says nothing.
const EPSILON: f32 = 1e-12;

/// Spells out the sum of an input, a value from some layers before and a bias, normalised over the last axis.
pub(super) fn skip(spelling: &mut Spelling<'_>) -> TractResult<()> {
    spelling.refuse_outputs(&[1, 2])?;
    let is_simple = spelling.op_type() == "SkipSimplifiedLayerNormalization";
    let mut sum = spelling.add("sum", "Add", &[spelling.input(0)?, spelling.input(1)?], vec![]);
    if let Some(bias) = spelling.given(if is_simple { 3 } else { 4 }) {
        sum = spelling.add("biased", "Add", &[&sum, bias], vec![]);
    }
    let attributes = vec![int("axis", -1), float("epsilon", spelling.float("epsilon", EPSILON))];
    let gamma = spelling.input(2)?;
    if is_simple {
        spelling.give(0, "RMSNormalization", &[&sum, gamma], attributes);
    } else {
        let beta = spelling.given(3).unwrap_or_default();
        spelling.give(0, "LayerNormalization", &[&sum, gamma, beta], attributes);
    }
    spelling.give(3, "Identity", &[&sum], vec![]);
    Ok(())
}

/// Spells out the embeddings of words, positions and segments: their normalised sum, the length of each row, and the sum.
pub(super) fn embedding(spelling: &mut Spelling<'_>) -> TractResult<()> {
    let ids = spelling.input(0)?;
    let words = spelling.add("words", "Gather", &[spelling.input(2)?, ids], vec![]);
    let places = match spelling.given(8) {
        Some(positions) => spelling.add("places", "Gather", &[spelling.input(3)?, positions], vec![]),
        None => {
            let shape = spelling.add("shape", "Shape", &[ids], vec![]);
            let zero = spelling.constant("zero", whole_numbers(&[0]));
            let one = spelling.constant("one", whole_numbers(&[1]));
            let length = spelling.add("length", "Gather", &[&shape, &one], vec![]);
            spelling.add("places", "Slice", &[spelling.input(3)?, &zero, &length, &zero], vec![])
        }
    };
    let mut sum = spelling.add("sum", "Add", &[&words, &places], vec![]);
    if let Some(segments) = spelling.given(1) {
        let segments = spelling.add("segments", "Gather", &[spelling.input(4)?, segments], vec![]);
        sum = spelling.add("sum_of_all", "Add", &[&sum, &segments], vec![]);
    }
    let attributes = vec![int("axis", -1), float("epsilon", spelling.float("epsilon", EPSILON))];
    spelling.give(0, "LayerNormalization", &[&sum, spelling.input(5)?, spelling.input(6)?], attributes);
    if spelling.has_output(1) {
        lengths(spelling, ids);
    }
    spelling.give(2, "Identity", &[&sum], vec![]);
    Ok(())
}

/// How many tokens of each row the mask leaves; nothing without a mask.
fn lengths(spelling: &mut Spelling<'_>, ids: &str) {
    let counted = match spelling.given(7) {
        Some(mask) => mask.to_owned(),
        None => spelling.add("nothing", "Sub", &[ids, ids], vec![]),
    };
    let to = vec![int("to", DataType::Int32 as i64)];
    let counted = spelling.add("counted", "Cast", &[&counted], to);
    match spelling.opset < 13 {
        true => spelling.give(1, "ReduceSum", &[&counted], vec![ints("axes", &[1]), int("keepdims", 0)]),
        false => {
            let axis = spelling.constant("axis", whole_numbers(&[1]));
            spelling.give(1, "ReduceSum", &[&counted, &axis], vec![int("keepdims", 0)]);
        }
    }
}
