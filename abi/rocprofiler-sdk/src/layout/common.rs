use std::ffi::{c_char, c_int, c_void};

use opscope_border::{In, Text, UserData as Data, unpadded};

use super::assert_layout;

/// An id of a context, buffer, agent, queue or callback thread. 0 stands for none.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handle(pub u64);

/// A value or a pointer that belongs to the tool.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, Default)]
pub struct UserData(pub u64);

/// The header of each record that a buffer's callback receives.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RecordHeader {
    pub category: u32,
    pub kind: u32,
    pub payload: *mut c_void,
}

/// The correlation ids of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Correlation {
    pub internal: u64,
    pub external: u64,
    /// The internal id of the enclosing traced call; 0 if there is none.
    pub ancestor: u64,
}

/// The correlation ids of work that ends later.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct AsyncCorrelation {
    pub internal: u64,
    pub external: u64,
}

/// The identity of a tool.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ClientId {
    pub size: usize,
    /// Set by the tool; NULL at first.
    pub name: *const c_char,
    pub handle: u32,
}

/// The tool's function that configures it.
pub type Configure = extern "C-unwind" fn(
    version: u32,
    version_text: Text<'_>,
    priority: u32,
    id: &'static mut ClientId,
) -> In<'static, ConfigureResult>;

/// The function that finalizes a tool; each tool receives it at its initialization.
pub type Finalize = extern "C-unwind" fn(ClientId);

/// What a tool's `rocprofiler_configure` returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ConfigureResult {
    pub size: usize,
    pub initialize: Option<extern "C-unwind" fn(Finalize, Data) -> c_int>,
    pub finalize: Option<extern "C-unwind" fn(Data)>,
    pub tool_data: Data,
}

/// A version.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct VersionTriplet {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// A size in three dimensions.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

/// The kernel that is dispatched, and how.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct DispatchInfo {
    /// The size of the structure without the reserved bytes at its end.
    pub size: u64,
    pub agent_id: Handle,
    pub queue_id: Handle,
    pub kernel_id: u64,
    pub dispatch_id: u64,
    pub private_segment_size: u32,
    pub group_segment_size: u32,
    pub workgroup_size: Dim3,
    pub grid_size: Dim3,
    pub reserved: [u64; 7],
}

impl DispatchInfo {
    /// The value of `size`.
    pub const SIZE: u64 = 72;
}

/// What the callback of a tracing service receives.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallbackRecord {
    pub context_id: Handle,
    pub thread_id: u64,
    pub correlation_id: Correlation,
    pub kind: u32,
    pub operation: i32,
    pub phase: u32,
    pub payload: *mut c_void,
}

unpadded!(Handle { 0 });
unpadded!(Correlation { internal, external, ancestor });
unpadded!(AsyncCorrelation { internal, external });
unpadded!(Dim3 { x, y, z });
unpadded!(DispatchInfo {
    size,
    agent_id,
    queue_id,
    kernel_id,
    dispatch_id,
    private_segment_size,
    group_segment_size,
    workgroup_size,
    grid_size,
    reserved
});
assert_layout!(RecordHeader, 16: category @ 0, kind @ 4, payload @ 8);
assert_layout!(Correlation, 24: internal @ 0, external @ 8, ancestor @ 16);
assert_layout!(AsyncCorrelation, 16: internal @ 0, external @ 8);
assert_layout!(ClientId, 24: size @ 0, name @ 8, handle @ 16);
assert_layout!(ConfigureResult, 32: size @ 0, initialize @ 8, finalize @ 16, tool_data @ 24);
assert_layout!(
    DispatchInfo, 128: size @ 0, agent_id @ 8, queue_id @ 16, kernel_id @ 24, dispatch_id @ 32,
    private_segment_size @ 40, group_segment_size @ 44, workgroup_size @ 48, grid_size @ 60, reserved @ 72
);
assert_layout!(
    CallbackRecord, 64: context_id @ 0, thread_id @ 8, correlation_id @ 16, kind @ 40, operation @ 44, phase @ 48,
    payload @ 56
);
const _: () = assert!(size_of::<VersionTriplet>() == 12 && size_of::<Dim3>() == 12);
