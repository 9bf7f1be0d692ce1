//! What is the same for all devices, warps and lanes here.

use opscope_border::Out;

use super::place::{LANES, device, with_lane, with_warp};
use super::registers::REGISTERS;
use crate::border::{Status, call, out};
use crate::layout::dimensions::Dim3;
use crate::layout::memory::MemoryInfo;
use crate::layout::warp::WarpResources;
use crate::layout::zeroed;

use super::encode::ONE;

const ZERO: Dim3 = Dim3 { x: 0, y: 0, z: 0 };

/// Functions that return a constant: of a device, a warp or a lane.
macro_rules! constant {
    (of device: $($function:ident: $type:ty = $value:expr;)*) => {
        $(
            /// # Safety
            /// `result` is NULL, or valid for writes.
            pub unsafe extern "C" fn $function(dev: u32, result: Out<'_, $type>) -> Status {
                call(|| {
                    device(dev)?;
                    out(result, "the place for the result")?.set($value);
                    Ok(())
                })
            }
        )*
    };
    (of warp: $($function:ident: $type:ty = $value:expr;)*) => {
        $(
            /// # Safety
            /// `result` is NULL, or valid for writes.
            pub unsafe extern "C" fn $function(dev: u32, sm: u32, wp: u32, result: Out<'_, $type>) -> Status {
                call(|| {
                    device(dev)?;
                    let result = out(result, "the place for the result")?;
                    with_warp((dev, sm, wp), |_| { result.set($value); Ok(()) })
                })
            }
        )*
    };
    (of lane: $($function:ident: $type:ty = $value:expr;)*) => {
        $(
            /// # Safety
            /// `result` is NULL, or valid for writes.
            pub unsafe extern "C" fn $function(dev: u32, sm: u32, wp: u32, ln: u32, result: Out<'_, $type>) -> Status {
                call(|| {
                    device(dev)?;
                    let result = out(result, "the place for the result")?;
                    with_lane((dev, sm, wp, ln), |_| { result.set($value); Ok(()) })
                })
            }
        )*
    };
}

constant! { of device:
    get_num_sms: u32 = 1;
    get_num_lanes: u32 = LANES;
    get_num_registers: u32 = REGISTERS;
    get_num_predicates: u32 = 0;
    get_num_uniform_registers: u32 = 0;
    get_num_uniform_predicates: u32 = 0;
}

constant! { of warp:
    read_call_depth32: u32 = 0;
    read_cluster_idx: Dim3 = ZERO;
    get_cluster_dim: Dim3 = ONE;
    read_warp_resources: WarpResources = zeroed();
}

constant! { of lane:
    read_call_depth: u32 = 0;
    read_syscall_call_depth: u32 = 0;
}

/// # Safety
/// The results are NULL, or valid for writes.
pub unsafe extern "C" fn get_device_pci_bus_info(dev: u32, bus: Out<'_, u32>, device_number: Out<'_, u32>) -> Status {
    call(|| {
        device(dev)?;
        let (bus, number) = (out(bus, "the bus")?, out(device_number, "the device")?);
        bus.set(0);
        number.set(0);
        Ok(())
    })
}

/// # Safety
/// The results are NULL, or valid for writes.
pub unsafe extern "C" fn get_cluster_exception_target_block(
    dev: u32,
    sm: u32,
    wp: u32,
    block: Out<'_, Dim3>,
    valid: Out<'_, bool>,
) -> Status {
    call(|| {
        device(dev)?;
        let (block, valid) = (out(block, "the block")?, out(valid, "valid")?);
        with_warp((dev, sm, wp), |_| {
            block.set(ZERO);
            valid.set(false);
            Ok(())
        })
    })
}

/// # Safety
/// The results are NULL, or valid for writes; the addresses may be NULL.
pub unsafe extern "C" fn read_all_virtual_return_addresses(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    _addresses: *mut u64,
    _count: u32,
    depth: Out<'_, u32>,
    syscall_depth: Out<'_, u32>,
) -> Status {
    call(|| {
        device(dev)?;
        let (depth, syscall_depth) = (out(depth, "the depth")?, out(syscall_depth, "the depth of system calls")?);
        with_lane((dev, sm, wp, ln), |_| {
            depth.set(0);
            syscall_depth.set(0);
            Ok(())
        })
    })
}

/// There is no managed memory.
///
/// # Safety
/// `count` is NULL, or valid for writes.
pub unsafe extern "C" fn get_managed_memory_region_info(
    _start: u64,
    _regions: *mut MemoryInfo,
    _capacity: u32,
    count: Out<'_, u32>,
) -> Status {
    call(|| {
        crate::session::current()?;
        out(count, "the number of regions")?.set(0);
        Ok(())
    })
}
