use opscope_border::unpadded;

use super::dimensions::Dim3;
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
