//! Any bytes as a model: a graph that keeps its promises, or an error with a text.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use opscope_onnx::{Graph, Producer};
use prost::bytes::Bytes;

fuzz_target!(|bytes: &[u8]| {
    match Graph::from_bytes(Path::new("/nonexistent/fuzzed.onnx"), Bytes::copy_from_slice(bytes)) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(graph) => {
            graph.depends_on_input();
            for operator in &graph.operators {
                assert_eq!(graph.operator_named(&operator.name).map(|found| found.id), Some(operator.id));
                for &input in operator.inputs.iter().flatten().chain(&operator.captures) {
                    if let Producer::Operator(producer, _) = graph.value(input).producer {
                        assert!(producer < operator.id);
                    }
                }
            }
        }
    }
});
