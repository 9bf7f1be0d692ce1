use opscope_producer::layout::{Allocation, Copy, OPSCOPE_COPY_HOST_TO_DEVICE, OPSCOPE_MEMORY_ALLOCATE};

use crate::agents;
use crate::kinds::{ALLOCATE, DEVICE_TO_HOST, Domain, FREE, HOST_TO_DEVICE};
use crate::layout::{AsyncCorrelation, MemoryAllocationData, MemoryAllocationRecord, MemoryCopyData, MemoryCopyRecord};
use crate::stored_records::TRACING;
use crate::tracing::{Event, Phase, retire};

/// Reports that inputs or outputs were copied. Producers report a copy only after it, so both of its callbacks are
/// called now.
pub fn copy(copy: &Copy) {
    let into = copy.direction == OPSCOPE_COPY_HOST_TO_DEVICE;
    let operation = if into { HOST_TO_DEVICE } else { DEVICE_TO_HOST };
    let Some(mut event) = Event::begin(Domain::MemoryCopy, |route| route.wants(operation)) else { return };
    event.thread = copy.thread;
    let (host, engine) = (agents::host(), agents::engine());
    let (destination_agent, source_agent) = if into { (engine, host) } else { (host, engine) };
    let data = |start, end| MemoryCopyData {
        size: size_of::<MemoryCopyData>() as u64,
        start,
        end,
        destination_agent,
        source_agent,
        bytes: copy.bytes,
        destination_address: 0,
        source_address: 0,
    };
    event.correlate(operation);
    event.call(operation, Phase::Enter, || data(0, 0));
    event.correlate_again();
    event.call(operation, Phase::Exit, || data(copy.start, copy.end));
    event.record(operation, |service, ids| {
        let record = MemoryCopyRecord {
            size: size_of::<MemoryCopyRecord>() as u64,
            kind: service.kind,
            operation,
            correlation_id: AsyncCorrelation { internal: ids.internal, external: ids.external },
            thread_id: event.thread,
            start: copy.start,
            end: copy.end,
            destination_agent,
            source_agent,
            bytes: copy.bytes,
            destination_address: 0,
            source_address: 0,
        };
        service.buffer.put(TRACING, service.kind, &record);
    });
    retire(event.internal);
}

/// Reports that memory for a tensor was allocated or freed. Producers report this only afterwards, so both callbacks
/// are called now.
pub fn allocation(allocation: &Allocation) {
    let allocates = allocation.operation == OPSCOPE_MEMORY_ALLOCATE;
    let operation = if allocates { ALLOCATE } else { FREE };
    let Some(mut event) = Event::begin(Domain::MemoryAllocation, |route| route.wants(operation)) else { return };
    event.thread = allocation.thread;
    // In this interface, freed memory has no size.
    let bytes = if allocates { allocation.bytes } else { 0 };
    let data = |time, address| MemoryAllocationData {
        size: size_of::<MemoryAllocationData>() as u64,
        start: time,
        end: time,
        agent_id: agents::engine(),
        address,
        bytes,
    };
    event.correlate(operation);
    event.call(operation, Phase::Enter, || data(0, if allocates { 0 } else { allocation.address }));
    event.correlate_again();
    event.call(operation, Phase::Exit, || data(allocation.time, allocation.address));
    event.record(operation, |service, correlation_id| {
        let record = MemoryAllocationRecord {
            size: size_of::<MemoryAllocationRecord>() as u64,
            kind: service.kind,
            operation,
            correlation_id,
            thread_id: event.thread,
            start: allocation.time,
            end: allocation.time,
            agent_id: agents::engine(),
            address: allocation.address,
            bytes,
        };
        service.buffer.put(TRACING, service.kind, &record);
    });
    retire(event.internal);
}
