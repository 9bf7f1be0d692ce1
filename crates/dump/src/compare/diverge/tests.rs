//! What explains the difference of an output.

use opscope_model::testing::GraphBuilder;
use opscope_tensor::{DType, DifferenceAccumulator};

use super::*;
use crate::compare::Outcome;

/// Returns a comparison of two numbers with two others.
fn compared(found: [f64; 2], expected: [f64; 2]) -> Row {
    let bytes = |numbers: [f64; 2]| numbers.map(f64::to_le_bytes).concat();
    let mut accumulator = DifferenceAccumulator::new(DType::F64, DType::F64, 2, 0.0).unwrap();
    accumulator.update(&bytes(found), &bytes(expected));
    Row {
        place: StoredOrigin::default(),
        reference: StoredOrigin::default(),
        matched_by: MatchedBy::Value,
        dtypes: (Some(DType::F64), Some(DType::F64)),
        shapes: (vec![2], vec![2]),
        outcome: Outcome::Compared { difference: accumulator.finish(), within: false },
        drop: None,
    }
}

#[test]
fn what_an_operator_moves_is_off_by_no_more_than_its_input_and_has_a_nan_only_if_that_has_one() {
    let graph = GraphBuilder::new("moves").input("x", &[2]).operator("moved", "Reshape", &["x"], &["y"]).build();
    let explained = |input: [f64; 2], output: [f64; 2]| {
        let compared_input = Some(compared(input, [1.0, 2.0]));
        let input =
            InputRow { slot: 0, value: "x".to_owned(), row: None, compared: compared_input, given: Verdict::Unknown };
        is_explained(&compared(output, [1.0, 2.0]), &graph.operators[0], &[input])
    };
    assert!(explained([1.5, 2.0], [1.0, 2.5]));
    assert!(!explained([1.5, 2.0], [1.0, 3.0]), "twice as far off");
    assert!(explained([f64::NAN, 2.0], [1.0, f64::NAN]));
    assert!(!explained([1.5, 2.0], [1.0, f64::NAN]), "the input has no NaN");
    assert!(!explained([1.0, 2.0], [1.0, 2.5]), "the input is the same");
}
