//! The only device, which is this machine.

use std::ffi::c_int;
use std::thread::available_parallelism;

use opscope_border::{Out, exported};

use crate::border::{Failure, codes};
use crate::contexts::{DEVICE, check_current, check_device, limit, release_primary, retain_primary, synchronize_all};
use crate::memory::{device_memory, free_device};
use crate::thread_context::runtime_call;

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

/// `ACL_HOST`: programs copy between host and device, as on a machine with a card.
const RUN_MODE_HOST: c_int = 1;
const STATUS_NORMAL: c_int = 0;
/// A value that is not known.
const UNKNOWN: i32 = -1;

/// The first 16 bytes of `aclrtUtilizationInfo`. The other 8 bytes are a pointer of the program, which is left
/// unchanged.
#[repr(C)]
pub struct Utilization {
    cube: i32,
    vector: i32,
    aicpu: i32,
    memory: i32,
}

const _: () = assert!(size_of::<Utilization>() == 16);

/// Writes 1.
#[exported(runtime_call)]
pub fn aclrtGetDeviceCount(count: Out<'_, u32>) -> Result<(), Failure> {
    write(count, "count", 1)
}

/// Writes ACL_HOST.
#[exported(runtime_call)]
pub fn aclrtGetRunMode(mode: Out<'_, c_int>) -> Result<(), Failure> {
    write(mode, "runMode", RUN_MODE_HOST)
}

/// Writes that the device works normally.
#[exported(runtime_call)]
pub fn aclrtQueryDeviceStatus(device: i32, status: Out<'_, c_int>) -> Result<(), Failure> {
    status.check_given("deviceStatus")?;
    check_device(device)?;
    write(status, "deviceStatus", STATUS_NORMAL)
}

/// Writes that the load of the device is unknown.
#[exported(runtime_call)]
pub fn aclrtGetDeviceUtilizationRate(device: i32, info: Out<'_, Utilization>) -> Result<(), Failure> {
    let info = info.place("utilizationInfo")?;
    check_device(device)?;
    info.write(Utilization { cube: UNKNOWN, vector: UNKNOWN, aicpu: UNKNOWN, memory: UNKNOWN });
    Ok(())
}

/// Writes 0: there is no other device.
#[exported(runtime_call)]
pub fn aclrtDeviceCanAccessPeer(can: Out<'_, i32>, device: i32, peer: i32) -> Result<(), Failure> {
    can.check_given("canAccessPeer")?;
    check_device(device)?;
    check_device(peer)?;
    write(can, "canAccessPeer", 0)
}

/// Writes how many cores the device has.
#[exported]
pub fn aclGetDeviceCapability(device: u32, info: c_int, value: Out<'_, i64>) -> c_int {
    const AI_CORES: c_int = 0;
    const VECTOR_CORES: c_int = 1;
    runtime_call(|| {
        value.check_given("value")?;
        check_number(device)?;
        let answer = match info {
            AI_CORES | VECTOR_CORES => cores(),
            _ => return Err(Failure::unsupported(&format!("attribute {info} of aclGetDeviceCapability"))),
        };
        write(value, "value", answer)
    })
}

/// Writes how many cores the device has, or the size of its memory in bytes.
#[exported]
pub fn aclrtGetDeviceInfo(device: u32, attribute: c_int, value: Out<'_, i64>) -> c_int {
    const AICPU_CORES: c_int = 1;
    const AI_CORES: c_int = 101;
    const CUBE_CORES: c_int = 102;
    const VECTOR_CORES: c_int = 201;
    const MEMORY: c_int = 301;
    runtime_call(|| {
        value.check_given("value")?;
        check_number(device)?;
        let answer = match attribute {
            AICPU_CORES | AI_CORES | CUBE_CORES | VECTOR_CORES => cores(),
            MEMORY => i64::try_from(device_memory()).unwrap_or(i64::MAX),
            _ => return Err(Failure::unsupported(&format!("attribute {attribute} of aclrtGetDeviceInfo"))),
        };
        write(value, "value", answer)
    })
}

/// Checks an unsigned device number.
fn check_number(device: u32) -> Result<(), Failure> {
    let reason = "the only device is 0";
    let wrong = || Failure::wrong_value_of(codes::RT_INVALID_DEVICEID, "deviceId", device, reason);
    i32::try_from(device).ok().filter(|device| *device == DEVICE).map(drop).ok_or_else(wrong)
}

/// Returns the number of processors that this process can use.
fn cores() -> i64 {
    available_parallelism().map_or(1, |cores| i64::try_from(cores.get()).unwrap_or(i64::MAX))
}

fn write<T>(to: Out<'_, T>, name: &'static str, value: T) -> Result<(), Failure> {
    to.place(name)?.write(value);
    Ok(())
}

/// Accepts a limit in seconds for a stream that waits for an event. Operators are never stopped here, so no limit is
/// stored.
#[exported]
pub fn aclrtSetOpWaitTimeout(_seconds: u32) -> c_int {
    0
}

/// Accepts a limit in seconds for an operator.
#[exported]
pub fn aclrtSetOpExecuteTimeOut(_seconds: u32) -> c_int {
    0
}

/// Accepts a limit in milliseconds for an operator.
#[exported]
pub fn aclrtSetOpExecuteTimeOutWithMs(_milliseconds: u32) -> c_int {
    0
}

/// Accepts a limit in microseconds for an operator, and writes the limit that applies: the same one, or the largest
/// number if it is 0.
#[exported(runtime_call)]
pub fn aclrtSetOpExecuteTimeOutV2(microseconds: u64, actual: Out<'_, u64>) -> Result<(), Failure> {
    let actual = actual.place("actualTimeout")?;
    actual.write(if microseconds == 0 { u64::MAX } else { microseconds });
    Ok(())
}
