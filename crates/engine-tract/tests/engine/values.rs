//! What each operator computed, compared with another implementation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opscope_model::{Action, Dispatch, Fidelity, Interest, KernelSet, RunId, RunObserver};
use opscope_onnx::{Graph, Producer, ValueId};
use opscope_tensor::{Tensor, TensorView};
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{StringStringEntryProto, TensorProto};

use crate::builder::{Builder, D, floats};
use crate::files::{FIDELITIES, MODELS, json, load, members, mismatch, planned, run, tensor};

/// Keeps a copy of every value of the file that a run computes.
#[derive(Default)]
pub struct Keep(pub Mutex<BTreeMap<ValueId, Tensor>>);

impl RunObserver for Keep {
    fn interest(&self) -> Interest {
        Interest { after: KernelSet::All, ..Interest::default() }
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
        // Nothing is left out of the comparison: the expectations contain every output of an operator.
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

#[test]
fn data_beside_the_file_is_as_long_as_its_shape_where_no_length_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let beside: Vec<u8> = (0..8).flat_map(|number| (number as f32).to_le_bytes()).collect();
    std::fs::write(directory.path().join("w.bin"), beside).unwrap();
    let entry = |key: &str, value: &str| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
    for (entries, expected) in [
        (vec![entry("location", "w.bin")], [0.0, 1.0]),
        (vec![entry("location", "w.bin"), entry("offset", "8"), entry("length", "")], [2.0, 3.0]),
        (vec![entry("location", "w.bin"), entry("offset", "")], [0.0, 1.0]),
    ] {
        let weight = TensorProto {
            float_data: vec![],
            data_location: Some(1),
            external_data: entries,
            ..floats("w", &[2], &[])
        };
        let model = Builder::default().input("x", DataType::Float, &[D::N(2)]).initializer(weight);
        let path = directory.path().join("model.onnx");
        std::fs::write(&path, model.node("add", "Add", &["x", "w"], &["y"]).output("y").bytes()).unwrap();
        let graph = Arc::new(Graph::load(&path).unwrap());
        let x = [Tensor::from_f32(vec![2], &[0.0; 2]).unwrap()];
        for fidelity in FIDELITIES {
            let plan = load(&graph, fidelity).unwrap().plan(&x).unwrap();
            assert_eq!(run(&*plan, &x).unwrap()[0], Tensor::from_f32(vec![2], &expected).unwrap());
        }
    }
}
