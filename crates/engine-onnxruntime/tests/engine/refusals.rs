use std::num::NonZeroUsize;
use std::path::Path;

use opscope_engine_onnxruntime::{Library, LibraryError, OnnxRuntimeEngine, OnnxRuntimeOptions, Provider};
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions};

use crate::support::{engine, graph, inner, load, models, tensor};

#[test]
fn values_that_no_machine_can_hold_are_refused_before_the_library_computes_them() {
    let Some(engine) = engine() else { return };
    for fidelity in Fidelity::ALL {
        let loaded = engine.load(graph(&inner("huge")), &LoadOptions::new(fidelity, NonZeroUsize::MIN));
        let error = loaded.err().unwrap();
        assert!(matches!(&error, EngineError::OverBudget { node: Some(node), .. } if node == "expand"), "{error}");
    }
}

#[test]
fn an_operator_that_the_library_lacks_is_named() {
    let Some(engine) = engine() else { return };
    let path = models().join("fixtures/unknown_operator.onnx");
    let error = engine.load(graph(&path), &LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN)).err().unwrap();
    let EngineError::Load { node: Some(node), .. } = &error else { panic!("{error}") };
    assert!(graph(&path).operator_named(node).is_some(), "{error}");
    assert!(!error.to_string().contains("opscope:"), "{error}");
}

#[test]
fn inputs_that_do_not_fit_are_refused_with_their_names() {
    let Some(engine) = engine() else { return };
    let model = load(&engine, &inner("branches"), Fidelity::Exact);
    let error = model.plan(&[tensor(&[2, 2], &[0.0; 4])]).err().unwrap();
    assert!(matches!(&error, EngineError::InputShape { name, .. } if name == "x"), "{error}");
    let plan = model.plan(&[tensor(&[4, 3], &[0.0; 12])]).unwrap();
    assert!(matches!(plan.upload(&[]).err().unwrap(), EngineError::InputCount { .. }));
}

#[test]
fn a_provider_that_the_library_lacks_is_refused_with_those_that_it_has() {
    let Ok(library) = Library::find(None) else { return };
    let provider = Provider { name: "nonsense".to_owned(), options: Vec::new() };
    let options = OnnxRuntimeOptions { providers: vec![provider], ..OnnxRuntimeOptions::default() };
    let error = OnnxRuntimeEngine::new(library, options).unwrap_err();
    assert!(error.to_string().contains("CPUExecutionProvider"), "{error}");
}

#[test]
fn a_file_that_is_no_library_is_refused_and_one_that_is_not_there_is_named() {
    let error = Library::find(Some(Path::new("/nowhere/libonnxruntime.so"))).unwrap_err();
    assert!(error.to_string().contains("--engine-library names '/nowhere/libonnxruntime.so'"), "{error}");
    let error = Library::find(Some(&models().join("digits_cnn.onnx"))).unwrap_err();
    assert!(matches!(error, LibraryError::Unusable { .. }), "{error}");
}
