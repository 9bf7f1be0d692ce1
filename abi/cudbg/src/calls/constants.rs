//! Functions whose results are the same for all devices, warps and lanes.

use opscope_border::{ItemsOut, Out, in_table};

use super::memory::REGISTERS;
use super::place::{LANES, device, with_lane, with_warp};
use crate::border::Failure;
use crate::layout::device::{Dim3, MemoryInfo, WarpResources};
use crate::layout::zeroed;

use super::encode::ONE;

const ZERO: Dim3 = Dim3 { x: 0, y: 0, z: 0 };

/// Defines functions that return a constant for a device, a warp or a lane.
macro_rules! constant {
    (of device: $($function:ident: $type:ty = $value:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, result: Out<'_, $type>) -> Result<(), Failure> {
                    device(dev)?;
                    result.place("the place for the result")?.write($value);
                    Ok(())

            }
        )*
    };
    (of warp: $($function:ident: $type:ty = $value:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, sm: u32, wp: u32, result: Out<'_, $type>) -> Result<(), Failure> {
                    device(dev)?;
                    let result = result.place("the place for the result")?;
                    with_warp((dev, sm, wp), |_| { result.write($value); Ok(()) })

            }
        )*
    };
    (of lane: $($function:ident: $type:ty = $value:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, sm: u32, wp: u32, ln: u32, result: Out<'_, $type>) -> Result<(), Failure> {
                    device(dev)?;
                    let result = result.place("the place for the result")?;
                    with_lane((dev, sm, wp, ln), |_| { result.write($value); Ok(()) })

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

#[in_table]
pub fn get_device_pci_bus_info(dev: u32, bus: Out<'_, u32>, device_number: Out<'_, u32>) -> Result<(), Failure> {
    device(dev)?;
    let (bus, number) = (bus.place("the bus")?, device_number.place("the device")?);
    bus.write(0);
    number.write(0);
    Ok(())
}

#[in_table]
pub fn get_cluster_exception_target_block(
    dev: u32,
    sm: u32,
    wp: u32,
    block: Out<'_, Dim3>,
    valid: Out<'_, bool>,
) -> Result<(), Failure> {
    device(dev)?;
    let (block, valid) = (block.place("the block")?, valid.place("valid")?);
    with_warp((dev, sm, wp), |_| {
        block.write(ZERO);
        valid.write(false);
        Ok(())
    })
}

#[in_table]
pub fn read_all_virtual_return_addresses(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    _addresses: ItemsOut<'_, u64>,
    _count: u32,
    depth: Out<'_, u32>,
    syscall_depth: Out<'_, u32>,
) -> Result<(), Failure> {
    device(dev)?;
    let (depth, syscall_depth) = (depth.place("the depth")?, syscall_depth.place("the depth of system calls")?);
    with_lane((dev, sm, wp, ln), |_| {
        depth.write(0);
        syscall_depth.write(0);
        Ok(())
    })
}

/// There is no managed memory.
#[in_table]
pub fn get_managed_memory_region_info(
    _start: u64,
    _regions: ItemsOut<'_, MemoryInfo>,
    _capacity: u32,
    count: Out<'_, u32>,
) -> Result<(), Failure> {
    crate::session::current()?;
    count.place("the number of regions")?.write(0);
    Ok(())
}
