use opscope_clock::Ticks;
use opscope_model::{
    Action, DeviceTensors, Dispatch, EngineError, Interest, KernelId, KernelSet, RunObserver, TensorMemory,
};
use opscope_producer::{Copied, Direction, MemoryOperation, RunFeed};
use opscope_tensor::TensorView;

/// The observer that feeds a run to consumers. It never changes the run.
pub(super) struct Fed(pub RunFeed);

impl RunObserver for Fed {
    fn interest(&self) -> Interest {
        let wanted = self.0.interest();
        Interest {
            before: if wanted.dispatch_begin { KernelSet::All } else { KernelSet::Empty },
            times: wanted.dispatch_end,
            memory: wanted.allocation,
            ..Interest::default()
        }
    }

    // The engine executes operators in bodies of control flow as part of the kernel around them, so the path is empty here
    // and in `timed`.
    fn before(&self, dispatch: &Dispatch<'_>, _inputs: &[TensorView<'_>]) -> Action {
        self.0.dispatch_begin(dispatch.kernel.id.index(), &[]);
        Action::Continue
    }

    fn timed(&self, kernel: KernelId, start: Ticks, end: Ticks) {
        self.0.dispatch_end(kernel.index(), &[], start, end);
    }

    fn allocated(&self, memory: TensorMemory, at: Ticks) {
        self.0.memory(MemoryOperation::Allocate, memory.address, memory.bytes, at);
    }

    fn freed(&self, memory: TensorMemory, at: Ticks) {
        self.0.memory(MemoryOperation::Free, memory.address, memory.bytes, at);
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.0.finished(outcome.is_ok());
    }

    fn uploaded(&self, inputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.copied(Direction::HostToDevice, inputs, start, end);
        if self.0.interest().allocation {
            for input in (0..inputs.len()).map(|slot| inputs.view(slot)) {
                if let Some(bytes) = input.bytes().filter(|bytes| !bytes.is_empty()) {
                    let (address, bytes) = (bytes.as_ptr().addr() as u64, bytes.len() as u64);
                    self.0.memory(MemoryOperation::Allocate, address, bytes, end);
                }
            }
        }
    }

    fn downloaded(&self, outputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.copied(Direction::DeviceToHost, outputs, start, end);
    }
}

impl Fed {
    /// Tensors of strings have no form as bytes and count as tensors only.
    fn copied(&self, direction: Direction, tensors: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        let bytes = (0..tensors.len()).filter_map(|slot| tensors.view(slot).bytes().map(|bytes| bytes.len() as u64));
        let copied = Copied { direction, bytes: bytes.sum(), tensors: tensors.len() as u64 };
        self.0.copied(copied, start, end);
    }
}
