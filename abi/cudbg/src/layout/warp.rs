use opscope_border::unpadded;

use super::dimensions::Dim3;
use super::layout;

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
