//! The device: there is one, and it is this machine.

mod queries;
mod timeouts;

use std::ffi::c_int;

use crate::border::Failure;
use crate::contexts::{DEVICE, check_current, check_device, limit, release_primary, retain_primary, synchronize_all};
use crate::last_error::runtime_call;
use crate::memory::free_device;

/// Opens the device for one more user. Its default context becomes current in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetDevice(device: i32) -> c_int {
    runtime_call(|| {
        check_device(device)?;
        retain_primary();
        Ok(())
    })
}

/// Takes one user away. After the last, waits for all streams, and ends the default context and the memory of the device.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtResetDevice(device: i32) -> c_int {
    runtime_call(|| reset(device, false))
}

/// As aclrtResetDevice for the last user, however many there are.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtResetDeviceForce(device: i32) -> c_int {
    runtime_call(|| reset(device, true))
}

fn reset(device: i32, with_force: bool) -> Result<(), Failure> {
    check_device(device)?;
    if release_primary(with_force)? {
        free_device();
    }
    Ok(())
}

/// Writes the device of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDevice(device: *mut i32) -> c_int {
    runtime_call(|| {
        let device = crate::border::out(device, "deviceId")?;
        check_current()?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { device.write(DEVICE) };
        Ok(())
    })
}

/// Waits for the work of all streams, and returns the code of what failed first.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeDevice() -> c_int {
    runtime_call(|| {
        check_current()?;
        synchronize_all(None)
    })
}

/// As aclrtSynchronizeDevice, with a time in milliseconds.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeDeviceWithTimeout(milliseconds: i32) -> c_int {
    runtime_call(|| {
        let limit = limit(milliseconds, 1)?;
        check_current()?;
        synchronize_all(limit)
    })
}
