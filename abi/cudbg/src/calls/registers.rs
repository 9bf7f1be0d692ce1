//! Registers: an operator has none. Debuggers read some at every stop, and get zeros.

use opscope_border::Out;

use super::place::{device, with_lane};
use crate::border::{Failure, Status, call, out};

/// How many a lane has: all that an instruction can name. cuda-gdb 12.4 looks names up among these before it comes to `pc`, and ends
/// with an internal error where one that it counts with is missing.
pub const REGISTERS: u32 = 256;

/// # Safety
/// `value` is NULL, or valid for writes.
pub unsafe extern "C" fn read_register(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    number: u32,
    value: Out<'_, u32>,
) -> Status {
    call(|| {
        let value = out(value, "the value")?;
        check((dev, sm, wp, ln), number, 1)?;
        value.set(0);
        Ok(())
    })
}

/// # Safety
/// `values` is NULL, or valid for writes of so many registers.
pub unsafe extern "C" fn read_register_range60(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    first: u32,
    count: u32,
    values: *mut u32,
) -> Status {
    // SAFETY: the caller promises it.
    call(|| unsafe { read_range((dev, sm, wp, ln), first, count, values) })
}

/// # Safety
/// `values` is NULL, or valid for writes of so many registers; `read` is NULL, or valid for writes.
pub unsafe extern "C" fn read_register_range(
    dev: u32,
    sm: u32,
    wp: u32,
    ln: u32,
    first: u32,
    count: u32,
    values: *mut u32,
    read: Out<'_, u32>,
) -> Status {
    call(|| {
        // SAFETY: the caller promises it.
        unsafe { read_range((dev, sm, wp, ln), first, count, values) }?;
        if !read.is_null() {
            out(read, "the number of registers")?.set(count);
        }
        Ok(())
    })
}

/// # Safety
/// `values` is NULL, or valid for writes of so many registers.
unsafe fn read_range(at: (u32, u32, u32, u32), first: u32, count: u32, values: *mut u32) -> Result<(), Failure> {
    if values.is_null() && count > 0 {
        return Err(Failure::null("the place for the registers"));
    }
    check(at, first, count)?;
    if count > 0 {
        // SAFETY: it is not NULL, and the caller promises so many; they are at most 256, of four bytes of any value.
        unsafe { values.cast::<u8>().write_bytes(0, count as usize * size_of::<u32>()) };
    }
    Ok(())
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
