//! No bytes may cause more than an error.

use std::fs;

use opscope_onnx::{Graph, OnnxError, Producer, ValueId};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::files::{from_bytes, models};

const REAL: [&str; 6] = [
    "digits_cnn.onnx",
    "token_classifier.onnx",
    "fixtures/if.onnx",
    "fixtures/typed_data.onnx",
    "fixtures/external.onnx",
    "fixtures/loop.onnx",
];

/// Checks the guarantees of a graph, whatever file it came from.
fn assert_sound(graph: &Graph) {
    for (index, operator) in graph.all_operators().enumerate() {
        assert_eq!(operator.id.index(), index);
        let is_inside = |value: ValueId| match graph.body_of(operator.id) {
            Some(body) => body.values.contains(&value),
            None => value.index() < graph.values.len(),
        };
        assert_eq!(graph.operator_named(&operator.name).map(|found| found.id), Some(operator.id), "names are unique");
        for &input in operator.inputs.iter().flatten().chain(&operator.captures) {
            let value = graph.value(input);
            assert_eq!(value.consumers.contains(&operator.id), is_inside(input));
            if let Producer::Operator(producer, slot) = value.producer {
                assert!(producer < operator.id, "an operator comes after what it needs");
                assert_eq!(graph.operator(producer).outputs[slot], Some(input));
            }
        }
    }
    for (index, value) in graph.all_values().enumerate() {
        assert_eq!(value.id.index(), index);
        assert_eq!(graph.value_named(&value.name).map(|found| found.id), Some(value.id));
    }
    let (mut operators, mut values) = (graph.operators.len(), graph.values.len());
    for body in &graph.bodies {
        assert_eq!((body.operators.start.index(), body.values.start.index()), (operators, values));
        (operators, values) = (body.operators.end.index(), body.values.end.index());
        assert!(graph.operators_of(body).iter().all(|inner| graph.owners_of(inner.id).last() == Some(&body.owner)));
        assert!(body.inputs.iter().all(|input| body.values.contains(input)));
        assert!(graph.bodies_of(body.owner).iter().any(|other| other.operators == body.operators));
    }
    assert_eq!((operators, values), (graph.all_operators().count(), graph.all_values().count()));
    assert!(!graph.outputs.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_give_a_sound_graph_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(graph) = from_bytes(bytes) {
            assert_sound(&graph);
        }
    }

    #[test]
    fn a_damaged_model_gives_a_sound_graph_or_an_error(
        file in 0..REAL.len(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..12),
        cut in prop::option::weighted(0.2, any::<Index>()),
        moved in prop::option::weighted(0.3, (any::<Index>(), any::<Index>(), 1..64usize)),
    ) {
        let mut bytes = fs::read(models(REAL[file])).unwrap();
        if let Some((from, to, length)) = moved {
            let from = from.index(bytes.len());
            let piece = bytes[from..bytes.len().min(from + length)].to_vec();
            let to = to.index(bytes.len());
            bytes.splice(to..to, piece);
        }
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(graph) = from_bytes(bytes) {
            assert_sound(&graph);
        }
    }

    #[test]
    fn a_model_that_is_cut_short_gives_an_error_unless_what_is_left_is_whole(file in 0..REAL.len(), end in any::<Index>()) {
        let bytes = fs::read(models(REAL[file])).unwrap();
        let end = end.index(bytes.len());
        // A cut between two messages at the outermost level leaves a shorter file that may be valid.
        match from_bytes(bytes[..end].to_vec()) {
            Err(OnnxError::Empty(_)) => prop_assert_eq!(end, 0),
            Err(_) => {}
            Ok(graph) => assert_sound(&graph),
        }
    }
}

#[test]
fn whole_models_are_sound() {
    for file in ["digits_cnn.onnx", "tiny_transformer.onnx", "token_classifier.onnx", "fixtures/duplicate_names.onnx"] {
        assert_sound(&Graph::load(&models(file)).unwrap());
    }
}

#[test]
fn what_is_nested_too_deep_is_refused_in_a_short_sentence() {
    let error = Graph::load(&models("fixtures/nested.onnx")).unwrap_err().to_string();
    assert!(error.contains("more than 100 deep"), "{error}");
    assert!(error.len() < 300, "{error}");
}
