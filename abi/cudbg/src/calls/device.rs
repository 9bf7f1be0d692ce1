//! The device: its names, its sizes, and its whole state in one answer.

use opscope_border::{ItemsOut, Out, Unpadded, in_table};

use super::place::device;
use super::warps::exception;
use crate::border::{Failure, Status, THE_BUFFER, write_text};
use crate::layout::device::{DeviceInfo, DeviceInfoSizes, LaneInfo, SmInfo, WarpInfo};
use crate::layout::numbers::attribute;
use crate::layout::zeroed;
use crate::session::{State, Stop, current, require_suspended};

/// The type of multiprocessors. From its number, clients infer that an instruction has 16 bytes.
const SM_TYPE: &str = "sm_75";

/// Defines functions that return a text about the device.
macro_rules! texts {
    ($($function:ident: $text:expr;)*) => {
        $(
            #[in_table]
            pub fn $function(dev: u32, #[counted_by(size)] to: ItemsOut<'_, u8>, size: u32) -> Result<(), Failure> {
                    device(dev)?;
                    write_text($text, to)

            }
        )*
    };
}

texts! {
    get_device_type: "opscope";
    get_device_name: concat!("opscope ", env!("CARGO_PKG_VERSION"));
    get_sm_type: SM_TYPE;
}

#[in_table]
pub fn get_num_devices(count: Out<'_, u32>) -> Result<(), Failure> {
    current()?;
    count.place("the number of devices")?.write(1);
    Ok(())
}

/// Returns the largest number of runs that were stopped at the same time so far, and at least 1.
#[in_table]
pub fn get_num_warps(dev: u32, count: Out<'_, u32>) -> Result<(), Failure> {
    let session = device(dev)?;
    count.place("the number of warps")?.write(session.state().warps.count());
    Ok(())
}

/// The attributes of a warp that are sent: each with its size in bytes, and the revision that introduced it.
const WARP_ATTRIBUTES: [(usize, u32, u32); 3] = [
    (attribute::WARP_EXCEPTION, 4, 0),
    (attribute::WARP_ERROR_PC, 8, 0),
    (attribute::WARP_HIT_BREAKPOINT_HANDLE, 8, 180),
];

/// The size in bytes of a mask of multiprocessors or warps.
const MASK: u32 = 8;

#[in_table]
pub fn get_device_info_sizes(dev: u32, sizes: Out<'_, DeviceInfoSizes>) -> Result<(), Failure> {
    let session = device(dev)?;
    let place = sizes.place("sizes")?;
    let mut sizes: DeviceInfoSizes = zeroed();
    sizes.device_info_size = size_of::<DeviceInfo>() as u32;
    sizes.sm_info_size = size_of::<SmInfo>() as u32;
    sizes.warp_info_size = size_of::<WarpInfo>() as u32;
    sizes.lane_info_size = size_of::<LaneInfo>() as u32;
    for mask in
        [attribute::DEVICE_SM_UPDATE_MASK, attribute::DEVICE_SM_ACTIVE_MASK, attribute::DEVICE_SM_EXCEPTION_MASK]
    {
        sizes.device_info_attribute_sizes[mask] = MASK;
    }
    sizes.sm_info_attribute_sizes[attribute::SM_WARP_UPDATE_MASK] = MASK;
    let all = [4, 0, 4, 8, 12, 12, 12, 4, 8];
    for (bit, size) in all.into_iter().enumerate().filter(|(bit, _)| is_known(*bit, session.options.version.revision()))
    {
        sizes.warp_info_attribute_sizes[bit] = size;
    }
    let warp = size_of::<WarpInfo>() + size_of::<LaneInfo>() + all.iter().sum::<u32>() as usize;
    let masks = 3 * MASK as usize + MASK as usize;
    sizes.required_buffer_size = (size_of::<DeviceInfo>() + size_of::<SmInfo>() + masks + 64 * warp) as u32;
    place.write(sizes);
    Ok(())
}

#[in_table]
pub fn get_device_info(
    dev: u32,
    query: u32,
    #[counted_by(size)] buffer: ItemsOut<'_, u8>,
    size: u32,
    written: Out<'_, u32>,
) -> Result<(), Failure> {
    let session = device(dev)?;
    if buffer.is_null() {
        return Err(Failure::null(THE_BUFFER));
    }
    let written = written.place("the number of bytes")?;
    if query > 1 {
        let text = format!("{query} is not a query; there are 0 (everything) and 1 (what changed)");
        return Err(Failure::new(Status::InvalidArgs, text));
    }
    let mut state = session.state();
    require_suspended(&mut state)?;
    let blob = describe(&state, session.options.version.revision());
    if blob.len() > size as usize {
        let text = format!("the answer has {} bytes, and there is room for {size}", blob.len());
        return Err(Failure::new(Status::BufferTooSmall, text));
    }
    buffer.write_all(&blob, THE_BUFFER)?;
    written.write(blob.len() as u32);
    Ok(())
}

/// Returns whether clients of a revision know an attribute of a warp.
fn is_known(bit: usize, revision: u32) -> bool {
    let since = match bit {
        attribute::WARP_CLUSTER_DIM | attribute::WARP_CLUSTER_EXCEPTION_TARGET_BLOCK => 150,
        attribute::WARP_IN_SYSCALL_LANES => 156,
        attribute::WARP_HIT_BREAKPOINT_HANDLE => 180,
        _ => 0,
    };
    revision >= since
}

/// Returns the whole state of the device, encoded: the device, its multiprocessor, and each warp with its lane.
fn describe(state: &State, revision: u32) -> Vec<u8> {
    let mut stops: Vec<&Stop> = state.stops().map(|(_, stop)| stop).collect();
    stops.sort_by_key(|stop| stop.warp);
    let mask = |is_in: fn(&Stop) -> bool| {
        let warps = stops.iter().filter(|stop| is_in(stop)).filter_map(|stop| stop.warp);
        warps.fold(0u64, |mask, warp| mask | 1 << warp)
    };
    let mut blob = Vec::new();
    let flags = 1 << attribute::DEVICE_SM_ACTIVE_MASK | 1 << attribute::DEVICE_SM_EXCEPTION_MASK;
    blob.extend(DeviceInfo { response_type: 0, device_attribute_flags: flags }.as_bytes());
    let valid = mask(|_| true);
    blob.extend(u64::from(valid != 0).to_le_bytes());
    blob.extend(u64::from(stops.iter().any(|stop| stop.exception().is_some())).to_le_bytes());
    if valid == 0 {
        return blob;
    }
    blob.extend(
        SmInfo { warp_valid_mask: valid, warp_broken_mask: mask(Stop::is_broken), sm_attribute_flags: 0 }.as_bytes(),
    );
    for stop in stops {
        let mut info: WarpInfo = zeroed();
        info.grid_id = stop.grid.map_or(0, |grid| grid.id);
        info.valid_lanes = 1;
        info.active_lanes = 1;
        let handle = state.breakpoints.handle_of(&stop.cause).filter(|_| stop.is_broken());
        let is_sent = |bit: usize| match bit {
            attribute::WARP_EXCEPTION | attribute::WARP_ERROR_PC => stop.exception().is_some(),
            _ => stop.is_broken() && handle.is_some() && is_known(bit, revision),
        };
        let sent = WARP_ATTRIBUTES.iter().filter(|(bit, ..)| is_sent(*bit));
        info.warp_attribute_flags = sent.fold(0, |flags, (bit, ..)| flags | 1 << bit);
        blob.extend(info.as_bytes());
        if stop.exception().is_some() {
            blob.extend(exception(stop).to_le_bytes());
            blob.extend(stop.address.to_le_bytes());
        }
        if is_sent(attribute::WARP_HIT_BREAKPOINT_HANDLE) {
            blob.extend(handle.unwrap_or_default().to_le_bytes());
        }
        blob.extend(LaneInfo { virtual_pc: stop.address }.as_bytes());
    }
    blob
}
