//! Dispatches, copies and memory.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_producer::layout::{
    Allocation, Copy, Dispatch, Kernel, OPSCOPE_COPY_HOST_TO_DEVICE, OPSCOPE_MEMORY_ALLOCATE,
};
use opscope_producer::{FromProducer, kernel_number};

use super::attachment::Producer;
use crate::agents;
use crate::kinds::{ALLOCATE, COMPLETE, DEVICE_TO_HOST, Domain, ENQUEUE, FREE, HOST_TO_DEVICE};
use crate::layout::{
    AsyncCorrelation, Dim3, DispatchInfo, DispatchRecord, Handle, KernelDispatchData, MemoryAllocationData,
    MemoryAllocationRecord, MemoryCopyData, MemoryCopyRecord,
};
use crate::stored_records::TRACING;
use crate::tracing::{Event, Phase, retire};

/// A dispatch that has begun but not ended.
struct Begun {
    run: u64,
    kernel: *const Kernel,
    event: Event,
    info: DispatchInfo,
}

thread_local! {
    /// The dispatches that this thread is executing, the innermost last.
    static BEGUN: RefCell<Vec<Begun>> = const { RefCell::new(Vec::new()) };
}

/// How many dispatches of one thread are kept. If an engine reports their ends on another thread, they stay in the
/// list, so the oldest one is dropped when the list is full.
const DEEPEST: usize = 1024;

static NEXT_DISPATCH: AtomicU64 = AtomicU64::new(1);

/// All dispatches go to one queue.
const QUEUE: Handle = Handle(1);

/// Reports that a kernel is about to be executed.
pub fn dispatch_begin(producer: &Producer, dispatch: &FromProducer<'_, Dispatch>) {
    let Some(begun) = Begun::new(producer, dispatch) else { return };
    // The list is not borrowed meanwhile, because a tool may run a model in its callback.
    let begun = begun.enqueued();
    // A thread that is being torn down has no list any more. Then only the end of the dispatch is recorded.
    let _ = BEGUN.try_with(|all| {
        let mut all = all.borrow_mut();
        if all.len() == DEEPEST {
            all.remove(0);
        }
        all.push(begun);
    });
}

/// Reports that a kernel was executed.
pub fn dispatch_end(producer: &Producer, dispatch: &FromProducer<'_, Dispatch>) {
    let begun = BEGUN.try_with(|all| {
        let mut all = all.borrow_mut();
        let is_this = |begun: &Begun| begun.run == dispatch.run && std::ptr::eq(begun.kernel, dispatch.kernel);
        all.iter().rposition(is_this).map(|index| {
            // Dispatches nested in it ended without a report, because their run was stopped.
            all.truncate(index + 1);
            all.pop()
        })
    });
    let begun = begun.ok().flatten().flatten();
    let unannounced = || {
        let mut begun = Begun::new(producer, dispatch)?;
        // A tool that wants both callbacks receives both or none: it may keep state from one to the other.
        begun.event.forget_callbacks(ENQUEUE);
        Some(begun)
    };
    if let Some(begun) = begun.or_else(unannounced) {
        begun.complete(dispatch.start, dispatch.end);
    }
}

impl Begun {
    fn new(producer: &Producer, dispatch: &FromProducer<'_, Dispatch>) -> Option<Self> {
        let wants = |route: &crate::services::Route| route.wants(ENQUEUE) || route.wants(COMPLETE);
        let mut event = Event::begin(Domain::KernelDispatch, wants)?;
        event.thread = dispatch.thread;
        event.correlate(ENQUEUE);
        let kernel = dispatch.kernel();
        let info = DispatchInfo {
            size: DispatchInfo::SIZE,
            agent_id: agents::engine(),
            queue_id: QUEUE,
            kernel_id: kernel_number(producer.number, dispatch.plan, kernel.index),
            dispatch_id: NEXT_DISPATCH.fetch_add(1, Ordering::Relaxed),
            private_segment_size: 0,
            group_segment_size: 0,
            workgroup_size: Dim3 { x: 1, y: 1, z: 1 },
            grid_size: grid(kernel.output_shape()),
            reserved: [0; 7],
        };
        Some(Self { run: dispatch.run, kernel: dispatch.kernel, event, info })
    }

    /// Reports that the dispatch is enqueued.
    fn enqueued(mut self) -> Self {
        let data = self.data(0, 0);
        self.event.call(ENQUEUE, Phase::Enter, || data);
        self.event.correlate_again();
        self.event.call(ENQUEUE, Phase::Exit, || data);
        self
    }

    /// Reports that the dispatch is complete.
    fn complete(mut self, start: u64, end: u64) {
        let data = self.data(start, end);
        self.event.call(COMPLETE, Phase::None, || data);
        self.event.record(COMPLETE, |service, ids| {
            let record = DispatchRecord {
                size: size_of::<DispatchRecord>() as u64,
                kind: service.kind,
                operation: COMPLETE,
                correlation_id: AsyncCorrelation { internal: ids.internal, external: ids.external },
                thread_id: self.event.thread,
                start,
                end,
                dispatch_info: self.info,
            };
            service.buffer.put(TRACING, service.kind, &record);
        });
        retire(self.event.internal);
    }

    fn data(&self, start: u64, end: u64) -> KernelDispatchData {
        KernelDispatchData { size: size_of::<KernelDispatchData>() as u64, start, end, dispatch_info: self.info }
    }
}

/// Returns an output's shape as a grid: x is its last dimension, y the one before, z the product of all others.
fn grid(shape: &[u64]) -> Dim3 {
    let size = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
    let mut inner = shape.iter().rev().copied();
    let (x, y) = (inner.next().unwrap_or(1), inner.next().unwrap_or(1));
    Dim3 { x: size(x), y: size(y), z: size(inner.fold(1, u64::saturating_mul)) }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_as_many_points_as_the_output_has_elements() {
        assert_eq!(grid(&[]), Dim3 { x: 1, y: 1, z: 1 });
        assert_eq!(grid(&[7]), Dim3 { x: 7, y: 1, z: 1 });
        assert_eq!(grid(&[2, 3, 4, 5]), Dim3 { x: 5, y: 4, z: 6 });
        assert_eq!(grid(&[1 << 40]).x, u32::MAX);
    }
}
