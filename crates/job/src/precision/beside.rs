//! Two runs at the same time, operator by operator: one of the reference, and one beside it that sees the reference's
//! outputs. Only the values of one operator are kept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use opscope::Inference;
use opscope_clock::Ticks;
use opscope_model::{
    Action, Dispatch, EngineError, Interest, Iteration, Kernel, KernelId, KernelSet, Plan, RunId, RunObserver,
};
use opscope_onnx::Lowering;
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, TensorView};

use super::errors::OperatorError;
use super::lowered_run::RoundedSlots;

/// The outputs of a kernel of the reference.
type Outputs = (KernelId, Vec<Tensor>);

/// What was measured at each kernel.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measured {
    pub error: OperatorError,
    /// The time that it took in float32, in ticks of the clock.
    pub ticks: u64,
}

/// Runs a plan twice on the same inputs. Adds to `measured`, by kernel, what the narrower type does to each operator that
/// can be lowered, given the reference's inputs, and its time in the reference. Returns the reference's outputs.
///
/// # Errors
/// Returns an error if the engine fails.
pub(super) fn measure(
    plan: &dyn Plan,
    inputs: &[Tensor],
    slots: &[Option<RoundedSlots>],
    lowering: &Lowering<'_>,
    measured: &mut [Measured],
) -> Result<Vec<Tensor>, EngineError> {
    let times = measured.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let (sender, receiver) = sync_channel(1);
    let wanted: Vec<bool> =
        slots.iter().map(|slots| slots.as_ref().is_some_and(|slots| slots.outputs.contains(&true))).collect();
    let beside =
        Beside { slots, lowering, wanted: &wanted, reference: Mutex::new(receiver), measured: Mutex::new(measured) };
    let outputs = thread::scope(|scope| {
        let reference = scope.spawn(|| {
            let observer = Reference { wanted: &wanted, sender, times: &times };
            run(plan, RunId(0), inputs, observer)
        });
        let beside = run(plan, RunId(1), inputs, beside);
        let reference = reference.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // If one of them fails, the other only says that it is alone.
        match (reference, beside) {
            (Ok(outputs), Ok(_)) => Ok(outputs),
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
            (Err(EngineError::Stopped(_)), Err(error)) | (Err(error), Err(_)) => Err(error),
        }
    });
    for (measured, ticks) in measured.iter_mut().zip(times) {
        measured.ticks += ticks.into_inner();
    }
    outputs
}

/// Runs a plan and returns its outputs. Those without a byte form are empty.
pub(super) fn run(
    plan: &dyn Plan,
    id: RunId,
    inputs: &[Tensor],
    observer: impl RunObserver,
) -> Result<Vec<Tensor>, EngineError> {
    let outputs = Inference::run(plan, id, inputs, || Box::new(observer))?.outputs;
    let copies: Result<_, _> = outputs.into_iter().collect();
    copies.map_err(|error| EngineError::Run { node: None, reason: format!("an output cannot be copied: {error}") })
}

const ALONE: &str = "the other run has ended";

/// Sends the outputs of the reference.
struct Reference<'a> {
    wanted: &'a [bool],
    sender: SyncSender<Outputs>,
    times: &'a [AtomicU64],
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
        let copies: Result<Vec<_>, _> = outputs.iter().map(TensorView::to_tensor).collect();
        match copies {
            Ok(copies) => match self.sender.send((dispatch.kernel.id, copies)) {
                Ok(()) => Action::Continue,
                Err(_) => Action::Stop(ALONE.to_owned()),
            },
            Err(error) => Action::Stop(format!("a value cannot be copied: {error}")),
        }
    }
}

/// Computes each operator in the narrower type, from the reference's values.
struct Beside<'a> {
    slots: &'a [Option<RoundedSlots>],
    lowering: &'a Lowering<'a>,
    wanted: &'a [bool],
    reference: Mutex<Receiver<Outputs>>,
    measured: Mutex<&'a mut [Measured]>,
}

impl Beside<'_> {
    fn outputs_of(&self, kernel: &Kernel) -> Result<Vec<Tensor>, String> {
        match self.reference.lock().recv() {
            Ok((id, outputs)) if id == kernel.id => Ok(outputs),
            Ok((id, _)) => {
                Err(format!("the two runs differ: one executes kernel {}, the other {}", kernel.id.index(), id.index()))
            }
            Err(_) => Err(ALONE.to_owned()),
        }
    }

    fn compare(
        &self,
        kernel: &Kernel,
        slots: &RoundedSlots,
        outputs: &[TensorView<'_>],
    ) -> Result<Vec<Tensor>, String> {
        let reference = self.outputs_of(kernel)?;
        let rounded = RoundedSlots::rounded(&slots.outputs, outputs, self.lowering)?.unwrap_or_default();
        let mut measured = self.measured.lock();
        let error = &mut measured[kernel.id.index()].error;
        for (slot, ((computed, rounded), reference)) in outputs.iter().zip(&rounded).zip(&reference).enumerate() {
            if let (true, Some(bytes)) = (slots.outputs[slot], computed.bytes()) {
                error.add_output(bytes, rounded.bytes(), reference.bytes(), self.lowering.dtype());
            }
        }
        Ok(reference)
    }
}

impl RunObserver for Beside<'_> {
    fn interest(&self) -> Interest {
        let before = KernelSet::Mask(self.slots.iter().map(Option::is_some).collect());
        let after = KernelSet::Mask(self.wanted.iter().copied().collect());
        Interest { before, after, replaces_inputs: true, ..Interest::default() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let Some(slots) = &self.slots[dispatch.kernel.id.index()] else { return Action::Continue };
        match RoundedSlots::rounded(&slots.inputs, inputs, self.lowering) {
            Ok(None) => Action::Continue,
            Ok(Some(tensors)) => {
                let mut measured = self.measured.lock();
                let error = &mut measured[dispatch.kernel.id.index()].error;
                for (slot, (input, rounded)) in inputs.iter().zip(&tensors).enumerate() {
                    if let (true, Some(bytes)) = (slots.inputs[slot], input.bytes()) {
                        error.add_input(bytes, rounded.bytes());
                    }
                }
                Action::ReplaceInputs(tensors)
            }
            Err(reason) => Action::Stop(reason),
        }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some(slots) = &self.slots[dispatch.kernel.id.index()] else { return Action::Continue };
        match self.compare(dispatch.kernel, slots, outputs) {
            Ok(reference) => Action::Replace(reference),
            Err(reason) => Action::Stop(reason),
        }
    }
}
