//! Two runs at the same time, operator by operator: one of the reference, and one beside it that sees the reference's
//! outputs. Only the values of a few operators are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Dispatch, EngineError, Interest, Iteration, Kernel, KernelId, KernelSet, Plan, RunId, RunObserver,
};
use opscope_onnx::{Lowering, OperatorId};
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, TensorError, TensorView};

use super::errors::OperatorError;
use super::limits::{Limits, run};
use super::lowered_run::{RoundedSlots, cannot_round};

/// What was measured at each operator.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    pub error: OperatorError,
    /// Whether the engine shows the operator.
    pub is_shown: bool,
    /// The time that it took in float32, in ticks of the clock.
    pub ticks: u64,
}

/// Runs a plan twice on the same inputs. Adds to `measured`, by operator, what the narrower type does to each operator that
/// can be lowered, given the reference's inputs, and its time in the reference. Returns the reference's outputs.
///
/// # Errors
/// Returns an error if the engine fails, or stops because the search is over.
pub(super) fn measure(
    plan: &dyn Plan,
    inputs: &[Tensor],
    slots: &[Option<RoundedSlots>],
    lowering: &Lowering<'_>,
    measured: &mut [Measured],
    limits: Limits<'_>,
) -> Result<Vec<Tensor>, EngineError> {
    let wanted: Vec<bool> =
        slots.iter().map(|slots| slots.as_ref().is_some_and(|slots| slots.outputs.contains(&true))).collect();
    let errors = Mutex::new(vec![OperatorError::default(); measured.len()]);
    let outputs = beside((plan, plan), inputs, &wanted, measured, limits, |reference| Rounded {
        slots,
        lowering,
        wanted: &wanted,
        reference,
        errors: &errors,
    })?;
    for (measured, error) in measured.iter_mut().zip(errors.into_inner()) {
        measured.error.join(&error);
    }
    for (kernel, _) in plan.kernels().iter().zip(slots).filter(|(_, slots)| slots.is_some()) {
        if let Some(operator) = kernel.operator() {
            measured[operator.index()].is_shown = true;
        }
    }
    Ok(outputs)
}

/// Runs the plan of the reference and another one at the same time on the same inputs. The observer of the other one gets
/// the outputs of the reference's kernels that are wanted. Adds the time of each operator in the reference to `measured`.
/// Returns the reference's outputs.
///
/// # Errors
/// Returns an error if an engine fails, or stops because the search is over.
pub(super) fn beside<O: RunObserver>(
    (original, other): (&dyn Plan, &dyn Plan),
    inputs: &[Tensor],
    wanted: &[bool],
    measured: &mut [Measured],
    limits: Limits<'_>,
    observer: impl FnOnce(ReferenceOutputs) -> O,
) -> Result<Vec<Tensor>, EngineError> {
    let (sender, receiver) = sync_channel(1);
    let times: Vec<AtomicU64> = original.kernels().iter().map(|_| AtomicU64::new(0)).collect();
    let outputs = thread::scope(|scope| {
        let reference =
            scope.spawn(|| run(original, RunId(0), inputs, Reference { wanted, sender, times: &times, limits }));
        let queue = Mutex::new((receiver, HashMap::new()));
        let beside = run(other, RunId(1), inputs, observer(ReferenceOutputs(queue)));
        let reference = reference.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // If one of them fails, the other only says that it is alone.
        match (reference, beside) {
            (Ok(outputs), Ok(_)) => Ok(outputs),
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
            (Err(EngineError::Stopped(_)), Err(error)) | (Err(error), Err(_)) => Err(error),
        }
    });
    for (kernel, ticks) in original.kernels().iter().zip(times) {
        if let Some(operator) = kernel.operator() {
            measured[operator.index()].ticks += ticks.into_inner();
        }
    }
    outputs
}

/// The other of two runs has ended.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the other run has ended")]
pub(super) struct Alone;

/// The outputs of one execution of a kernel of the reference.
type Outputs = (OperatorId, Vec<Tensor>);

/// Sends the outputs of the reference.
struct Reference<'a> {
    wanted: &'a [bool],
    sender: SyncSender<Outputs>,
    times: &'a [AtomicU64],
    limits: Limits<'a>,
}

impl RunObserver for Reference<'_> {
    fn interest(&self) -> Interest {
        let after = KernelSet::Mask(self.wanted.iter().copied().collect());
        Interest { after, times: true, ..Interest::default() }
    }

    fn timed(&self, kernel: KernelId, _path: &[Iteration], start: Ticks, end: Ticks) {
        self.times[kernel.index()].fetch_add(end.as_raw().saturating_sub(start.as_raw()), Ordering::Relaxed);
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some(operator) = dispatch.kernel.operator() else { return Action::Continue };
        if self.limits.is_over() {
            return Action::Stop("the search is over".to_owned());
        }
        let copies: Result<Vec<_>, _> = outputs.iter().map(TensorView::to_tensor).collect();
        match copies {
            Ok(copies) => match self.sender.send((operator, copies)) {
                Ok(()) => Action::Continue,
                Err(_) => Action::Stop(Alone.to_string()),
            },
            Err(error) => Action::Stop(format!("a value cannot be copied: {error}")),
        }
    }
}

/// Receives the outputs of the reference. Those of operators that the other run executes later wait here.
pub(super) struct ReferenceOutputs(Mutex<(Receiver<Outputs>, Waiting)>);

/// Outputs by operator, in the order of its executions.
type Waiting = HashMap<OperatorId, VecDeque<Vec<Tensor>>>;

impl ReferenceOutputs {
    /// Returns the outputs of the next execution of an operator.
    ///
    /// # Errors
    /// Returns an error if the reference ended without it.
    pub fn of(&self, operator: OperatorId) -> Result<Vec<Tensor>, Alone> {
        let mut queue = self.0.lock();
        let (receiver, waiting) = &mut *queue;
        loop {
            if let Some(outputs) = waiting.get_mut(&operator).and_then(VecDeque::pop_front) {
                return Ok(outputs);
            }
            let (sent, outputs) = receiver.recv().map_err(|_| Alone)?;
            waiting.entry(sent).or_default().push_back(outputs);
        }
    }
}

/// Why the run beside the reference stops.
#[derive(Debug, thiserror::Error)]
enum BesideError {
    #[error(transparent)]
    Alone(#[from] Alone),
    #[error("{}", cannot_round(.0))]
    Round(#[from] TensorError),
}

/// Computes each operator in the narrower type, from the reference's values.
struct Rounded<'a> {
    slots: &'a [Option<RoundedSlots>],
    lowering: &'a Lowering<'a>,
    wanted: &'a [bool],
    reference: ReferenceOutputs,
    errors: &'a Mutex<Vec<OperatorError>>,
}

impl Rounded<'_> {
    fn slots_of(&self, kernel: &Kernel) -> Option<(&RoundedSlots, OperatorId)> {
        Some((self.slots[kernel.id.index()].as_ref()?, kernel.operator()?))
    }

    fn compare(
        &self,
        operator: OperatorId,
        slots: &RoundedSlots,
        outputs: &[TensorView<'_>],
    ) -> Result<Vec<Tensor>, BesideError> {
        let reference = self.reference.of(operator)?;
        let rounded = RoundedSlots::rounded(&slots.outputs, outputs, self.lowering)?.unwrap_or_default();
        let mut errors = self.errors.lock();
        let error = &mut errors[operator.index()];
        for (slot, ((computed, rounded), reference)) in outputs.iter().zip(&rounded).zip(&reference).enumerate() {
            if let (true, Some(bytes)) = (slots.outputs[slot], computed.bytes()) {
                error.add_output(bytes, rounded.bytes(), reference.bytes(), self.lowering.dtype());
            }
        }
        Ok(reference)
    }
}

impl RunObserver for Rounded<'_> {
    fn interest(&self) -> Interest {
        let before = KernelSet::Mask(self.slots.iter().map(Option::is_some).collect());
        let after = KernelSet::Mask(self.wanted.iter().copied().collect());
        Interest { before, after, replaces_inputs: true, ..Interest::default() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let Some((slots, operator)) = self.slots_of(dispatch.kernel) else { return Action::Continue };
        match RoundedSlots::rounded(&slots.inputs, inputs, self.lowering) {
            Ok(None) => Action::Continue,
            Ok(Some(tensors)) => {
                let mut errors = self.errors.lock();
                for (slot, (input, rounded)) in inputs.iter().zip(&tensors).enumerate() {
                    if let (true, Some(bytes)) = (slots.inputs[slot], input.bytes()) {
                        errors[operator.index()].add_input(bytes, rounded.bytes());
                    }
                }
                Action::ReplaceInputs(tensors)
            }
            Err(error) => Action::Stop(cannot_round(&error)),
        }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some((slots, operator)) = self.slots_of(dispatch.kernel) else { return Action::Continue };
        match self.compare(operator, slots, outputs) {
            Ok(reference) => Action::Replace(reference),
            Err(error) => Action::Stop(error.to_string()),
        }
    }
}
