use std::path::PathBuf;

use opscope_model::{Fidelity, NoObserver};
use opscope_tensor::Tensor;

use crate::support::{Recorder, beside, close, engine, load, models, outputs};

pub fn runnable() -> Vec<PathBuf> {
    let folders = [models(), models().join("fixtures")];
    let files =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()));
    let has_output = |path: &PathBuf| {
        let stem = format!("{}.output.", path.file_stem().unwrap().to_string_lossy());
        std::fs::read_dir(path.parent().unwrap())
            .unwrap()
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(&stem))
    };
    let mut found: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "onnx") && has_output(path)).collect();
    found.sort();
    found
}

fn same(found: &[Option<Tensor>], expected: &[Option<Tensor>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        match (found, expected) {
            (Some(found), Some(expected)) => close(found, expected),
            (None, None) => {}
            (found, _) => panic!("{found:?} and not {expected:?}"),
        }
    }
}

#[test]
fn both_fidelities_give_the_outputs_that_are_stored_beside_the_models() {
    let Some(engine) = engine() else { return };
    for path in runnable() {
        println!("{}", path.display());
        for fidelity in Fidelity::ALL {
            let model = load(&engine, &path, fidelity);
            let inputs: Vec<_> = beside(&path, "input", model.graph()).into_iter().flatten().collect();
            let plan = model.plan(&inputs).unwrap();
            let found = outputs(&*plan, &inputs, &NoObserver);
            let expected = beside(&path, "output", model.graph());
            same(&found, &expected);
        }
    }
}

#[test]
fn every_operator_is_shown_directly_before_and_after_it_is_executed() {
    let Some(engine) = engine() else { return };
    for path in runnable() {
        println!("{}", path.display());
        let model = load(&engine, &path, Fidelity::Exact);
        let inputs: Vec<_> = beside(&path, "input", model.graph()).into_iter().flatten().collect();
        let plan = model.plan(&inputs).unwrap();
        let recorder = Recorder::default();
        let found = outputs(&*plan, &inputs, &recorder);
        let expected = beside(&path, "output", model.graph());
        same(&found, &expected);
        let seen = recorder.0.into_inner().unwrap();
        let mut open: Vec<(&str, &[(String, u32)])> = Vec::new();
        let mut main = 0;
        for event in &seen {
            if event.before {
                open.push((&event.operator, &event.path));
                assert_eq!(open.len(), event.path.len() + 1, "{}: {event:?} within {open:?}", path.display());
                main += usize::from(event.path.is_empty());
            } else {
                assert_eq!(open.pop(), Some((&*event.operator, &*event.path)), "{}", path.display());
            }
        }
        let operators = model.graph().operators.iter().filter(|operator| !operator.is_constant()).count();
        assert_eq!((open.len(), main), (0, operators), "{}", path.display());
    }
}

#[test]
fn a_plan_is_made_once_for_inputs_of_the_same_shapes() {
    let Some(engine) = engine() else { return };
    let path = models().join("digits_cnn.onnx");
    for fidelity in Fidelity::ALL {
        let model = load(&engine, &path, fidelity);
        let of_batch = |batch: usize| {
            let image = Tensor::from_f32(vec![batch, 1, 8, 8], &vec![0.5; batch * 64]).unwrap();
            model.plan(&[image]).unwrap()
        };
        let first = of_batch(1);
        let other = of_batch(2);
        assert!(std::sync::Arc::ptr_eq(first.kernels(), of_batch(1).kernels()), "{fidelity}");
        assert!(std::sync::Arc::ptr_eq(other.kernels(), of_batch(2).kernels()), "{fidelity}");
        assert!(!std::sync::Arc::ptr_eq(first.kernels(), other.kernels()), "{fidelity}");
    }
}
