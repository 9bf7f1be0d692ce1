//! What a comparison found of kernels reaches the plan that runs.

use std::num::NonZeroUsize;

use opscope_model::testing::{FakeEngine, FakePlan, GraphBuilder, floats, kernels};
use opscope_model::{KnownOutput, KnownOutputs};
use opscope_sys::Mutex;

use super::*;

/// The known values of each plan that an engine made, with the fidelity of the plan.
type Made = Arc<Mutex<Vec<(Fidelity, KnownOutputs)>>>;

/// Returns a session of `y = -(x + 1)`, whose engine notes what it knows when it makes a plan.
fn session() -> (Session, Made) {
    let made = Made::default();
    let noted = Arc::clone(&made);
    let engine = FakeEngine::new(&["every rewrite", "no rewrites"], move |graph, options| {
        noted.lock().push((options.fidelity, options.known.clone()));
        let kernels = kernels(graph, &[&["increment"], &["negate"]]);
        Ok(FakePlan::new(graph, kernels, options.fidelity, |kernel, inputs| {
            let of = |x: f32| if kernel.op == "Neg" { -x } else { x + 1.0 };
            let elements: Vec<f32> = floats(&inputs[0]).into_iter().map(of).collect();
            Ok(vec![Tensor::from_f32(inputs[0].shape().to_vec(), &elements).unwrap()])
        }))
    });
    let graph = GraphBuilder::new("two").input("x", &[4]).operator("increment", "AddOne", &["x"], &["a"]);
    let graph = Arc::new(graph.operator("negate", "Neg", &["a"], &["y"]).output("y").build());
    let options = LoadOptions::new(Fidelity::Optimised, NonZeroUsize::MIN);
    (Session::with_engine(Arc::new(engine), graph, &options).unwrap(), made)
}

fn inputs() -> [Tensor; 1] {
    [Tensor::from_f32(vec![4], &[0.5, 0.25, 0.75, 1.0]).unwrap()]
}

/// Returns what is known of the two kernels once their values were compared.
fn both_kernels() -> KnownOutputs {
    let known = |value: &str| vec![KnownOutput { slot: 0, value: value.to_owned(), same_order: true }];
    KnownOutputs::from([("kernel 0".to_owned(), known("a")), ("kernel 1".to_owned(), known("y"))])
}

#[test]
fn a_plan_with_known_values_is_made_with_what_its_kernels_were_found_to_compute() {
    let (session, made) = session();
    let known = with_known_values(&session, &inputs()).unwrap();
    made.lock().clear();
    known.model().plan(&inputs()).unwrap();
    assert_eq!(*made.lock(), [(Fidelity::Optimised, both_kernels())]);
}

#[test]
fn the_plan_that_runs_after_a_verification_is_made_with_what_its_kernels_were_found_to_compute() {
    let (session, made) = session();
    let options = VerifyOptions { when: Verify::On, ..VerifyOptions::default() };
    let (verification, other) = verify(&session, &inputs(), 1, &options).unwrap();
    assert_eq!(verification.known(), both_kernels());
    made.lock().clear();
    other.unwrap().model().plan(&inputs()).unwrap();
    assert_eq!(*made.lock(), [(Fidelity::Optimised, both_kernels())]);
}
