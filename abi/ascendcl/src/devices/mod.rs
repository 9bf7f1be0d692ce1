//! The only device, which is this machine.

mod queries;
mod timeouts;

use opscope_border::{Out, exported};

use crate::border::Failure;
use crate::contexts::{DEVICE, check_current, check_device, limit, release_primary, retain_primary, synchronize_all};
use crate::last_error::runtime_call;
use crate::memory::free_device;

/// Adds a user of the device. Its default context becomes current in this thread.
#[exported(runtime_call)]
pub fn aclrtSetDevice(device: i32) -> Result<(), Failure> {
    check_device(device)?;
    retain_primary();
    Ok(())
}

/// Removes a user of the device. After the last one, waits for all streams, destroys the default context, and frees the
/// memory of the device.
#[exported(runtime_call)]
pub fn aclrtResetDevice(device: i32) -> Result<(), Failure> {
    reset(device, false)
}

/// Does the same as aclrtResetDevice for the last user, however many users there are.
#[exported(runtime_call)]
pub fn aclrtResetDeviceForce(device: i32) -> Result<(), Failure> {
    reset(device, true)
}

fn reset(device: i32, with_force: bool) -> Result<(), Failure> {
    check_device(device)?;
    if release_primary(with_force)? {
        free_device();
    }
    Ok(())
}

/// Writes the device of the current context.
#[exported(runtime_call)]
pub fn aclrtGetDevice(device: Out<'_, i32>) -> Result<(), Failure> {
    let device = device.place("deviceId")?;
    check_current()?;
    device.write(DEVICE);
    Ok(())
}

/// Waits for the work of all streams, and returns the code of the first failure.
#[exported(runtime_call)]
pub fn aclrtSynchronizeDevice() -> Result<(), Failure> {
    check_current()?;
    synchronize_all(None)
}

/// Does the same as aclrtSynchronizeDevice, with a timeout in milliseconds.
#[exported(runtime_call)]
pub fn aclrtSynchronizeDeviceWithTimeout(milliseconds: i32) -> Result<(), Failure> {
    let limit = limit(milliseconds, 1)?;
    check_current()?;
    synchronize_all(limit)
}
