//! Damaged models: whatever the reader accepts, the engine runs or refuses.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_onnx::{Dim, Graph};
use opscope_tensor::Tensor;
use proptest::prelude::*;
use proptest::sample::Index;
use prost::bytes::Bytes;

use crate::files::{FIDELITIES, load, models, run};

const REAL: [&str; 7] = [
    "token_classifier",
    "fixtures/if",
    "fixtures/symbolic",
    "fixtures/quantized",
    "fixtures/unused_output",
    "fixtures/constant_of_shape",
    "fixtures/runtime_slice",
];

/// Returns inputs of zeros that fit the damaged file; `None` if they would be large.
fn zeros(graph: &Graph) -> Option<Vec<Tensor>> {
    let zero = |&input| {
        let value = graph.value(input);
        let dims = value.shape.as_deref()?.iter().map(|dim| match dim {
            Dim::Fixed(number) => *number,
            Dim::Symbol(_) => 2,
        });
        let shape: Vec<usize> = dims.collect();
        let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim))?;
        let bytes = value.dtype?.bytes_of(elements).filter(|&bytes| bytes < 1 << 20)?;
        Tensor::new(value.dtype?, shape, vec![0; bytes]).ok()
    };
    graph.inputs.iter().map(zero).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_damaged_model_runs_or_is_refused_and_the_process_lives(
        file in 0..REAL.len(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = fs::read(models(&format!("{}.onnx", REAL[file]))).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let Ok(graph) = Graph::from_bytes(Path::new("made.onnx"), Bytes::from(bytes)) else { return Ok(()) };
        let graph = Arc::new(graph);
        let Some(inputs) = zeros(&graph) else { return Ok(()) };
        for fidelity in FIDELITIES {
            let outcome = load(&graph, fidelity).and_then(|model| run(&*model.plan(&inputs)?, &inputs));
            if let Err(error) = outcome {
                let text = error.to_string();
                prop_assert!(!text.contains("opscope:"), "{}", text);
            }
        }
    }
}
