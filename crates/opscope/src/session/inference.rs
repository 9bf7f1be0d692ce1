use opscope_clock::Ticks;
use opscope_model::{DeviceTensors, EngineError, Plan, RunId, RunObserver};
use opscope_tensor::{Tensor, TensorError};
use opscope_trace::correlate;

/// One run of a plan: its inputs are copied into the engine's memory, the plan runs, and its outputs are copied out.
pub struct Inference {
    /// The outputs by slot. An output of strings has no byte form, so its entry is an error.
    pub outputs: Vec<Result<Tensor, TensorError>>,
    /// The start and end of copying the inputs.
    pub upload: (Ticks, Ticks),
    /// The start and end of the engine's run.
    pub compute: (Ticks, Ticks),
    /// The start and end of copying the outputs.
    pub download: (Ticks, Ticks),
}

impl Inference {
    /// Runs on the calling thread. What the thread records in the meantime has a correlation id of its own, which is
    /// retired after the last record of the run. The observer is created when the thread has that id, and dropped
    /// before the id is retired.
    ///
    /// # Errors
    /// Returns an error if the inputs do not fit the plan, the engine fails, or an observer stopped the run.
    pub fn run<'a>(
        plan: &dyn Plan,
        run: RunId,
        inputs: &[Tensor],
        observe: impl FnOnce() -> Box<dyn RunObserver + 'a>,
    ) -> Result<Self, EngineError> {
        let _correlated = correlate();
        let observer = observe();
        let (outputs, upload, compute) = compute(plan, run, inputs, &*observer)?;
        let (copies, download) = timed(|| (0..outputs.len()).map(|slot| outputs.view(slot).to_tensor()).collect());
        observer.downloaded(&*outputs, download.0, download.1);
        Ok(Self { outputs: copies, upload, compute, download })
    }
}

/// Copies the inputs into the engine's memory and runs. The outputs stay in the engine's memory.
pub(crate) fn compute(
    plan: &dyn Plan,
    run: RunId,
    inputs: &[Tensor],
    observer: &dyn RunObserver,
) -> Result<Computed, EngineError> {
    let (resident, upload) = timed(|| plan.upload(inputs));
    let resident = resident.inspect_err(|error| observer.finished(Err(error)))?;
    observer.uploaded(&*resident, upload.0, upload.1);
    let (outputs, compute) = timed(|| plan.run_once(run, resident, inputs, observer));
    Ok((outputs?, upload, compute))
}

/// The outputs, and the start and end of copying the inputs and of the engine's run.
type Computed = (Box<dyn DeviceTensors>, (Ticks, Ticks), (Ticks, Ticks));

fn timed<T>(work: impl FnOnce() -> T) -> (T, (Ticks, Ticks)) {
    let start = Ticks::now();
    let result = work();
    (result, (start, Ticks::now()))
}
