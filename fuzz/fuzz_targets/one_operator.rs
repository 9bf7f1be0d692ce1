//! Any bytes as the draws of a model of one operator: it runs or is refused with a sentence, within its budget.
#![no_main]

use std::num::NonZeroUsize;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use opscope_engine_tract::TractEngine;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions, NoObserver, RunId};

#[path = "../../crates/engine-tract/tests/engine/one_operator.rs"]
mod one_operator;

/// Draws by the bytes, two for each.
struct Bytes<'a>(&'a [u8]);

impl one_operator::Draw for Bytes<'_> {
    fn below(&mut self, limit: usize) -> usize {
        let (number, rest) = match *self.0 {
            [low, high, ref rest @ ..] => (usize::from(u16::from_le_bytes([low, high])), rest),
            _ => (0, &self.0[..0]),
        };
        self.0 = rest;
        number % limit
    }
}

/// Elements that the values of a run may have, so that a run is short.
const MOST_ELEMENTS: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let mut operators: Vec<String> = tract_onnx::onnx().op_register.0.keys().cloned().collect();
    operators.sort();
    let operators: Vec<&str> = operators.iter().map(String::as_str).collect();
    let Ok((graph, inputs)) = one_operator::with_zeros(one_operator::draw(&mut Bytes(bytes), &operators)) else { return };
    let graph = Arc::new(graph);
    for fidelity in [Fidelity::Exact, Fidelity::Optimised] {
        let run = || {
            let options = LoadOptions::new(fidelity, NonZeroUsize::MIN);
            let plan = TractEngine.load(Arc::clone(&graph), &options)?.plan(&inputs)?;
            let types = plan.kernels().iter().flat_map(|kernel| &kernel.output_types);
            let elements: usize = types.map(|output| output.shape.iter().product::<usize>()).sum();
            if elements <= MOST_ELEMENTS {
                plan.run(RunId(0), &*plan.upload(&inputs)?, &NoObserver)?;
            }
            Ok(())
        };
        if let Err(error) = run() {
            assert!(!matches!(error, EngineError::OverBudget { .. }), "{error}");
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.contains("opscope:"), "{text}");
        }
    }
});
