//! Records, as a buffer stores them and as tools read them. Times are ticks while a record is in a buffer; tools read
//! nanoseconds of CLOCK_BOOTTIME.

use opscope_border::unpadded;

use super::{AsyncCorrelation, Correlation, DispatchInfo, Handle, assert_layout};

/// A call of an API function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ApiRecord {
    pub size: u64,
    pub kind: u32,
    pub operation: i32,
    pub correlation_id: Correlation,
    pub start: u64,
    pub end: u64,
    pub thread_id: u64,
}

/// A copy between memories.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemoryCopyRecord {
    pub size: u64,
    pub kind: u32,
    pub operation: i32,
    pub correlation_id: AsyncCorrelation,
    pub thread_id: u64,
    pub start: u64,
    pub end: u64,
    pub destination_agent: Handle,
    pub source_agent: Handle,
    pub bytes: u64,
    pub destination_address: u64,
    pub source_address: u64,
}

/// A completed dispatch.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DispatchRecord {
    pub size: u64,
    pub kind: u32,
    pub operation: i32,
    pub correlation_id: AsyncCorrelation,
    pub thread_id: u64,
    pub start: u64,
    pub end: u64,
    pub dispatch_info: DispatchInfo,
}

/// An allocation or release of memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemoryAllocationRecord {
    pub size: u64,
    pub kind: u32,
    pub operation: i32,
    pub correlation_id: Correlation,
    pub thread_id: u64,
    pub start: u64,
    pub end: u64,
    pub agent_id: Handle,
    pub address: u64,
    pub bytes: u64,
}

/// The end of all work with an internal correlation id.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RetirementRecord {
    pub size: u64,
    pub kind: u32,
    pub reserved: u32,
    pub timestamp: u64,
    pub internal_correlation_id: u64,
}

/// A runtime that registered itself.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RuntimeInitializationRecord {
    pub size: u64,
    pub kind: u32,
    pub operation: i32,
    pub correlation_id: Correlation,
    pub thread_id: u64,
    pub timestamp: u64,
    pub version: u64,
    pub instance: u64,
}

unpadded!(ApiRecord { size, kind, operation, correlation_id, start, end, thread_id });
unpadded!(MemoryCopyRecord {
    size,
    kind,
    operation,
    correlation_id,
    thread_id,
    start,
    end,
    destination_agent,
    source_agent,
    bytes,
    destination_address,
    source_address
});
unpadded!(DispatchRecord { size, kind, operation, correlation_id, thread_id, start, end, dispatch_info });
unpadded!(MemoryAllocationRecord {
    size,
    kind,
    operation,
    correlation_id,
    thread_id,
    start,
    end,
    agent_id,
    address,
    bytes
});
unpadded!(RetirementRecord { size, kind, reserved, timestamp, internal_correlation_id });
unpadded!(RuntimeInitializationRecord {
    size,
    kind,
    operation,
    correlation_id,
    thread_id,
    timestamp,
    version,
    instance
});
assert_layout!(
    ApiRecord, 64: size @ 0, kind @ 8, operation @ 12, correlation_id @ 16, start @ 40, end @ 48, thread_id @ 56
);
assert_layout!(
    MemoryCopyRecord, 96: size @ 0, kind @ 8, operation @ 12, correlation_id @ 16, thread_id @ 32, start @ 40, end @ 48,
    destination_agent @ 56, source_agent @ 64, bytes @ 72, destination_address @ 80, source_address @ 88
);
assert_layout!(
    DispatchRecord, 184: size @ 0, kind @ 8, operation @ 12, correlation_id @ 16, thread_id @ 32, start @ 40, end @ 48,
    dispatch_info @ 56
);
assert_layout!(
    MemoryAllocationRecord, 88: size @ 0, kind @ 8, operation @ 12, correlation_id @ 16, thread_id @ 40, start @ 48,
    end @ 56, agent_id @ 64, address @ 72, bytes @ 80
);
assert_layout!(RetirementRecord, 32: size @ 0, kind @ 8, timestamp @ 16, internal_correlation_id @ 24);
assert_layout!(
    RuntimeInitializationRecord, 72: size @ 0, kind @ 8, operation @ 12, correlation_id @ 16, thread_id @ 40,
    timestamp @ 48, version @ 56, instance @ 64
);
