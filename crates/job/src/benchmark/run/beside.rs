use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use opscope::{Inference, Session};
use opscope_model::{Instrument, RunId, RunInfo};
use opscope_profile::{Account, Profiler, ProfilerOptions, Recording, RunKind};

use crate::benchmark::job::{CaptureSpec, Job, JobHooks};
use crate::inputs::Inputs;
use crate::roofline::{self, Unmeasured};

/// The most runs with the profiler.
const MOST_RUNS: u64 = 50;

/// The most time for these runs.
const MOST_TIME: Duration = Duration::from_millis(200);

/// The longest run that is repeated only to be profiled, in milliseconds.
const LONGEST_RUN: f64 = 1_000.0;

impl Job {
    /// Runs the model a few more times with a profiler, to see what its operators take. This does not disturb the
    /// measured runs, which are over. The recording is in a temporary directory and is not kept. The first of these
    /// runs does not count.
    ///
    /// `median` is the median time of the measured runs in milliseconds. Returns `None` if the job does not request
    /// this, if the median is too long, if an instrument or a consumer observes the runs and would also see these, or
    /// if a step fails. The benchmark is complete without it.
    pub(super) fn profile_beside(
        &self,
        session: &Session,
        inputs: &Inputs,
        median: Option<f64>,
        first_run: u64,
        hooks: &JobHooks<'_>,
    ) -> Option<Account> {
        let is_watched = !matches!(self.capture, CaptureSpec::Nothing) || self.debugger.is_some();
        if !self.profile_beside || is_watched || session.feeds_consumers() || median? > LONGEST_RUN {
            return None;
        }
        let place = tempfile::tempdir().ok()?;
        let directory = place.path().join("recording");
        let profiler = Profiler::create(&directory, &session.recording_info(1), &ProfilerOptions::default()).ok()?;
        session.check(&profiler).ok()?;
        let mut began = Instant::now();
        for run in 0..=MOST_RUNS {
            if hooks.cancel.load(Ordering::Relaxed) || (run > 1 && began.elapsed() > MOST_TIME) {
                break;
            }
            profiler.set_run_kind(if run == 0 { RunKind::WarmUp } else { RunKind::Measured });
            run_profiled(session, inputs, RunId(first_run + run), &profiler)?;
            if run == 0 {
                began = Instant::now();
            }
        }
        profiler.finish().ok()?;
        let recording = Recording::open(&directory).ok()?;
        let mut account = recording.account().ok().filter(|account| account.runs.measured > 0)?;
        let caches = self.verify.cache_directory.as_deref();
        if let Ok(Some(machine)) = roofline::of_recording(recording.manifest(), caches, Unmeasured::Skip) {
            account.compare_with(machine);
        }
        Some(account)
    }
}

fn run_profiled(session: &Session, inputs: &Inputs, id: RunId, profiler: &Profiler) -> Option<()> {
    let batch = inputs.batch(session.graph(), 0).ok()?;
    let plan = session.model().plan(&batch.tensors).ok()?;
    let (graph, fidelity) = (session.graph(), session.model().fidelity());
    let info = RunInfo { id, graph, kernels: plan.kernels(), fidelity };
    let observe = || session.observed_by(&info, [profiler.observe(&info)]);
    Inference::run(&*plan, id, &batch.tensors, observe).ok().map(|_| ())
}
