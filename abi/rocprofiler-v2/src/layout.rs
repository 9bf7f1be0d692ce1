//! The structures that tools read and write. Handles are passed by value; 0 stands for none.

use std::ffi::{c_char, c_int, c_void};

use opscope_border::{Counted, Items, Text, unpadded};

/// An id of a session, filter, buffer, agent, queue, kernel or counter.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handle(pub u64);

/// The beginning of every record.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordHeader {
    pub kind: c_int,
    pub padding: u32,
    pub id: Handle,
}

/// A call of an API, or work that it made an engine do.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TracerRecord {
    pub header: RecordHeader,
    pub external_id: u64,
    pub domain: c_int,
    pub operation: u32,
    pub api_data: *const c_void,
    pub correlation_id: u64,
    pub begin: u64,
    pub end: u64,
    pub agent_id: Handle,
    pub queue_id: Handle,
    pub thread_id: u32,
    pub phase: c_int,
    pub name: *const c_char,
}

/// The arguments of a ROCTx call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RoctxData<'a> {
    pub message: Text<'a>,
    pub id: u64,
}

/// How a kernel was dispatched.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelProperties {
    pub grid_size: u64,
    pub workgroup_size: u64,
    pub lds_size: u64,
    pub scratch_size: u64,
    pub arch_vgpr_count: u64,
    pub accum_vgpr_count: u64,
    pub sgpr_count: u64,
    pub wave_size: u64,
    pub signal_handle: u64,
}

/// A dispatch.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProfilerRecord {
    pub header: RecordHeader,
    pub kernel_id: Handle,
    pub gpu_id: Handle,
    pub queue_id: Handle,
    pub begin: u64,
    pub end: u64,
    pub counters: *const c_void,
    pub counters_count: u64,
    pub xcc_index: u32,
    pub padding: u32,
    pub kernel_properties: KernelProperties,
    pub thread_id: u32,
    pub padding2: u32,
    pub queue_index: u64,
    pub correlation_id: u64,
}

/// A property of a buffer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BufferProperty {
    pub kind: c_int,
    pub value: u64,
}

/// A property of a filter: a pointer or a range, by its kind.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FilterProperty {
    pub kind: c_int,
    pub value: u64,
    pub data_count: u64,
}

/// The data of a filter. It begins with a pointer that depends on the filter's kind; for a filter of API calls it leads
/// to the domains.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FilterData<'a> {
    domains: Items<'a, c_int>,
    rest: [u64; 3],
}

impl<'a> FilterData<'a> {
    /// Returns the data of a filter of API calls with its count.
    ///
    /// # Safety
    /// It is the count of this data.
    pub unsafe fn counted(self, count: u64) -> Counted<'a, c_int> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.domains.counted(count) }
    }
}

/// The description of a counter for a tool.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CounterInfo([u64; 6]);

/// Asserts the size of a structure and the offsets of its fields.
macro_rules! assert_layout {
    ($struct:ty, $size:literal: $($field:ident @ $offset:literal),+ $(,)?) => {
        const _: () = {
            $(assert!(std::mem::offset_of!($struct, $field) == $offset);)+
            assert!(size_of::<$struct>() == $size && align_of::<$struct>() == 8);
        };
    };
}

assert_layout!(RecordHeader, 16: kind @ 0, id @ 8);
assert_layout!(
    TracerRecord, 96: header @ 0, external_id @ 16, domain @ 24, operation @ 28, api_data @ 32, correlation_id @ 40,
    begin @ 48, end @ 56, agent_id @ 64, queue_id @ 72, thread_id @ 80, phase @ 84, name @ 88
);
assert_layout!(RoctxData<'_>, 16: message @ 0, id @ 8);
assert_layout!(
    KernelProperties, 72: grid_size @ 0, workgroup_size @ 8, lds_size @ 16, scratch_size @ 24, arch_vgpr_count @ 32,
    accum_vgpr_count @ 40, sgpr_count @ 48, wave_size @ 56, signal_handle @ 64
);
assert_layout!(
    ProfilerRecord, 176: header @ 0, kernel_id @ 16, gpu_id @ 24, queue_id @ 32, begin @ 40, end @ 48, counters @ 56,
    counters_count @ 64, xcc_index @ 72, kernel_properties @ 80, thread_id @ 152, queue_index @ 160,
    correlation_id @ 168
);
unpadded!(Handle { 0 });
unpadded!(RecordHeader { kind, padding, id });
unpadded!(KernelProperties {
    grid_size,
    workgroup_size,
    lds_size,
    scratch_size,
    arch_vgpr_count,
    accum_vgpr_count,
    sgpr_count,
    wave_size,
    signal_handle
});
unpadded!(TracerRecord {
    header,
    external_id,
    domain,
    operation,
    api_data,
    correlation_id,
    begin,
    end,
    agent_id,
    queue_id,
    thread_id,
    phase,
    name
});
unpadded!(ProfilerRecord {
    header,
    kernel_id,
    gpu_id,
    queue_id,
    begin,
    end,
    counters,
    counters_count,
    xcc_index,
    padding,
    kernel_properties,
    thread_id,
    padding2,
    queue_index,
    correlation_id
});
assert_layout!(BufferProperty, 16: kind @ 0, value @ 8);
assert_layout!(FilterProperty, 24: kind @ 0, value @ 8, data_count @ 16);
assert_layout!(FilterData<'_>, 32: domains @ 0, rest @ 8);
const _: () = assert!(size_of::<CounterInfo>() == 48);
