//! Registers. An operator has none, but debuggers read some at every stop, so they get zeros.

use opscope_border::{ItemsOut, Out, Room, in_table};

use super::place::{device, with_lane};
use crate::border::{Failure, Status};

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
