//! Memory: tensors of stopped runs, and weights. Also registers: an operator has none, but debuggers read some at every
//! stop, so they get zeros.

use std::sync::Arc;

use opscope_border::{Bytes, Counted, ItemsOut, Out, Room, in_table};

use super::place::{device, lane, multiprocessor, with_lane};
use crate::border::{Failure, Status, THE_BUFFER};
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

/// The number of registers of a lane: all that an instruction can name. cuda-gdb 12.4 searches these for a name before
/// it tries `pc`, and fails with an internal error if one that it expects is missing.
pub const REGISTERS: u32 = 256;

#[in_table]
pub fn read_register(dev: u32, sm: u32, wp: u32, ln: u32, number: u32, value: Out<'_, u32>) -> Result<(), Failure> {
    let value = value.place("the value")?;
    check((dev, sm, wp, ln), number, 1)?;
    value.write(0);
    Ok(())
}

#[in_table]
pub fn read_register_range60(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    first: u32,
    count: u32,
    #[counted_by(count)] values: ItemsOut<'_, u32>,
) -> Result<(), Failure> {
    read_range((dev, sm, wp, ln), first, values)
}

#[in_table]
pub fn read_register_range(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    first: u32,
    count: u32,
    #[counted_by(count)] values: ItemsOut<'_, u32>,
    read: Out<'_, u32>,
) -> Result<(), Failure> {
    read_range((dev, sm, wp, ln), first, values)?;
    if !read.is_null() {
        read.place("the number of registers")?.write(count);
    }
    Ok(())
}

fn read_range(at: (u32, u32, u32, u32), first: u32, values: Room<'_, u32>) -> Result<(), Failure> {
    const NAME: &str = "the place for the registers";
    let count = values.count();
    if values.is_null() && count > 0 {
        return Err(Failure::null(NAME));
    }
    check(at, first, count as u32)?;
    Ok(values.write_all(&[0; REGISTERS as usize][..count], NAME)?)
}

fn check(at: (u32, u32, u32, u32), first: u32, count: u32) -> Result<(), Failure> {
    device(at.0)?;
    with_lane(at, |_| {
        if u64::from(first) + u64::from(count) > u64::from(REGISTERS) {
            let text = format!("{count} registers from {first} on were asked for; there are {REGISTERS}");
            return Err(Failure::new(Status::InvalidArgs, text));
        }
        Ok(())
    })
}
