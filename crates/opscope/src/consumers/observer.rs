use opscope_clock::Ticks;
use opscope_model::{DeviceTensors, EngineError, Interest, Iteration, KernelId, RunObserver, TensorMemory};
use opscope_producer::{Copied, Direction, MemoryOperation, RunFeed};

/// The observer that feeds a run to consumers. It never changes the run.
pub(super) struct Fed(pub RunFeed);

impl RunObserver for Fed {
    fn interest(&self) -> Interest {
        let wanted = self.0.interest();
        Interest {
            starts: wanted.dispatch_begin,
            times: wanted.dispatch_end,
            memory: wanted.allocation,
            ..Interest::default()
        }
    }

    fn started(&self, kernel: KernelId, path: &[Iteration]) {
        with_path(path, |path| self.0.dispatch_begin(kernel.index(), path));
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        with_path(path, |path| self.0.dispatch_end(kernel.index(), path, start, end));
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
    /// Tensors of strings have no byte form. They count as tensors, but not as bytes.
    fn copied(&self, direction: Direction, tensors: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        let bytes = (0..tensors.len()).filter_map(|slot| tensors.view(slot).bytes().map(|bytes| bytes.len() as u64));
        let copied = Copied { direction, bytes: bytes.sum(), tensors: tensors.len() as u64 };
        self.0.copied(copied, start, end);
    }
}

/// Calls `feed` with a path in the form that consumers get. Most paths are empty.
pub(super) fn with_path(path: &[Iteration], feed: impl FnOnce(&[opscope_producer::Iteration])) {
    if path.is_empty() {
        return feed(&[]);
    }
    let level = |level: &Iteration| opscope_producer::Iteration {
        operator_id: level.operator.index() as u64,
        iteration: u64::from(level.index),
    };
    feed(&path.iter().map(level).collect::<Vec<_>>());
}
