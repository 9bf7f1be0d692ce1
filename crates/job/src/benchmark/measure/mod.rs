//! The measured runs of a benchmark.

mod bench;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope::Session;
use opscope_clock::Ticks;
use opscope_model::{EngineError, Interest, RunMemory, RunObserver};
use opscope_onnx::OperatorId;
use opscope_tensor::{Tensor, TensorError};

use self::bench::Bench;
use super::instruments::Instruments;
use super::job::{JobHooks, Repetition};
use super::not_finite::NotFiniteOutput;
use crate::inputs::{Batch, InputError, Inputs};

/// Takes the outputs of a run and the number of its set of inputs. An output without a byte form is `None`.
pub(super) type TakeOutputs<'a> = dyn Fn(usize, &Batch, &[Option<Tensor>]) -> io::Result<()> + Sync + 'a;

/// What observes a measurement, and what takes its outputs.
pub(super) struct MeasureContext<'a> {
    /// The instruments of its runs.
    pub instruments: &'a Instruments,
    /// The caller's hooks.
    pub hooks: JobHooks<'a>,
    /// Called with the outputs of the first run of each set of inputs.
    pub outputs: &'a TakeOutputs<'a>,
    /// The number of the first run.
    pub first_run: u64,
}

/// The times of a benchmark's measured runs, in order of their end.
#[derive(Debug, Default)]
pub(super) struct Measurement {
    /// The times in which inputs were copied to the engine, in milliseconds.
    pub upload: Vec<f64>,
    /// The times of the inferences themselves, in milliseconds.
    pub compute: Vec<f64>,
    /// The times in which outputs were copied back, in milliseconds.
    pub download: Vec<f64>,
    /// The time in which at least one inference was in progress, in milliseconds. It is shorter than the sum of
    /// `compute` if runs overlapped.
    pub busy: f64,
    /// The time that making the plans took, in milliseconds.
    pub planning: f64,
    /// Samples per run: the first dimension of the first input, averaged over the runs.
    pub batch_size: f64,
    /// Whether the measurement was cancelled.
    pub cancelled: bool,
    /// The number of runs that began, including warm-ups.
    pub runs: u64,
    /// The different shapes of the inputs, in the order in which they occurred.
    pub shapes: Vec<Vec<Vec<usize>>>,
    /// For every inference time, the index of its inputs' shapes in `shapes`.
    pub shape_of: Vec<usize>,
    /// The memory that a run needs for tensors. With several plans, it is that of the plan that needs the most.
    pub memory: Option<PeakMemory>,
    /// Notes on how the plans run the model.
    pub notes: Vec<String>,
    /// The first set of inputs whose outputs have NaN or infinite elements.
    pub not_finite: Option<NotFiniteRun>,
    /// Whether it reached its limit before the median was stable enough.
    pub unstable: bool,
}

/// The memory that a run of a plan needs for tensors.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeakMemory {
    /// What the engine reports about it.
    pub memory: RunMemory,
    /// The operator that is executed when the run needs the most.
    pub operator: Option<OperatorId>,
}

/// A run whose outputs have NaN or infinite elements.
#[derive(Debug)]
pub(super) struct NotFiniteRun {
    /// The number of the set of inputs, from 0.
    pub set: usize,
    /// The outputs with such elements.
    pub outputs: Vec<NotFiniteOutput>,
}

/// Why a measurement ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The inputs cannot be read or do not fit.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The dumper cannot capture the plan.
    #[error(transparent)]
    Dump(#[from] opscope_dump::DumpError),
    /// An output cannot be copied.
    #[error("output '{name}' cannot be copied: {source}")]
    Output {
        /// The output.
        name: String,
        /// The reason.
        source: TensorError,
    },
    /// The outputs cannot be written.
    #[error("the outputs cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl MeasureError {
    /// Returns whether other inputs may succeed, because the error is not one of writing the results.
    pub(super) fn is_of_these_inputs(&self) -> bool {
        match self {
            Self::Input(_) | Self::Engine(_) | Self::Output { .. } => true,
            Self::Dump(_) | Self::Write(_) => false,
        }
    }
}

/// Runs a model on its inputs and takes the times. Returns the measurement, and the error if one ended it early.
pub(super) fn measure(
    session: &Session,
    inputs: &Inputs,
    repetition: &Repetition,
    context: &MeasureContext<'_>,
) -> (Measurement, Result<(), MeasureError>) {
    Bench::new(session, inputs, repetition, context).run()
}

/// The moment when an engine had run the model, in a run after which it writes and reads its own profile. That work
/// belongs to the profile and not to the inference.
#[derive(Default)]
struct EngineEnd(AtomicU64);

impl EngineEnd {
    /// Returns the span of an inference without the work on the profile after it.
    pub fn of(&self, (start, end): (Ticks, Ticks)) -> (Ticks, Ticks) {
        match self.0.load(Ordering::Relaxed) {
            0 => (start, end),
            ended => (start, Ticks::from_raw(ended).clamp(start, end)),
        }
    }
}

impl RunObserver for &EngineEnd {
    fn interest(&self) -> Interest {
        Interest { times: true, ..Interest::default() }
    }

    fn profiled(&self, start: Ticks, _end: Ticks) {
        self.0.store(start.as_raw(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inference_ends_where_the_engines_work_on_its_profile_begins() {
        let ticks = |(start, end)| (Ticks::from_raw(start), Ticks::from_raw(end));
        let end = EngineEnd::default();
        assert_eq!(end.of(ticks((10, 90))), ticks((10, 90)), "an engine without a profile");
        (&end).profiled(Ticks::from_raw(40), Ticks::from_raw(80));
        assert_eq!(end.of(ticks((10, 90))), ticks((10, 40)));
        assert_eq!(end.of(ticks((50, 90))), ticks((50, 50)));
    }
}
