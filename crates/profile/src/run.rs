//! The observer of one run, which emits the run's records to any destination.
//!
//! The records of a run that are emitted rarely.

use std::collections::HashMap;
use std::ops::Deref;

use opscope_clock::Ticks;
use opscope_model::{DeviceTensors, EngineError, Interest, Iteration, KernelId, RunId, RunObserver, TensorMemory};
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{
    AllocationOperation, AllocationRecord, CopyOperation, CopyRecord, Correlation, DispatchRecord, EngineCallRecord,
    KernelIndex, MemoryId, Operation, PathLevel, PlanId, Record, RunRecord, current_correlation, current_thread,
};

use crate::recording::{Call, Direction};

/// A destination for the records of runs.
pub(crate) trait Destination: Sync {
    /// Emits a record.
    fn emit<R: Record>(&self, record: &R);

    /// Emits the record of a dispatch in the body of an operator, with its path.
    fn emit_with_path(&self, record: &DispatchRecord, path: impl ExactSizeIterator<Item = PathLevel>);

    /// Counts dispatches of a run whose times the engine has lost.
    fn lose(&self, dispatches: u64);
}

/// A destination that is used by way of a pointer.
impl<P: Deref<Target: Destination> + Sync> Destination for P {
    #[inline]
    fn emit<R: Record>(&self, record: &R) {
        (**self).emit(record);
    }

    fn emit_with_path(&self, record: &DispatchRecord, path: impl ExactSizeIterator<Item = PathLevel>) {
        (**self).emit_with_path(record, path);
    }

    fn lose(&self, dispatches: u64) {
        (**self).lose(dispatches);
    }
}

/// The kinds of records that are requested of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WantedKinds {
    pub runs: bool,
    pub dispatches: bool,
    pub copies: bool,
    pub calls: bool,
    pub tensor_memory: bool,
}

/// The observer of one run. Dropping it emits the run's own record, the last one of the run.
pub(crate) struct RecordedRun<D: Destination> {
    destination: D,
    wanted: WantedKinds,
    run: RunId,
    plan: PlanId,
    operation: Operation,
    correlation: Correlation,
    /// When the observer was made, which counts as the start of a run that failed before its inputs were copied. The
    /// engine gives no times for a run that fails.
    observed: Ticks,
    times: Mutex<Times>,
    /// The memory that the engine holds for tensors of the run, by address.
    held: Mutex<HashMap<u64, TensorMemory>>,
}

/// The times of the parts of a run, as far as they are known.
#[derive(Default)]
struct Times {
    upload: (Ticks, Ticks),
    engine: Option<(Ticks, Ticks)>,
    failed: bool,
    download: (Ticks, Ticks),
}

impl<D: Destination> RecordedRun<D> {
    pub fn new(destination: D, wanted: WantedKinds, run: RunId, plan: PlanId, operation: Operation) -> Self {
        Self {
            destination,
            wanted,
            run,
            plan,
            operation,
            correlation: current_correlation(),
            observed: Ticks::now(),
            times: Mutex::default(),
            held: Mutex::default(),
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, TensorMemory>> {
        self.held.lock()
    }

    #[inline(always)]
    fn dispatch(&self, kernel: KernelId, start: Ticks, end: Ticks) -> DispatchRecord {
        DispatchRecord {
            run: self.run.0,
            plan: self.plan,
            start,
            end,
            correlation: self.correlation,
            kernel: KernelIndex(kernel.index() as u32),
            operation: 0,
            thread: current_thread(),
            device: 0,
        }
    }

    #[cold]
    fn timed_in_body(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        let level = |level: &Iteration| PathLevel { operator: level.operator.index() as u32, iteration: level.index };
        self.destination.emit_with_path(&self.dispatch(kernel, start, end), path.iter().map(level));
    }

    /// Emits the release of the inputs, the outputs, and all other memory that a failed run has left.
    fn free_all(&self) {
        if !self.wanted.tensor_memory {
            return;
        }
        let mut held: Vec<_> = self.held().drain().map(|(_, memory)| memory).collect();
        held.sort_by_key(|memory| memory.address);
        let now = Ticks::now();
        held.into_iter().for_each(|memory| self.emit_allocation(AllocationOperation::Free, memory, now));
    }

    fn emit_allocation(&self, operation: AllocationOperation, memory: TensorMemory, at: Ticks) {
        self.destination.emit(&allocation(operation, memory, at, self.correlation));
    }

    fn emit_call(&self, call: Call, times: (Ticks, Ticks), failed: bool) {
        if self.wanted.calls {
            self.destination.emit(&engine_call(call, Some(self.run), self.correlation, times, failed));
        }
    }

    /// Emits the records of a copy of the run's inputs or outputs: the copy, and the engine's call.
    fn emit_copy(&self, direction: Direction, tensors: &dyn DeviceTensors, times: (Ticks, Ticks)) {
        if self.wanted.copies {
            self.destination.emit(&tensor_copy(self.run, self.correlation, direction, tensors, times));
        }
        let call = match direction {
            Direction::In => Call::Upload,
            Direction::Out => Call::Download,
        };
        self.emit_call(call, times, false);
    }
}

impl<D: Destination> RunObserver for RecordedRun<D> {
    fn interest(&self) -> Interest {
        Interest { times: self.wanted.dispatches, memory: self.wanted.tensor_memory, ..Interest::default() }
    }

    #[inline]
    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        if path.is_empty() {
            self.destination.emit(&self.dispatch(kernel, start, end));
        } else {
            self.timed_in_body(kernel, path, start, end);
        }
    }

    fn untimed(&self, dispatches: u64) {
        self.destination.lose(dispatches);
    }

    fn profiled(&self, start: Ticks, end: Ticks) {
        self.emit_call(Call::Profile, (start, end), false);
    }

    fn allocated(&self, memory: TensorMemory, at: Ticks) {
        self.held().insert(memory.address, memory);
        self.emit_allocation(AllocationOperation::Allocate, memory, at);
    }

    fn freed(&self, memory: TensorMemory, at: Ticks) {
        self.held().remove(&memory.address);
        self.emit_allocation(AllocationOperation::Free, memory, at);
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        let mut times = self.times();
        let begun = if times.upload.1.as_raw() == 0 { self.observed } else { times.upload.1 };
        let (start, end) = outcome.unwrap_or_else(|_| (begun, Ticks::now()));
        self.emit_call(Call::Run, (start, end), outcome.is_err());
        times.engine = Some((start, end));
        times.failed = outcome.is_err();
    }

    fn uploaded(&self, inputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.times().upload = (start, end);
        self.emit_copy(Direction::In, inputs, (start, end));
        if self.wanted.tensor_memory {
            for input in (0..inputs.len()).map(|index| inputs.view(index)) {
                let bytes = input.bytes().filter(|bytes| !bytes.is_empty());
                let memory =
                    |bytes: &[u8]| TensorMemory { address: bytes.as_ptr().addr() as u64, bytes: bytes.len() as u64 };
                bytes.into_iter().for_each(|bytes| self.allocated(memory(bytes), end));
            }
        }
    }

    fn downloaded(&self, outputs: &dyn DeviceTensors, start: Ticks, end: Ticks) {
        self.times().download = (start, end);
        self.emit_copy(Direction::Out, outputs, (start, end));
    }
}

impl<D: Destination> Drop for RecordedRun<D> {
    fn drop(&mut self) {
        self.free_all();
        let times = self.times();
        let Some((start, end)) = times.engine.filter(|_| self.wanted.runs) else { return };
        self.destination.emit(&RunRecord {
            run: self.run.0,
            plan: self.plan,
            upload_start: times.upload.0,
            upload_end: times.upload.1,
            start,
            end,
            download_start: times.download.0,
            download_end: times.download.1,
            correlation: self.correlation,
            operation: self.operation.0,
            thread: current_thread(),
            failed: u32::from(times.failed),
            ..RunRecord::default()
        });
    }
}

/// The host's memory.
const HOST: MemoryId = MemoryId(0);
/// The engine's memory. It counts as a device's even if it is the host's, so that copies have a direction.
const ENGINE: MemoryId = MemoryId(1);

/// Returns the record of a call of the engine. `run` is the run that the call is for, if there is one.
pub(crate) fn engine_call(
    call: Call,
    run: Option<RunId>,
    correlation: Correlation,
    (start, end): (Ticks, Ticks),
    failed: bool,
) -> EngineCallRecord {
    EngineCallRecord {
        run: run.map_or(0, |run| run.0),
        start,
        end,
        correlation,
        operation: call as u32,
        thread: current_thread(),
        failed: u32::from(failed),
        ..EngineCallRecord::default()
    }
}

/// Returns the record of the copy of a run's inputs or outputs.
fn tensor_copy(
    run: RunId,
    correlation: Correlation,
    direction: Direction,
    tensors: &dyn DeviceTensors,
    (start, end): (Ticks, Ticks),
) -> CopyRecord {
    let (operation, source, destination) = match direction {
        Direction::In => (CopyOperation::HostToDevice, HOST, ENGINE),
        Direction::Out => (CopyOperation::DeviceToHost, ENGINE, HOST),
    };
    let bytes = (0..tensors.len()).filter_map(|index| tensors.view(index).bytes().map(|bytes| bytes.len() as u64));
    CopyRecord {
        run: run.0,
        start,
        end,
        bytes: bytes.sum(),
        tensors: tensors.len() as u32,
        correlation,
        operation: operation as u32,
        thread: current_thread(),
        source,
        destination,
        ..CopyRecord::default()
    }
}

/// Returns the record of a change of the memory that the engine holds for tensors.
fn allocation(
    operation: AllocationOperation,
    memory: TensorMemory,
    at: Ticks,
    correlation: Correlation,
) -> AllocationRecord {
    AllocationRecord {
        start: at,
        end: at,
        address: memory.address,
        bytes: memory.bytes,
        correlation,
        operation: operation as u32,
        thread: current_thread(),
        memory: ENGINE,
        ..AllocationRecord::default()
    }
}
