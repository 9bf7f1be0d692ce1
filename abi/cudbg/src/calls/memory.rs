//! Memory: tensors of stopped runs, and weights.

use std::sync::Arc;

use opscope_border::{Bytes, Counted, ItemsOut, Room, in_table};

use super::place::{device, lane, multiprocessor};
use crate::border::{Failure, THE_BUFFER};
use crate::session::{Session, current};

#[in_table]
pub fn read_global_memory(
    address: u64,
    #[counted_by(size)] buffer: ItemsOut<'_, u8>,
    size: u32,
) -> Result<(), Failure> {
    read(&*current()?, address, buffer, None)
}

#[in_table]
pub fn write_global_memory(address: u64, #[counted_by(size)] buffer: Bytes<'_>, size: u32) -> Result<(), Failure> {
    write(&*current()?, address, buffer, None)
}

/// Reads memory of a device. Constant memory is the same as global memory.
#[in_table]
pub fn read_device_memory(
    dev: u32,
    address: u64,
    #[counted_by(size)] buffer: ItemsOut<'_, u8>,
    size: u32,
) -> Result<(), Failure> {
    read(&*device(dev)?, address, buffer, None)
}

#[in_table]
pub fn write_device_memory(
    dev: u32,
    address: u64,
    #[counted_by(size)] buffer: Bytes<'_>,
    size: u32,
) -> Result<(), Failure> {
    write(&*device(dev)?, address, buffer, None)
}

/// Reads memory as a lane sees it: the tensors of its run, if a run is stopped there.
#[in_table]
pub fn read_generic_memory(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    address: u64,
    #[counted_by(size)] buffer: ItemsOut<'_, u8>,
    size: u32,
) -> Result<(), Failure> {
    let (session, warp) = of_lane(dev, sm, wp, ln)?;
    read(&session, address, buffer, warp)
}

#[in_table]
pub fn write_generic_memory(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    address: u64,
    #[counted_by(size)] buffer: Bytes<'_>,
    size: u32,
) -> Result<(), Failure> {
    let (session, warp) = of_lane(dev, sm, wp, ln)?;
    write(&session, address, buffer, warp)
}

/// Returns the session, and the warp of a lane if a run is stopped in it. Without a warp, the address alone selects the
/// tensor.
fn of_lane(dev: u32, sm: u32, wp: u32, ln: u32) -> Result<(Arc<Session>, Option<u32>), Failure> {
    let session = device(dev)?;
    multiprocessor(&session, sm)?;
    lane(&session, ln)?;
    let is_stopped = session.state().stops().any(|(_, stop)| stop.warp == Some(wp));
    Ok((session, is_stopped.then_some(wp)))
}

fn read(session: &Session, address: u64, buffer: Room<'_, u8>, warp: Option<u32>) -> Result<(), Failure> {
    if buffer.is_null() && buffer.count() > 0 {
        return Err(Failure::null(THE_BUFFER));
    }
    let read = session.read_memory(address, buffer.count(), warp)?;
    Ok(buffer.write_all(&read, THE_BUFFER)?)
}

fn write(session: &Session, address: u64, buffer: Counted<'_, u8>, warp: Option<u32>) -> Result<(), Failure> {
    session.write_memory(address, buffer.get(THE_BUFFER)?, warp)
}
