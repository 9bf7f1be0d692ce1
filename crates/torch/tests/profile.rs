//! Programs without Python: what the profiler records of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{Fidelity, Iteration, OpenOperator};
use opscope_profile::{Account, EngineInfo, Profiler, ProfilerOptions, Recording, RecordingInfo};
use opscope_torch::{ModulePath, Phase, Place, Program};

fn module(name: &str) -> Place {
    Place {
        module: Some(Arc::new(ModulePath { name: name.to_owned(), modules: Vec::new() })),
        call: 0,
        phase: Phase::Forward,
        operator: None,
        class: Arc::from("Block"),
        source: None,
    }
}

fn program(steps: &str) -> Program {
    Program::new(PathBuf::from("train.py"), 5, "2.15", steps.parse().unwrap())
}

fn profiler(program: &mut Program, root: &Path) -> Arc<Profiler> {
    let engine = EngineInfo::new("torch", "2.15", Fidelity::Exact);
    let info = RecordingInfo { graph: Arc::clone(program.header()), engine };
    let profiler = Arc::new(Profiler::create(root, &info, &ProfilerOptions::default()).unwrap());
    program.add(Arc::clone(&profiler) as _).unwrap();
    profiler
}

fn finish(mut program: Program, profiler: Arc<Profiler>) {
    program.finish(None);
    program.remove_instruments();
    let manifest = Arc::into_inner(profiler).expect("no run holds it").finish().unwrap();
    assert!(manifest.complete, "{:?}", manifest.incomplete_because);
}

fn account(root: &Path) -> Account {
    Recording::open(root).unwrap().account().unwrap()
}

fn level(operator: &OpenOperator) -> Iteration {
    Iteration { operator: operator.operator().id, index: 0 }
}

/// Executes a module from 50 to 400 ticks, with another one in it from 100 to 300.
fn step(program: &mut Program, outer: &str, inner: &str) {
    program.root_called(1);
    let begun = Ticks::now();
    let at = |ticks| Ticks::from_raw(begun.as_raw() + ticks);
    program.begin_step(begun);
    let (Some(outer), Some(inner)) = (program.found(&module(outer)), program.found(&module(inner))) else { return };
    program.timed(&inner, &[level(&outer)], at(100), at(300));
    program.timed(&outer, &[], at(50), at(400));
}

#[test]
fn modules_have_their_own_times_in_every_step() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("recording");
    let mut program = program("1..4");
    let profiler = profiler(&mut program, &root);
    for inner in ["not wanted", "a", "a", "b"] {
        step(&mut program, "Net", inner);
    }
    assert_eq!((program.executions(), program.operators()), (6, 3), "the first step is not wanted");
    finish(program, profiler);

    let account = account(&root);
    assert_eq!((account.runs.measured, account.runs.partial, account.complete), (3, 0, true));
    let row = |name: &str| account.operators.iter().find(|row| row.operator == name).unwrap();
    assert_eq!(["Net", "a", "b"].map(|name| row(name).dispatches), [3, 2, 1]);
    // 150 ticks of 350 are its own.
    let part = |name: &str| row(name).total_ns / row("b").total_ns;
    assert!((part("Net") - 3.0 * 0.75).abs() < 1e-3, "{}", part("Net"));
    assert!((part("a") - 2.0).abs() < 1e-3, "{}", part("a"));
    assert_eq!(row("Net").op_type, "Block");
}

#[test]
fn the_last_step_ends_with_what_was_executed_last() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("recording");
    let mut program = program("0");
    let profiler = profiler(&mut program, &root);
    step(&mut program, "Net", "a");
    finish(program, profiler);
    let account = account(&root);
    let inner = account.operators.iter().find(|row| row.operator == "a").unwrap().total_ns;
    assert!((account.run.total_ns / inner - 2.0).abs() < 1e-3, "400 ticks of which 200 are in it");
}

#[test]
fn a_step_that_was_not_ended_and_times_that_are_not_known_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("recording");
    let mut program = program("0");
    let profiler = profiler(&mut program, &root);
    step(&mut program, "Net", "a");
    program.untimed(2);
    program.finish(Some("ValueError: wrong".to_owned()));
    program.remove_instruments();
    let manifest = Arc::into_inner(profiler).unwrap().finish().unwrap();
    assert_eq!(manifest.incomplete_because, ["the engine lost the times of 2 dispatches"]);
    assert_eq!(account(&root).runs.failed, 1);
}
