//! The structures of the device and its state: grids, warps, memory and functions; and what a callback receives.

use std::ffi::c_void;

use opscope_border::{UserData, unpadded};

use super::layout;

/// The device, in the answer to `getDeviceInfo`.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct DeviceInfo {
    pub response_type: u32,
    pub device_attribute_flags: u32,
}

/// A multiprocessor, in the answer to `getDeviceInfo`.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct SmInfo {
    pub warp_valid_mask: u64,
    pub warp_broken_mask: u64,
    pub sm_attribute_flags: u32,
}

/// A warp, in the answer to `getDeviceInfo`.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct WarpInfo {
    pub grid_id: u64,
    pub block_idx: Dim3,
    pub base_thread_idx: Dim3,
    pub valid_lanes: u32,
    pub active_lanes: u32,
    pub warp_attribute_flags: u32,
}

/// A lane, in the answer to `getDeviceInfo`.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct LaneInfo {
    pub virtual_pc: u64,
}

/// The sizes in bytes of the answer to `getDeviceInfo` and of its parts.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct DeviceInfoSizes {
    pub required_buffer_size: u32,
    pub device_info_size: u32,
    pub device_info_attribute_sizes: [u32; 32],
    pub sm_info_size: u32,
    pub sm_info_attribute_sizes: [u32; 32],
    pub warp_info_size: u32,
    pub warp_info_attribute_sizes: [u32; 32],
    pub lane_info_size: u32,
    pub lane_info_attribute_sizes: [u32; 32],
}

layout!(DeviceInfo, 8, 1: response_type @ 0, device_attribute_flags @ 4);
layout!(SmInfo, 20, 1: warp_valid_mask @ 0, warp_broken_mask @ 8, sm_attribute_flags @ 16);
layout!(
    WarpInfo, 44, 1: grid_id @ 0, block_idx @ 8, base_thread_idx @ 20, valid_lanes @ 32, active_lanes @ 36,
    warp_attribute_flags @ 40
);
layout!(LaneInfo, 8, 1: virtual_pc @ 0);
layout!(
    DeviceInfoSizes, 532, 1: required_buffer_size @ 0, device_info_size @ 4, device_info_attribute_sizes @ 8,
    sm_info_size @ 136, sm_info_attribute_sizes @ 140, warp_info_size @ 268, warp_info_attribute_sizes @ 272,
    lane_info_size @ 400, lane_info_attribute_sizes @ 404
);

unpadded!(DeviceInfo { response_type, device_attribute_flags });
unpadded!(SmInfo { warp_valid_mask, warp_broken_mask, sm_attribute_flags });
unpadded!(WarpInfo { grid_id, block_idx, base_thread_idx, valid_lanes, active_lanes, warp_attribute_flags });
unpadded!(LaneInfo { virtual_pc });
unpadded!(DeviceInfoSizes {
    required_buffer_size,
    device_info_size,
    device_info_attribute_sizes,
    sm_info_size,
    sm_info_attribute_sizes,
    warp_info_size,
    warp_info_attribute_sizes,
    lane_info_size,
    lane_info_attribute_sizes
});

/// A size or an index in two dimensions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim2 {
    pub x: u32,
    pub y: u32,
}

/// A size or an index in three dimensions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

layout!(Dim2, 8, 4: x @ 0, y @ 4);
layout!(Dim3, 12, 4: x @ 0, y @ 4, z @ 8);

unpadded!(Dim3 { x, y, z });

/// A dispatch of an operator. The structures of older generations are its first bytes.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct GridInfo {
    pub dev: u32,
    pub grid_id64: u64,
    pub tid: u32,
    pub context: u64,
    pub module: u64,
    pub function: u64,
    pub function_entry: u64,
    pub grid_dim: Dim3,
    pub block_dim: Dim3,
    pub kernel_type: u32,
    pub reserved0: u64,
    pub origin: u32,
    pub cluster_dim: Dim3,
    pub preferred_cluster_dim: Dim3,
}

layout!(
    GridInfo, 112, 1: dev @ 0, grid_id64 @ 4, tid @ 12, context @ 16, module @ 24, function @ 32,
    function_entry @ 40, grid_dim @ 48, block_dim @ 60, kernel_type @ 72, reserved0 @ 76, origin @ 84,
    cluster_dim @ 88, preferred_cluster_dim @ 100
);

unpadded!(GridInfo {
    dev,
    grid_id64,
    tid,
    context,
    module,
    function,
    function_entry,
    grid_dim,
    block_dim,
    kernel_type,
    reserved0,
    origin,
    cluster_dim,
    preferred_cluster_dim
});

impl GridInfo {
    /// The size in bytes of the structure of CUDA 5.5.
    pub const BYTES_55: usize = 88;
    /// The size in bytes of the structure of CUDA 12.0.
    pub const BYTES_120: usize = 100;
}

const _: () = {
    assert!(std::mem::offset_of!(GridInfo, cluster_dim) == GridInfo::BYTES_55);
    assert!(std::mem::offset_of!(GridInfo, preferred_cluster_dim) == GridInfo::BYTES_120);
};

/// A lane.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct LaneState {
    pub virtual_pc: u64,
    pub thread_idx: Dim3,
    pub exception: u32,
}

/// A warp. The structures of older generations are its first bytes.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct WarpState {
    pub grid_id: u64,
    pub error_pc: u64,
    pub block_idx: Dim3,
    pub valid_lanes: u32,
    pub active_lanes: u32,
    pub error_pc_valid: u32,
    pub lane: [LaneState; 32],
    pub cluster_idx: Dim3,
    pub cluster_dim: Dim3,
    pub cluster_exception_target_block_idx_valid: u32,
    pub cluster_exception_target_block_idx: Dim3,
    pub in_syscall_lanes: u32,
}

/// The resources that a warp occupies.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct WarpResources {
    pub shared_mem_size: u32,
    pub num_registers: u32,
}

layout!(LaneState, 24, 1: virtual_pc @ 0, thread_idx @ 8, exception @ 20);
layout!(
    WarpState, 852, 1: grid_id @ 0, error_pc @ 8, block_idx @ 16, valid_lanes @ 28, active_lanes @ 32,
    error_pc_valid @ 36, lane @ 40, cluster_idx @ 808, cluster_dim @ 820,
    cluster_exception_target_block_idx_valid @ 832, cluster_exception_target_block_idx @ 836, in_syscall_lanes @ 848
);
layout!(WarpResources, 8, 1: shared_mem_size @ 0, num_registers @ 4);

unpadded!(LaneState { virtual_pc, thread_idx, exception });
unpadded!(WarpState {
    grid_id,
    error_pc,
    block_idx,
    valid_lanes,
    active_lanes,
    error_pc_valid,
    lane,
    cluster_idx,
    cluster_dim,
    cluster_exception_target_block_idx_valid,
    cluster_exception_target_block_idx,
    in_syscall_lanes
});
unpadded!(WarpResources { shared_mem_size, num_registers });

impl WarpState {
    /// The size in bytes of the structure of CUDA 6.0.
    pub const BYTES_60: usize = 808;
    /// The size in bytes of the structure of CUDA 12.0.
    pub const BYTES_120: usize = 820;
    /// The size in bytes of the structure of CUDA 12.7.
    pub const BYTES_127: usize = 848;
}

const _: () = {
    assert!(std::mem::offset_of!(WarpState, cluster_idx) == WarpState::BYTES_60);
    assert!(std::mem::offset_of!(WarpState, cluster_dim) == WarpState::BYTES_120);
    assert!(std::mem::offset_of!(WarpState, in_syscall_lanes) == WarpState::BYTES_127);
};

/// A region of memory.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct MemoryInfo {
    pub start_address: u64,
    pub size: u64,
}

/// A section of an image, and its address.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct LoadedFunctionInfo {
    pub section_index: u64,
    pub address: u64,
}

/// A property of a grid, and its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AttributeValuePair {
    pub attribute: u32,
    pub value: u64,
}

layout!(MemoryInfo, 16, 1: start_address @ 0, size @ 8);
layout!(LoadedFunctionInfo, 16, 1: section_index @ 0, address @ 8);
layout!(AttributeValuePair, 16, 8: attribute @ 0, value @ 8);

/// An entry of the table: a function. Clients know its signature from the header.
#[repr(transparent)]
pub struct Function(*const c_void);

// SAFETY: it is the address of code, which nothing writes to.
unsafe impl Sync for Function {}

impl Function {
    pub const fn new(function: *const c_void) -> Self {
        Self(function)
    }

    #[cfg(test)]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// The argument of a callback since CUDA 3.2.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallbackData40 {
    pub tid: u32,
}

/// The argument of a callback since CUDA 4.1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallbackData41 {
    pub tid: u32,
    pub timeout: u32,
}

/// The argument of a callback since CUDA 13.0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallbackData {
    pub user_data: UserData,
    pub tid: u32,
}

layout!(CallbackData40, 4, 4: tid @ 0);
layout!(CallbackData41, 8, 4: tid @ 0, timeout @ 4);
layout!(CallbackData, 16, 8: user_data @ 0, tid @ 8);
