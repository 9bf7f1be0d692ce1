use opscope_border::unpadded;

use super::dimensions::Dim3;
use super::layout;

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
