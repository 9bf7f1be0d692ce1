use std::sync::atomic::{AtomicBool, Ordering};

use opscope_clock::Ticks;
use opscope_model::{
    Action, DeviceTensors, Dispatch, EngineError, Interest, Iteration, KernelId, RunObserver, TensorMemory,
};
use opscope_tensor::TensorView;

/// An observer that stops its run between two operators when a flag is set. A run at exact fidelity may take long, and
/// captured data must reach the disk soon after the user interrupts the run.
pub(super) struct Interruptible<'a> {
    pub inner: Box<dyn RunObserver + 'a>,
    pub cancel: &'a AtomicBool,
}

impl Interruptible<'_> {
    fn unless_cancelled(&self, action: Action) -> Action {
        if self.cancel.load(Ordering::Relaxed) { Action::Stop("interrupted".to_owned()) } else { action }
    }
}

impl RunObserver for Interruptible<'_> {
    fn interest(&self) -> Interest {
        self.inner.interest()
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.unless_cancelled(self.inner.before(dispatch, inputs))
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.unless_cancelled(self.inner.after(dispatch, outputs))
    }

    fn started(&self, kernel: KernelId, path: &[Iteration]) {
        self.inner.started(kernel, path);
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        self.inner.timed(kernel, path, start, end);
    }

    fn allocated(&self, memory: TensorMemory, at: Ticks) {
        self.inner.allocated(memory, at);
    }

    fn freed(&self, memory: TensorMemory, at: Ticks) {
        self.inner.freed(memory, at);
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.inner.finished(outcome);
    }

    fn uploaded(&self, inputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.inner.uploaded(inputs, start, end);
    }

    fn downloaded(&self, outputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.inner.downloaded(outputs, start, end);
    }
}
