//! The records of a run that are emitted rarely.

use opscope_clock::Ticks;
use opscope_model::{DeviceTensors, RunId, TensorMemory};
use opscope_trace::{
    AllocationOperation, AllocationRecord, CopyOperation, CopyRecord, Correlation, EngineCallRecord, MemoryId,
    current_thread,
};

use crate::recording::{Call, Direction};

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
pub(super) fn tensor_copy(
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
pub(super) fn allocation(
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
