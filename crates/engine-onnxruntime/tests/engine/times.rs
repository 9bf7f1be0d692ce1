//! The times of kernels in optimised runs.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_model::{Engine, EngineError, Fidelity, Interest, Iteration, KernelId, Plan, RunId, RunObserver};
use opscope_tensor::Tensor;

use crate::files::runnable;
use crate::support::{beside, engine, load, models};

/// What a run reported.
#[derive(Default)]
struct Clocked {
    kernels: Mutex<Vec<(usize, Ticks, Ticks)>>,
    untimed: Mutex<u64>,
    profiled: Mutex<Vec<(Ticks, Ticks)>>,
    finished: Mutex<Option<(Ticks, Ticks)>>,
}

impl RunObserver for Clocked {
    fn interest(&self) -> Interest {
        Interest { times: true, ..Interest::default() }
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        assert!(path.is_empty(), "what a body executes is a part of its operator");
        self.kernels.lock().unwrap().push((kernel.index(), start, end));
    }

    fn untimed(&self, dispatches: u64) {
        *self.untimed.lock().unwrap() += dispatches;
    }

    fn profiled(&self, start: Ticks, end: Ticks) {
        self.profiled.lock().unwrap().push((start, end));
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        *self.finished.lock().unwrap() = Some(outcome.unwrap());
    }
}

fn run(plan: &dyn Plan, inputs: &[Tensor]) -> Clocked {
    let clocked = Clocked::default();
    let resident = plan.upload(inputs).unwrap();
    plan.run(RunId(0), &*resident, &clocked).unwrap();
    clocked
}

fn inputs(path: &Path, graph: &opscope_onnx::Graph) -> Vec<Tensor> {
    beside(path, "input", graph).into_iter().flatten().collect()
}

/// Returns how many profiles this process has left where it may write them.
fn left_files() -> usize {
    let own = format!("opscope-times-{}-", std::process::id());
    let places = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    let entries = places.into_iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
    own.filter_map(|directory| std::fs::read_dir(directory.path()).ok()).map(Iterator::count).sum()
}

#[test]
fn every_kernel_is_timed_once_one_after_the_other_and_within_the_run() {
    let Some(engine) = engine() else { return };
    for path in runnable() {
        let model = load(&engine, &path, Fidelity::Optimised);
        let plan = model.plan(&inputs(&path, model.graph())).unwrap();
        for _ in 0..3 {
            let clocked = run(&*plan, &inputs(&path, model.graph()));
            let kernels = clocked.kernels.into_inner().unwrap();
            let mut met: Vec<_> = kernels.iter().map(|(kernel, ..)| *kernel).collect();
            met.sort_unstable();
            assert_eq!(met, (0..plan.kernels().len()).collect::<Vec<_>>(), "{}", path.display());
            let (start, end) = clocked.finished.into_inner().unwrap().unwrap();
            let times = kernels.iter().flat_map(|(_, start, end)| [*start, *end]);
            let times: Vec<_> = std::iter::once(start).chain(times).chain([end]).collect();
            assert!(times.is_sorted(), "{}: {times:?}", path.display());
            assert_eq!(clocked.untimed.into_inner().unwrap(), 0);
            let profiled = clocked.profiled.into_inner().unwrap();
            assert!(matches!(profiled[..], [(from, to)] if from == end && to > from), "{}", path.display());
        }
    }
}

#[test]
fn the_times_of_a_run_are_those_of_the_clock() {
    let Some(engine) = engine() else { return };
    assert_eq!(engine.time_resolution(Fidelity::Optimised), Duration::from_micros(1));
    let path = models().join("tiny_transformer.onnx");
    let model = load(&engine, &path, Fidelity::Optimised);
    let inputs = inputs(&path, model.graph());
    let plan = model.plan(&inputs).unwrap();
    run(&*plan, &inputs);
    let (clock, before) = (ClockPair::now(), Ticks::now());
    let clocked = run(&*plan, &inputs);
    let after = Ticks::now();
    let (start, end) = clocked.finished.into_inner().unwrap().unwrap();
    assert!(before <= start && start < end && end <= after);
    // Whole microseconds since the run began.
    let calibration = Calibration::since(clock);
    for (_, begun, ended) in clocked.kernels.into_inner().unwrap() {
        for time in [begun, ended] {
            let micros = calibration.nanos(start, time) / 1e3;
            assert!((micros - micros.round()).abs() < 0.05, "{micros}");
        }
    }
}

#[test]
fn no_profile_is_left_and_runs_at_the_same_time_keep_theirs_apart() {
    let Some(engine) = engine() else { return };
    let path = models().join("digits_cnn.onnx");
    let model = load(&engine, &path, Fidelity::Optimised);
    let inputs = inputs(&path, model.graph());
    let plan = model.plan(&inputs).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let clocked = run(&*plan, &inputs);
                    assert_eq!(clocked.kernels.into_inner().unwrap().len(), plan.kernels().len());
                    assert_eq!(clocked.untimed.into_inner().unwrap(), 0);
                }
            });
        }
    });
    drop((plan, model));
    // Other tests of this process run at the same time, and each has at most one profile per run.
    assert!(left_files() <= 2, "{}", left_files());
}

#[test]
fn a_plan_is_made_once_for_its_shapes() {
    let Some(engine) = engine() else { return };
    let path = models().join("digits_cnn.onnx");
    for fidelity in Fidelity::ALL {
        let model = load(&engine, &path, fidelity);
        let inputs = inputs(&path, model.graph());
        let (one, other) = (model.plan(&inputs).unwrap(), model.plan(&inputs).unwrap());
        assert!(std::sync::Arc::ptr_eq(one.kernels(), other.kernels()), "{fidelity}");
    }
}
