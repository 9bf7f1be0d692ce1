//! What programs ask about the device.

use std::ffi::{c_int, c_void};
use std::thread::available_parallelism;

use crate::border::{Failure, codes, out};
use crate::contexts::{DEVICE, check_device};
use crate::last_error::runtime_call;
use crate::memory::device_memory;

/// Programs copy between host and device, as they do on a machine with a card.
const RUN_MODE_HOST: c_int = 1;
const STATUS_NORMAL: c_int = 0;
/// A value that is not known.
const UNKNOWN: i32 = -1;

/// `aclrtUtilizationInfo`
#[repr(C)]
pub struct Utilization {
    cube: i32,
    vector: i32,
    aicpu: i32,
    memory: i32,
    extend: *mut c_void,
}

const _: () = assert!(size_of::<Utilization>() == 24);

/// Writes 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceCount(count: *mut u32) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { write(count, "count", 1) })
}

/// Writes ACL_HOST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetRunMode(mode: *mut c_int) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { write(mode, "runMode", RUN_MODE_HOST) })
}

/// Writes that the device is well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtQueryDeviceStatus(device: i32, status: *mut c_int) -> c_int {
    runtime_call(|| {
        out(status, "deviceStatus")?;
        check_device(device)?;
        // SAFETY: the program promises that it is writable.
        unsafe { write(status, "deviceStatus", STATUS_NORMAL) }
    })
}

/// Writes that it is not known how busy the device is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceUtilizationRate(device: i32, info: *mut Utilization) -> c_int {
    runtime_call(|| {
        let info = out(info, "utilizationInfo")?;
        check_device(device)?;
        // SAFETY: it is not NULL, and the program promises that it is writable. Its extension is the program's.
        unsafe {
            (&raw mut (*info).cube).write(UNKNOWN);
            (&raw mut (*info).vector).write(UNKNOWN);
            (&raw mut (*info).aicpu).write(UNKNOWN);
            (&raw mut (*info).memory).write(UNKNOWN);
        }
        Ok(())
    })
}

/// Writes 0: there is no other device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) -> c_int {
    runtime_call(|| {
        out(can, "canAccessPeer")?;
        check_device(device)?;
        check_device(peer)?;
        // SAFETY: the program promises that it is writable.
        unsafe { write(can, "canAccessPeer", 0) }
    })
}

/// Writes how many cores the device has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclGetDeviceCapability(device: u32, info: c_int, value: *mut i64) -> c_int {
    const AI_CORES: c_int = 0;
    const VECTOR_CORES: c_int = 1;
    runtime_call(|| {
        out(value, "value")?;
        check_number(device)?;
        let answer = match info {
            AI_CORES | VECTOR_CORES => cores(),
            _ => return Err(Failure::unsupported(&format!("attribute {info} of aclGetDeviceCapability"))),
        };
        // SAFETY: the program promises that it is writable.
        unsafe { write(value, "value", answer) }
    })
}

/// Writes how many cores the device has, or its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceInfo(device: u32, attribute: c_int, value: *mut i64) -> c_int {
    const AICPU_CORES: c_int = 1;
    const AI_CORES: c_int = 101;
    const CUBE_CORES: c_int = 102;
    const VECTOR_CORES: c_int = 201;
    const MEMORY: c_int = 301;
    runtime_call(|| {
        out(value, "value")?;
        check_number(device)?;
        let answer = match attribute {
            AICPU_CORES | AI_CORES | CUBE_CORES | VECTOR_CORES => cores(),
            MEMORY => i64::try_from(device_memory()).unwrap_or(i64::MAX),
            _ => return Err(Failure::unsupported(&format!("attribute {attribute} of aclrtGetDeviceInfo"))),
        };
        // SAFETY: the program promises that it is writable.
        unsafe { write(value, "value", answer) }
    })
}

/// Checks a number of a device that has no sign.
fn check_number(device: u32) -> Result<(), Failure> {
    let reason = "the only device is 0";
    let wrong = || Failure::wrong_value_of(codes::RT_INVALID_DEVICEID, "deviceId", device, reason);
    i32::try_from(device).ok().filter(|device| *device == DEVICE).map(drop).ok_or_else(wrong)
}

/// Returns how many threads the machine runs at a time.
fn cores() -> i64 {
    available_parallelism().map_or(1, |cores| i64::try_from(cores.get()).unwrap_or(i64::MAX))
}

/// # Safety
/// The place is NULL or writable.
unsafe fn write<T>(to: *mut T, name: &str, value: T) -> Result<(), Failure> {
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { out(to, name)?.write(value) };
    Ok(())
}
