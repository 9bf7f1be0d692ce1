//! Runs that are traced through contexts: bodies, failed runs, and runs without any requested record.

use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_model::{Fidelity, Instrument, RunId, RunInfo};
use opscope_profile::{Call, Tracer, plan_names};
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{
    Buffer, BufferOptions, Context, DispatchRecord, EngineCallRecord, Kind, Operations, PlanId, RunRecord,
};

/// Contexts are process-wide, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

/// Returns a plan whose second kernel is in the body of a loop.
fn looping(iterations: u32) -> FakePlan {
    let graph = GraphBuilder::new("looping")
        .input("x", &[2])
        .operator("first", "Relu", &["x"], &["a"])
        .operator("loop", "Loop", &["a"], &["b"])
        .operator("step", "Add", &["a"], &["c"])
        .output("a")
        .build();
    let kernels = kernels(&graph, &[&["first"], &["step"]]);
    FakePlan::new(&Arc::new(graph), kernels, Fidelity::Exact, |_, inputs| Ok(inputs.to_vec())).with_body(
        1..2,
        "loop",
        iterations,
    )
}

/// Calls `act` while a context is started, and returns a description of each record.
fn traced(kinds: &[Kind], act: impl FnOnce()) -> Vec<String> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let buffer = Buffer::create(BufferOptions::default(), move |batch| {
        let texts = batch.records().map(|record| {
            if let Some(dispatch) = record.get::<DispatchRecord>() {
                let names = plan_names(dispatch.plan).expect("its plan lives");
                let operator = &names.kernels[dispatch.kernel.0 as usize].operator;
                let level = |level: &opscope_trace::PathLevel| {
                    format!("{}[{}] > ", names.operators[level.operator as usize], level.iteration)
                };
                return record.path().iter().map(level).chain([operator.clone()]).collect();
            }
            if let Some(call) = record.get::<EngineCallRecord>() {
                return format!("call {} failed {}", call.operation, call.failed);
            }
            let run = record.get::<RunRecord>().expect("there are no other kinds");
            format!("run {} failed {}", run.run, run.failed)
        });
        keep.lock().extend(texts);
    });
    let (buffer, context) = (buffer.expect("the options are valid"), Context::create());
    for kind in kinds {
        context.configure(*kind, Operations::All, &buffer).expect("it is free");
    }
    context.start().expect("it is not destroyed");
    act();
    buffer.flush().expect("it is not destroyed");
    std::mem::take(&mut kept.lock())
}

#[test]
fn iterations_of_a_loop_have_their_paths_in_contexts_too() {
    let _turn = turn();
    let plan = looping(2);
    let records = traced(&[Kind::OperatorDispatch, Kind::Run], || {
        plan.run_with(&Tracer, 7).expect("no kernel fails");
    });
    assert_eq!(records, ["first", "loop[0] > step", "loop[1] > step", "run 7 failed 0"]);
}

#[test]
fn kernels_have_their_names_also_in_a_context_that_traces_no_runs() {
    let _turn = turn();
    let plan = looping(1);
    let records = traced(&[Kind::OperatorDispatch], || {
        plan.run_with(&Tracer, 7).expect("no kernel fails");
    });
    assert_eq!(records, ["first", "loop[0] > step"]);
}

#[test]
fn a_run_that_fails_is_emitted_as_failed() {
    let _turn = turn();
    let plan = looping(1).fail_at(0);
    let records = traced(&[Kind::EngineCall, Kind::Run], || {
        plan.run_with(&Tracer, 3).expect_err("the first kernel fails");
        Tracer.called(Call::Load, Ticks::now(), Ticks::now(), true);
    });
    assert_eq!(records, ["call 2 failed 0", "call 3 failed 1", "run 3 failed 1", "call 0 failed 1"]);
}

#[test]
fn a_run_of_which_nothing_is_wanted_has_no_observer() {
    let _turn = turn();
    let plan = looping(1);
    let info = RunInfo { id: RunId(0), graph: &plan.graph, kernels: &plan.kernels, fidelity: Fidelity::Exact };
    let unobserved = || {
        assert!(Tracer.observe_if_wanted(&info).is_none());
        let observer = Tracer.observe(&info);
        assert!(observer.interest().is_nothing());
        assert_eq!(size_of_val(&*observer), 0, "nothing is allocated for it");
        let needs = Tracer.requires();
        assert!(!needs.times && !needs.memory);
    };
    unobserved();
    let records = traced(&[Kind::Marker, Kind::Counter, Kind::CorrelationRetirement], unobserved);
    assert_eq!(records, [] as [String; 0]);
    assert_eq!(plan_names(PlanId(0)), None, "0 is none");
}

#[test]
fn what_is_wanted_is_asked_when_a_run_begins() {
    let _turn = turn();
    let plan = looping(1);
    let info = RunInfo { id: RunId(0), graph: &plan.graph, kernels: &plan.kernels, fidelity: Fidelity::Exact };
    traced(&[Kind::OperatorDispatch], || {
        let interest = Tracer.observe(&info).interest();
        assert!(interest.times && !interest.memory && interest.before.is_empty() && interest.after.is_empty());
        assert!(Tracer.requires().times && !Tracer.requires().memory);
    });
    traced(&[Kind::TensorAllocation], || {
        let interest = Tracer.observe(&info).interest();
        assert!(!interest.times && interest.memory);
    });
}
