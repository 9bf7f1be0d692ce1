//! The runs of a benchmark.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_dump::InputEntry;
use opscope_model::{EngineError, Kernel, NoObserver, Plan, RunId, RunInfo, RunMemory, RunObserver};
use opscope_onnx::{Graph, OperatorId};
use opscope_tensor::{Tensor, TensorError};

use super::latency::median_interval;
use super::stage::Stage;
use super::watch::Watch;
use crate::Session;
use crate::inputs::{Batch, InputError, Inputs};

/// How often a model runs.
#[derive(Debug, Clone)]
pub struct Repetition {
    /// How many times all inputs are run; with `until_stable` or `duration` the least number.
    pub loops: u64,
    /// Runs before those, which are not measured.
    pub warmups: u64,
    /// Go on until the 95 % confidence interval of the median is at most this many percent of the median wide.
    pub until_stable: Option<f64>,
    /// Go on for so long at least; with `until_stable` for so long at most.
    pub duration: Option<Duration>,
    /// Runs at a time.
    pub concurrent: NonZeroUsize,
}

/// Takes the outputs of a run, with the number of its set of inputs; none for those that have no form as bytes.
pub type TakeOutputs<'a> = dyn Fn(usize, &Batch, &[Option<Tensor>]) -> std::io::Result<()> + Sync + 'a;

/// What happens beside a measurement.
pub struct Progress<'a> {
    /// What watches the runs.
    pub watch: Watch<'a>,
    /// Set from outside to end early; what was measured until then is kept.
    pub cancel: &'a AtomicBool,
    /// Called when something else begins.
    pub stage: &'a (dyn Fn(Stage) + Sync),
    /// Called after every run with the number of runs so far.
    pub advanced: &'a (dyn Fn(u64, Goal) + Sync),
    /// Called with the outputs of the first run of each set of inputs.
    pub outputs: &'a TakeOutputs<'a>,
    /// The number of the first run.
    pub first_run: u64,
}

/// What a measurement goes on for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// So many runs.
    Runs(u64),
    /// A time.
    Time {
        /// What has passed of it.
        passed: Duration,
        /// All of it.
        all: Duration,
    },
    /// A median that is known well enough.
    Stable {
        /// How wide its confidence interval is, in percent of it, as far as that was looked at.
        width: Option<f64>,
        /// How wide it may be.
        wanted: f64,
        /// The time that has passed.
        passed: Duration,
        /// The time after which it ends in any case.
        most: Duration,
    },
}

/// The times of a benchmark's measured runs, in order of their end.
#[derive(Debug, Default)]
pub struct Measurement {
    /// Milliseconds in which inputs were copied to the engine.
    pub upload: Vec<f64>,
    /// Milliseconds of the inferences themselves.
    pub compute: Vec<f64>,
    /// Milliseconds in which outputs were copied back.
    pub download: Vec<f64>,
    /// Milliseconds in which at least one inference was going on: shorter than their sum where runs overlapped.
    pub busy: f64,
    /// Milliseconds that preparing the plans took.
    pub planning: f64,
    /// Samples in a run: the first dimension of the first input, averaged over the runs.
    pub batch_size: f64,
    /// Whether it was ended early from outside.
    pub cancelled: bool,
    /// How many runs there were, warm-ups among them.
    pub runs: u64,
    /// The shapes of the inputs that were met, in the order in which they were met.
    pub shapes: Vec<Vec<Vec<usize>>>,
    /// For every inference time the place of its inputs' shapes among those.
    pub shape_of: Vec<usize>,
    /// What a run needs for tensors, and the operator that is executed when it needs the most; of several plans, the one
    /// that needs the most.
    pub memory: Option<(RunMemory, Option<OperatorId>)>,
    /// What the plans say of how they run the model, each once.
    pub notes: Vec<String>,
    /// Whether it ended at its limit before the median was as stable as wanted.
    pub unstable: bool,
}

/// Why a measurement ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The inputs.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The dump.
    #[error(transparent)]
    Dump(#[from] opscope_dump::DumpError),
    /// An output that cannot be had as bytes.
    #[error("output '{name}' cannot be copied: {source}")]
    Output {
        /// The output.
        name: String,
        /// Why.
        source: TensorError,
    },
    /// Outputs that could not be written.
    #[error("the outputs cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

impl MeasureError {
    /// Returns whether other inputs may do better: the reason is not where results go.
    pub(super) fn is_of_these_inputs(&self) -> bool {
        match self {
            Self::Input(_) | Self::Engine(_) | Self::Output { .. } => true,
            Self::Dump(_) | Self::Write(_) => false,
        }
    }
}

/// With `until_stable`: no more runs than this, whatever the median does.
const MOST_RUNS: u64 = 100_000;

/// With `until_stable` alone: no longer than this.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Runs a model over its inputs and takes the times.
///
/// # Errors
/// What ended it early, with what was measured until then.
pub fn measure(
    session: &Session,
    inputs: &Inputs,
    repetition: &Repetition,
    progress: &Progress<'_>,
) -> (Measurement, Result<(), MeasureError>) {
    let bench = Bench {
        session,
        inputs,
        repetition,
        progress,
        start: ClockPair::now(),
        next_run: AtomicU64::new(0),
        least: repetition.loops.saturating_mul(inputs.len() as u64),
        goal: AtomicU64::new(repetition.loops.saturating_mul(inputs.len() as u64)),
        began: OnceLock::new(),
        width: AtomicU64::new(f64::NAN.to_bits()),
        samples: Mutex::default(),
        described: Mutex::default(),
        failure: Mutex::default(),
        over: AtomicBool::new(false),
    };
    progress.watch.set_warm_up(true);
    for _ in 0..repetition.warmups {
        if bench.is_over() {
            break;
        }
        bench.attempt(|| bench.one(0, Phase::WarmUp));
    }
    progress.watch.set_warm_up(false);
    bench.began.get_or_init(Instant::now);
    std::thread::scope(|scope| {
        for _ in 1..repetition.concurrent.get() {
            scope.spawn(|| bench.work());
        }
        bench.work();
    });
    bench.finish()
}

/// Whether a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measured { first_pass: bool },
}

struct Bench<'a> {
    session: &'a Session,
    inputs: &'a Inputs,
    repetition: &'a Repetition,
    progress: &'a Progress<'a>,
    start: ClockPair,
    /// Measured runs that were begun.
    next_run: AtomicU64,
    /// The least number of measured runs.
    least: u64,
    /// The number of runs after which it ends, or looks whether it may.
    goal: AtomicU64,
    /// When the first measured run was about to begin.
    began: OnceLock<Instant>,
    /// The bits of how wide the median's confidence interval was at the last look, in percent.
    width: AtomicU64,
    samples: Mutex<Samples>,
    /// What the sets of inputs are like, by their numbers: hashed once each.
    described: Mutex<HashMap<usize, Arc<[InputEntry]>>>,
    failure: Mutex<Option<MeasureError>>,
    /// Set by whoever fails; the others stop at their next run.
    over: AtomicBool,
}

#[derive(Default)]
struct Samples {
    runs: Vec<Sample>,
    planning: u64,
    /// Whether `until_stable` gave up.
    unstable: bool,
    /// Run numbers, counted over warm-ups, too.
    numbers: u64,
    /// The kernels of the plans that were met.
    plans: Vec<Arc<[Kernel]>>,
    /// What their runs need at most for tensors, and the operator that is executed then.
    memory: Option<(RunMemory, Option<OperatorId>)>,
    /// What those plans say.
    notes: Vec<String>,
    /// The shapes of the inputs that were met.
    shapes: Vec<Vec<Vec<usize>>>,
}

/// The moments of one run, in raw ticks.
#[derive(Clone, Copy)]
struct Sample {
    upload: Ticks,
    start: Ticks,
    end: Ticks,
    download: Ticks,
    batch: usize,
    /// The place of its inputs' shapes among those that were met.
    shape: usize,
}

impl Samples {
    /// The place of these inputs' shapes among those that were met.
    fn place_of(&mut self, inputs: &[Tensor]) -> usize {
        let is_same = |shapes: &Vec<Vec<usize>>| shapes.iter().map(Vec::as_slice).eq(inputs.iter().map(Tensor::shape));
        self.shapes.iter().position(is_same).unwrap_or_else(|| {
            self.shapes.push(inputs.iter().map(|input| input.shape().to_vec()).collect());
            self.shapes.len() - 1
        })
    }
}

impl Bench<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.progress.cancel.load(Ordering::Relaxed)
    }

    /// One thread's share.
    fn work(&self) {
        while !self.is_over() {
            let run = self.next_run.fetch_add(1, Ordering::Relaxed);
            if run >= self.goal.load(Ordering::Relaxed).min(self.limit()) && !self.extend(run) {
                return;
            }
            let sets = self.inputs.len() as u64;
            let index = (run % sets) as usize;
            self.attempt(|| self.one(index, Phase::Measured { first_pass: run < sets }));
            (self.progress.advanced)(run + 1, self.aim(run + 1));
        }
    }

    /// The number of runs after which a measurement that is to become stable ends, because its time is over.
    fn limit(&self) -> u64 {
        let is_limited = self.repetition.until_stable.is_some();
        if is_limited && self.passed() >= self.most_time() { self.least } else { u64::MAX }
    }

    /// The time since the first measured run began.
    fn passed(&self) -> Duration {
        self.began.get().map(Instant::elapsed).unwrap_or_default()
    }

    fn most_time(&self) -> Duration {
        self.repetition.duration.unwrap_or(MOST_TIME)
    }

    /// What it goes on for, after so many runs.
    fn aim(&self, done: u64) -> Goal {
        match (self.repetition.until_stable, self.repetition.duration) {
            (Some(wanted), _) => {
                let width = Some(f64::from_bits(self.width.load(Ordering::Relaxed))).filter(|width| !width.is_nan());
                Goal::Stable { width, wanted, passed: self.passed(), most: self.most_time() }
            }
            (None, Some(all)) if done >= self.least => Goal::Time { passed: self.passed().min(all), all },
            _ => Goal::Runs(self.goal.load(Ordering::Relaxed).max(done)),
        }
    }

    fn attempt(&self, work: impl FnOnce() -> Result<(), MeasureError>) {
        if let Err(error) = work() {
            self.over.store(true, Ordering::Relaxed);
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Decides at the goal whether more runs are needed, and moves the goal then. Returns whether this run is still wanted.
    fn extend(&self, run: u64) -> bool {
        let Some(percent) = self.repetition.until_stable else {
            return self.repetition.duration.is_some_and(|all| self.passed() < all);
        };
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let goal = self.goal.load(Ordering::Relaxed);
        let is_over = self.passed() >= self.most_time() || goal >= MOST_RUNS;
        if run < goal && !is_over {
            return true;
        }
        let ticks = |sample: &Sample| sample.end.as_raw().saturating_sub(sample.start.as_raw()) as f64;
        let times: Vec<f64> = samples.runs.iter().map(ticks).collect();
        let width = median_interval(&times).map_or(f64::NAN, |(low, high)| {
            let mut sorted = times;
            sorted.sort_by(f64::total_cmp);
            (high - low) / sorted[sorted.len() / 2] * 100.0
        });
        self.width.store(width.to_bits(), Ordering::Relaxed);
        let is_stable = width <= percent;
        if is_stable || is_over {
            samples.unstable = !is_stable;
            return false;
        }
        let next = (goal + goal / 5).max(goal + self.inputs.len() as u64).max(goal + 5).min(MOST_RUNS);
        self.goal.store(next, Ordering::Relaxed);
        true
    }

    fn one(&self, index: usize, phase: Phase) -> Result<(), MeasureError> {
        let graph: &Graph = self.session.graph();
        let batch = self.inputs.batch(graph, index)?;
        let plan = self.session.model().plan(&batch.tensors)?;
        let (run, new_plan) = self.number(&*plan);
        let watch = &self.progress.watch;
        if new_plan {
            watch.planned(&**self.session.model(), &*plan)?;
            (self.progress.stage)(Stage::Running);
        }
        watch.given(run, || self.describe(index, &batch));
        let info = RunInfo {
            id: run,
            graph: self.session.graph(),
            kernels: plan.kernels(),
            fidelity: self.session.model().fidelity(),
        };
        let observer: Option<Box<dyn RunObserver + '_>> = watch.observe(&info, self.progress.cancel);
        let observer: &dyn RunObserver = observer.as_deref().unwrap_or(&NoObserver);

        let upload = Ticks::now();
        let resident = plan.upload(&batch.tensors)?;
        let start = Ticks::now();
        let outputs = match plan.run(run, &*resident, observer) {
            // The run was ended from outside: what was measured before counts, this one does not.
            Err(EngineError::Stopped(_)) if self.progress.cancel.load(Ordering::Relaxed) => return Ok(()),
            outcome => outcome?,
        };
        let end = Ticks::now();
        let mut host = Vec::with_capacity(outputs.len());
        for slot in 0..outputs.len() {
            let name = || graph.value(graph.outputs[slot]).name.clone();
            host.push(match outputs.view(slot).to_tensor() {
                Ok(tensor) => Some(tensor),
                // Strings. They are no reason not to measure.
                Err(TensorError::NoBytes(_)) => None,
                Err(source) => return Err(MeasureError::Output { name: name(), source }),
            });
        }
        let download = Ticks::now();
        let bytes_in = batch.tensors.iter().map(|tensor| tensor.bytes().len() as u64).sum();
        let bytes_out = host.iter().flatten().map(|tensor| tensor.bytes().len() as u64).sum();
        watch.ran(run, [upload, start, end, download], bytes_in, bytes_out);
        if let Phase::Measured { first_pass } = phase {
            let size = batch.tensors.first().and_then(|tensor| tensor.shape().first()).copied().unwrap_or(1);
            let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
            let shape = samples.place_of(&batch.tensors);
            samples.runs.push(Sample { upload, start, end, download, batch: size, shape });
            drop(samples);
            if first_pass {
                (self.progress.outputs)(index, &batch, &host)?;
            }
        }
        Ok(())
    }

    fn describe(&self, index: usize, batch: &Batch) -> Arc<[InputEntry]> {
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        let describe = || InputEntry::of(self.session.graph(), &batch.tensors);
        Arc::clone(described.entry(index).or_insert_with(describe))
    }

    /// Gives a run its number, and says whether its plan was not seen before.
    fn number(&self, plan: &dyn Plan) -> (RunId, bool) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let run = RunId(self.progress.first_run + samples.numbers);
        samples.numbers += 1;
        let is_new = !samples.plans.iter().any(|known| Arc::ptr_eq(known, plan.kernels()));
        if is_new {
            samples.plans.push(Arc::clone(plan.kernels()));
            let (start, end) = plan.made();
            samples.planning += end.as_raw().saturating_sub(start.as_raw());
            let memory = plan.memory();
            if samples.memory.is_none_or(|(most, _)| memory.peak > most.peak) {
                let operator = memory.at.map(|kernel| plan.kernels()[kernel.index()].operator());
                samples.memory = Some((memory, operator));
            }
            for note in plan.notes() {
                if !samples.notes.contains(note) {
                    samples.notes.push(note.clone());
                }
            }
        }
        (run, is_new)
    }

    fn finish(self) -> (Measurement, Result<(), MeasureError>) {
        let samples = self.samples.into_inner().unwrap_or_else(PoisonError::into_inner);
        let calibration = Calibration::since(self.start);
        let millis = |from: Ticks, to: Ticks| calibration.nanos(from, to) / 1e6;
        let runs = &samples.runs;
        let mut measurement = Measurement {
            upload: runs.iter().map(|run| millis(run.upload, run.start)).collect(),
            compute: runs.iter().map(|run| millis(run.start, run.end)).collect(),
            download: runs.iter().map(|run| millis(run.end, run.download)).collect(),
            planning: samples.planning as f64 * calibration.nanos_per_tick() / 1e6,
            batch_size: runs.iter().map(|run| run.batch as f64).sum::<f64>() / runs.len().max(1) as f64,
            cancelled: self.progress.cancel.load(Ordering::Relaxed),
            runs: samples.numbers,
            shape_of: runs.iter().map(|run| run.shape).collect(),
            shapes: samples.shapes,
            memory: samples.memory,
            notes: samples.notes,
            unstable: samples.unstable,
            busy: 0.0,
        };
        let mut intervals: Vec<(Ticks, Ticks)> = runs.iter().map(|run| (run.start, run.end)).collect();
        intervals.sort();
        let mut covered = Ticks::default();
        for (start, end) in intervals {
            if end > covered {
                measurement.busy += millis(start.max(covered), end);
                covered = end;
            }
        }
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        (measurement, failure.map_or(Ok(()), Err))
    }
}
