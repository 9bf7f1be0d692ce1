//! What an instrument needs of an engine, and an engine that lacks it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use opscope::Session;
use opscope::debug::Debugger;
use opscope::dump::Dumper;
use opscope::model::{Capabilities, EngineError, Fidelity, LoadOptions};
use opscope::tensor::Tensor;
use opscope_model::testing::{FakeEngine, FakePlan, GraphBuilder, kernels};

/// Returns a session with a model of one operator that returns its input, on an engine with only these capabilities.
fn session(capabilities: Capabilities) -> Session {
    session_of(capabilities, |engine| engine)
}

fn session_of(capabilities: Capabilities, change: impl FnOnce(FakeEngine) -> FakeEngine) -> Session {
    let graph = GraphBuilder::new("same").input("x", &[2]).operator("same", "Identity", &["x"], &["y"]).output("y");
    let engine = FakeEngine::new(&["every rewrite"], |graph, options| {
        let same = |_: &_, inputs: &[Tensor]| Ok(inputs.to_vec());
        Ok(FakePlan::new(graph, kernels(graph, &[&["same"]]), options.fidelity, same))
    });
    let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
    let engine = Arc::new(change(engine.with_capabilities(capabilities)));
    Session::with_engine(engine, Arc::new(graph.build()), &options).unwrap()
}

#[test]
fn a_run_refuses_an_instrument_that_needs_more_than_the_engine_can_do() {
    let input = [Tensor::from_f32(vec![2], &[1.0, 2.0]).unwrap()];
    let names_only = session(Capabilities { names: true, ..Capabilities::default() });
    assert_eq!(names_only.run(&input, &[]).unwrap(), input, "a run without instruments needs no capability");
    let refused = names_only.run(&input, &[&Dumper::new()]).unwrap_err();
    assert!(matches!(refused, EngineError::Capability(_)), "{refused:?}");
    let message = refused.to_string();
    let expected =
        "the dumper needs an engine that can see the values between operators, and fake 1 cannot in optimised runs";
    assert_eq!(message, expected);
    let debugger = Debugger::new().unwrap();
    let both = names_only.run(&input, &[&debugger]).unwrap_err().to_string();
    assert!(both.contains("stop before an operator, see the values between operators"), "{both}");

    let enough = session(Capabilities { intermediates: true, names: true, ..Capabilities::default() });
    assert_eq!(enough.run(&input, &[&Dumper::new()]).unwrap(), input);
}

#[test]
fn the_refusal_says_what_would_give_the_engine_the_capability() {
    let input = [Tensor::from_f32(vec![2], &[1.0, 2.0]).unwrap()];
    let old = session_of(Capabilities::default(), |engine| engine.with_remedy("version 2 or later can"));
    let refused = old.run(&input, &[&Dumper::new()]).unwrap_err().to_string();
    assert!(refused.ends_with("fake 1 cannot in optimised runs; version 2 or later can"), "{refused}");
}
