use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use opscope::{Inference, Session};
use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_dump::InputEntry;
use opscope_model::{EngineError, Kernel, Plan, RunId, RunInfo};
use opscope_onnx::Graph;
use opscope_profile::{MedianEstimate, RunKind};
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, TensorError};

use super::{EngineEnd, MeasureContext, MeasureError, Measurement, NotFiniteRun, PeakMemory};
use crate::benchmark::job::{Goal, Repetition, Stage};
use crate::benchmark::not_finite::NotFiniteOutput;
use crate::inputs::{Batch, Inputs};

/// With `until_stable`: the largest number of runs, even if the median is not stable by then.
const MOST_RUNS: u64 = 100_000;

/// With `until_stable` and no `duration`: the longest time.
const MOST_TIME: Duration = Duration::from_secs(60);

/// The most runs without times. They show what an engine's own profile costs.
const MOST_UNTIMED: u64 = 10;

/// Whether a run counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measured { first_pass: bool },
    Untimed,
}

/// A measurement in progress. Several threads call its methods if runs are concurrent.
pub(super) struct Bench<'a> {
    session: &'a Session,
    inputs: &'a Inputs,
    repetition: &'a Repetition,
    context: &'a MeasureContext<'a>,
    start: ClockPair,
    /// The number of measured runs that began.
    next_run: AtomicU64,
    /// The least number of measured runs.
    least: u64,
    /// The number of runs after which the measurement ends, or decides whether to continue.
    goal: AtomicU64,
    /// The time just before the first measured run.
    began: OnceLock<Instant>,
    /// The width of the median's confidence interval when it was last computed, in percent, as the bits of an `f64`.
    width: AtomicU64,
    samples: Mutex<Samples>,
    /// Descriptions of the sets of inputs, by the number of the set. Each set is hashed once.
    described: Mutex<HashMap<usize, Arc<[InputEntry]>>>,
    failure: Mutex<Option<MeasureError>>,
    /// Whether the caller was notified of the size of the recording.
    has_expected: AtomicBool,
    /// Set by a thread whose run failed. The others then stop before their next run.
    over: AtomicBool,
}

#[derive(Default)]
struct Samples {
    runs: Vec<Sample>,
    planning: u64,
    /// Whether `until_stable` reached its limit.
    unstable: bool,
    /// How many numbers of runs were assigned, including those of warm-ups.
    numbers: u64,
    /// The kernels of the plans that ran.
    plans: Vec<Arc<[Kernel]>>,
    /// The memory that a run of those plans needs for tensors.
    memory: Option<PeakMemory>,
    /// The notes of those plans.
    notes: Vec<String>,
    /// The first set of inputs whose outputs have NaN or infinite elements.
    not_finite: Option<NotFiniteRun>,
    /// The different shapes of the inputs.
    shapes: Vec<Vec<Vec<usize>>>,
}

/// The moments of one run, in raw ticks.
#[derive(Clone, Copy)]
struct Sample {
    upload: (Ticks, Ticks),
    compute: (Ticks, Ticks),
    download: (Ticks, Ticks),
    batch: usize,
    /// The index of its inputs' shapes in [`Samples::shapes`].
    shape: usize,
}

impl Samples {
    /// Returns the index of these inputs' shapes, after adding them if they are new.
    fn shape_index(&mut self, inputs: &[Tensor]) -> usize {
        let is_same = |shapes: &Vec<Vec<usize>>| shapes.iter().map(Vec::as_slice).eq(inputs.iter().map(Tensor::shape));
        self.shapes.iter().position(is_same).unwrap_or_else(|| {
            self.shapes.push(inputs.iter().map(|input| input.shape().to_vec()).collect());
            self.shapes.len() - 1
        })
    }
}

impl<'a> Bench<'a> {
    pub fn new(
        session: &'a Session,
        inputs: &'a Inputs,
        repetition: &'a Repetition,
        context: &'a MeasureContext<'a>,
    ) -> Self {
        let least = repetition.loops.saturating_mul(inputs.len() as u64);
        Self {
            session,
            inputs,
            repetition,
            context,
            start: ClockPair::now(),
            next_run: AtomicU64::new(0),
            least,
            goal: AtomicU64::new(least),
            began: OnceLock::new(),
            width: AtomicU64::new(f64::NAN.to_bits()),
            samples: Mutex::default(),
            described: Mutex::default(),
            failure: Mutex::default(),
            has_expected: AtomicBool::new(false),
            over: AtomicBool::new(false),
        }
    }

    /// Warms up, then measures on one thread per concurrent run.
    pub fn run(self) -> (Measurement, Result<(), MeasureError>) {
        let instruments = self.context.instruments;
        instruments.set_run_kind(RunKind::WarmUp);
        self.warm_up();
        let untimed = self.untimed();
        instruments.set_run_kind(RunKind::Untimed);
        self.repeat(untimed.div_ceil(2), Phase::Untimed);
        instruments.set_run_kind(RunKind::Measured);
        self.began.get_or_init(Instant::now);
        std::thread::scope(|scope| {
            for _ in 1..self.repetition.concurrent.get() {
                scope.spawn(|| self.work());
            }
            self.work();
        });
        instruments.set_run_kind(RunKind::Untimed);
        self.repeat(untimed / 2, Phase::Untimed);
        if self.context.hooks.cancel.load(Ordering::Relaxed) {
            // All runs are over, so nothing is left that could take too long. The statistics of millions of runs take a
            // moment.
            (self.context.hooks.stage)(Stage::Closing);
        }
        self.finish()
    }

    /// Returns how many runs are done without times: half of them before the measured ones, half after. There are none
    /// if times cost next to nothing, if consumers take them anyway, or if runs overlap and could not be compared with
    /// them.
    fn untimed(&self) -> u64 {
        let is_alone = self.repetition.concurrent.get() == 1 && !self.session.feeds_consumers();
        if self.takes_times_from_a_profile() && is_alone { self.least.min(MOST_UNTIMED) } else { 0 }
    }

    /// Returns whether the engine writes and reads a profile of its own for every run.
    fn takes_times_from_a_profile(&self) -> bool {
        self.context.instruments.takes_times() && self.session.takes_times_from_a_profile()
    }

    fn warm_up(&self) {
        let began = Instant::now();
        self.repeat(self.repetition.warmups, Phase::WarmUp);
        while began.elapsed() < self.repetition.warm_up && !self.is_over() {
            self.repeat(1, Phase::WarmUp);
        }
    }

    fn repeat(&self, count: u64, phase: Phase) {
        for _ in 0..count {
            if self.is_over() {
                break;
            }
            self.attempt(|| self.one(0, phase));
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.context.hooks.cancel.load(Ordering::Relaxed)
    }

    /// The work of one thread: runs until the measurement is over.
    fn work(&self) {
        while !self.is_over() {
            let run = self.next_run.fetch_add(1, Ordering::Relaxed);
            if run >= self.goal.load(Ordering::Relaxed).min(self.limit()) && !self.extend(run) {
                return;
            }
            let sets = self.inputs.len() as u64;
            let index = (run % sets) as usize;
            self.attempt(|| self.one(index, Phase::Measured { first_pass: run < sets }));
            self.context.instruments.measure_load();
            (self.context.hooks.advanced)(run + 1, self.current_goal(run + 1));
            self.expect(run + 1);
        }
    }

    /// Notifies the caller once of the expected size of the recording.
    fn expect(&self, done: u64) {
        if self.has_expected.load(Ordering::Relaxed) {
            return;
        }
        let Some(bytes_per_run) = self.context.instruments.bytes_per_run() else { return };
        let runs = match self.current_goal(done) {
            Goal::Runs(all) => all as f64,
            // The first runs are slower than others, so they are no basis for an estimate.
            Goal::Time { passed, all } if passed < (all / 10).min(Duration::from_secs(1)) => return,
            Goal::Time { passed, all } => done as f64 * all.as_secs_f64() / passed.as_secs_f64(),
            Goal::Stable { .. } => return,
        };
        if !self.has_expected.swap(true, Ordering::Relaxed) {
            (self.context.hooks.expects)((runs * bytes_per_run) as u64);
        }
    }

    /// Returns the number of runs after which a measurement with `until_stable` ends because its time is over.
    fn limit(&self) -> u64 {
        let is_limited = self.repetition.until_stable.is_some();
        if is_limited && self.passed() >= self.most_time() { self.least } else { u64::MAX }
    }

    /// Returns the time since the first measured run began.
    fn passed(&self) -> Duration {
        self.began.get().map(Instant::elapsed).unwrap_or_default()
    }

    fn most_time(&self) -> Duration {
        most_time(self.repetition)
    }

    /// Returns the goal to report after `done` runs.
    fn current_goal(&self, done: u64) -> Goal {
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
            self.failure.lock().get_or_insert(error);
        }
    }

    /// Decides at the goal whether more runs are needed, and if so moves the goal. Returns whether this run is still
    /// needed.
    fn extend(&self, run: u64) -> bool {
        let Some(percent) = self.repetition.until_stable else {
            return self.repetition.duration.is_some_and(|all| self.passed() < all);
        };
        let mut samples = self.samples.lock();
        let goal = self.goal.load(Ordering::Relaxed);
        let is_over = self.passed() >= self.most_time() || goal >= MOST_RUNS;
        if run < goal && !is_over {
            return true;
        }
        let ticks = |sample: &Sample| sample.compute.1.as_raw().saturating_sub(sample.compute.0.as_raw()) as f64;
        let times: Vec<f64> = samples.runs.iter().map(ticks).collect();
        let width = width(&times).unwrap_or(f64::NAN);
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
        let instruments = self.context.instruments;
        if new_plan {
            instruments.planned(&**self.session.model(), &*plan)?;
            (self.context.hooks.stage)(Stage::Running);
        }
        instruments.set_inputs(run, || self.describe(index, &batch));
        let info = RunInfo {
            id: run,
            graph: self.session.graph(),
            kernels: plan.kernels(),
            fidelity: self.session.model().fidelity(),
        };
        let engine_end = EngineEnd::default();
        let observe = || {
            let mut observers = instruments.observe(&info, self.context.hooks.cancel);
            if self.takes_times_from_a_profile() {
                observers.push(Box::new(&engine_end));
            }
            self.session.observed_by(&info, observers)
        };
        let inference = match Inference::run(&*plan, run, &batch.tensors, observe) {
            // The run was cancelled. The runs before it count, but this one does not.
            Err(EngineError::Stopped(_)) if self.context.hooks.cancel.load(Ordering::Relaxed) => return Ok(()),
            outcome => outcome?,
        };
        let Inference { upload, download, .. } = inference;
        let compute = engine_end.of(inference.compute);
        let output = |(slot, copied): (usize, Result<Tensor, TensorError>)| match copied {
            Ok(tensor) => Ok(Some(tensor)),
            // The output holds strings, which the measurement does not need.
            Err(TensorError::NoBytes(_)) => Ok(None),
            Err(source) => Err(MeasureError::Output { name: graph.value(graph.outputs[slot]).name.clone(), source }),
        };
        let host = inference.outputs.into_iter().enumerate().map(output).collect::<Result<Vec<_>, _>>()?;
        if let Phase::Measured { first_pass } = phase {
            let size = batch.tensors.first().and_then(|tensor| tensor.shape().first()).copied().unwrap_or(1);
            let mut samples = self.samples.lock();
            let shape = samples.shape_index(&batch.tensors);
            samples.runs.push(Sample { upload, compute, download, batch: size, shape });
            drop(samples);
            if first_pass {
                self.note_not_finite(index, NotFiniteOutput::find(graph, &host));
                (self.context.outputs)(index, &batch, &host)?;
            }
        }
        Ok(())
    }

    fn note_not_finite(&self, index: usize, outputs: Vec<NotFiniteOutput>) {
        let mut samples = self.samples.lock();
        if !outputs.is_empty() && samples.not_finite.as_ref().is_none_or(|first| index < first.set) {
            samples.not_finite = Some(NotFiniteRun { set: index, outputs });
        }
    }

    fn describe(&self, index: usize, batch: &Batch) -> Arc<[InputEntry]> {
        let mut described = self.described.lock();
        let describe = || InputEntry::of(self.session.graph(), &batch.tensors);
        Arc::clone(described.entry(index).or_insert_with(describe))
    }

    /// Returns the number of the next run, and whether its plan is new.
    fn number(&self, plan: &dyn Plan) -> (RunId, bool) {
        let mut samples = self.samples.lock();
        let run = RunId(self.context.first_run + samples.numbers);
        samples.numbers += 1;
        let is_new = !samples.plans.iter().any(|known| Arc::ptr_eq(known, plan.kernels()));
        if is_new {
            samples.plans.push(Arc::clone(plan.kernels()));
            let (start, end) = plan.made();
            samples.planning += end.as_raw().saturating_sub(start.as_raw());
            let memory = plan.memory();
            let is_known = self.session.engine().capabilities(self.session.model().fidelity()).memory;
            if is_known && samples.memory.is_none_or(|most| memory.peak > most.memory.peak) {
                let operator = memory.at.and_then(|kernel| plan.kernels()[kernel.index()].operator());
                samples.memory = Some(PeakMemory { memory, operator });
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
        let samples = self.samples.into_inner();
        let calibration = Calibration::since(self.start);
        let millis = |(start, end): (Ticks, Ticks)| calibration.nanos(start, end) / 1e6;
        let runs = &samples.runs;
        let mut measurement = Measurement {
            upload: runs.iter().map(|run| millis(run.upload)).collect(),
            compute: runs.iter().map(|run| millis(run.compute)).collect(),
            download: runs.iter().map(|run| millis(run.download)).collect(),
            planning: samples.planning as f64 * calibration.nanos_per_tick() / 1e6,
            batch_size: runs.iter().map(|run| run.batch as f64).sum::<f64>() / runs.len().max(1) as f64,
            cancelled: self.context.hooks.cancel.load(Ordering::Relaxed),
            runs: samples.numbers,
            shape_of: runs.iter().map(|run| run.shape).collect(),
            shapes: samples.shapes,
            memory: samples.memory,
            notes: samples.notes,
            not_finite: samples.not_finite,
            unstable: samples.unstable,
            busy: 0.0,
        };
        let mut intervals: Vec<(Ticks, Ticks)> = runs.iter().map(|run| run.compute).collect();
        intervals.sort();
        let mut covered = Ticks::default();
        for (start, end) in intervals {
            if end > covered {
                measurement.busy += millis((start.max(covered), end));
                covered = end;
            }
        }
        let failure = self.failure.into_inner();
        (measurement, failure.map_or(Ok(()), Err))
    }
}

/// Returns the width of the median's confidence interval in percent of the median, both as the report shows them.
fn width(times: &[f64]) -> Option<f64> {
    let estimate = MedianEstimate::of(times, 1.0)?;
    let (low, high) = estimate.interval?;
    Some((high - low) / estimate.median * 100.0)
}

fn most_time(repetition: &Repetition) -> Duration {
    repetition.duration.unwrap_or(MOST_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_stable_ends_after_a_minute_unless_a_duration_is_given() {
        let stable = Repetition { until_stable: Some(1.0), ..Repetition::default() };
        assert_eq!(most_time(&stable), Duration::from_secs(60));
        let limited = Repetition { duration: Some(Duration::from_secs(7)), ..stable };
        assert_eq!(most_time(&limited), Duration::from_secs(7));
        assert_eq!(MOST_RUNS, 100_000);
    }

    /// With an even number of runs, the median is the mean of the two in the middle.
    #[test]
    fn the_width_is_that_of_the_median_that_the_report_shows() {
        assert_eq!(width(&[1.0, 3.0, 1.0, 3.0, 1.0, 3.0]), Some(100.0));
        assert_eq!(width(&[1.0; 5]), None);
    }
}
