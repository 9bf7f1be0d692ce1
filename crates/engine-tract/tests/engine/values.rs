//! What each operator computed, against what another implementation computed.

use std::collections::BTreeMap;
use std::sync::Mutex;

use opscope_model::{Action, Dispatch, Fidelity, Interest, RunId, RunObserver, Which};
use opscope_onnx::{Producer, ValueId};
use opscope_tensor::{Tensor, TensorView};

use crate::files::{FIDELITIES, MODELS, json, members, mismatch, planned, run, tensor};

/// Keeps a copy of every value of the file that a run computes.
#[derive(Default)]
pub struct Keep(pub Mutex<BTreeMap<ValueId, Tensor>>);

impl RunObserver for Keep {
    fn interest(&self) -> Interest {
        Interest { after: Which::All, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let mut kept = self.0.lock().unwrap();
        for (values, output) in dispatch.kernel.outputs.iter().zip(outputs) {
            for &value in values {
                let before = kept.insert(value, output.to_tensor().unwrap());
                assert!(before.is_none(), "{} came twice", dispatch.graph.value(value).name);
            }
        }
        Action::Continue
    }
}

#[test]
fn every_value_of_every_model_is_what_another_implementation_computes() {
    for model in MODELS {
        let (graph, inputs, plan) = planned(model, Fidelity::Exact);
        let keep = Keep::default();
        plan.run(RunId(0), &*plan.upload(&inputs).unwrap(), &keep).unwrap();
        let mut found = keep.0.into_inner().unwrap();
        plan.constants(&mut |value, view| {
            assert!(found.insert(value, view.to_tensor().unwrap()).is_none(), "in runs and folded at load");
            Ok(())
        })
        .unwrap();

        let index = json(&format!("expected/{model}/index.json"));
        let expected = members(&index["values"]);
        for (name, entry) in &expected {
            let value = graph.value_named(name).unwrap_or_else(|| panic!("{model} has no '{name}'"));
            let Some(found) = found.get(&value.id) else { panic!("{model}: nothing computed '{name}'") };
            let expected = tensor(&format!("expected/{model}/{}", entry["file"].as_str().unwrap()));
            if let Some(reason) = mismatch(found, &expected) {
                panic!("{model}, '{name}': {reason}");
            }
        }
        // Nothing is left out of the comparison: what operators make is all in the expectations.
        let made = graph.values.iter().filter(|value| matches!(value.producer, Producer::Operator(..)));
        for value in made {
            assert!(expected.contains_key(value.name.as_str()), "{model}: '{}' has no expectation", value.name);
        }
    }
}

#[test]
fn outputs_are_the_same_at_both_fidelities() {
    for model in MODELS {
        for fidelity in FIDELITIES {
            let (graph, inputs, plan) = planned(model, fidelity);
            let outputs = run(&*plan, &inputs).unwrap();
            assert_eq!(outputs.len(), graph.outputs.len());
            for (&output, found) in graph.outputs.iter().zip(&outputs) {
                let name = &graph.value(output).name;
                let expected = tensor(&format!("{model}.output.{name}.npy"));
                assert_eq!(mismatch(found, &expected), None, "{model}, '{name}', {fidelity}");
            }
        }
    }
}
