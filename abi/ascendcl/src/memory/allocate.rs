//! Memory that programs allocate and free.

use std::ffi::{c_int, c_void};

use opscope_border::{In, Out, exported};

use super::registry::{self, Location};
use crate::border::{Failure, codes, given};
use crate::contexts::{check_current, wait_for_all};
use crate::last_error::runtime_call;

/// The vendor allocates in multiples of this size, and adds one more after the requested bytes.
const PIECE: usize = 32;

/// The options of an allocation. This library reads only whether there are any.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MallocConfig {
    attributes: *const c_void,
    count: usize,
}

const _: () = assert!(size_of::<MallocConfig>() == 16);

/// Allocates memory of the device: at least the size and 32 bytes. The policy has no effect.
#[exported(runtime_call)]
pub fn aclrtMalloc(address: Out<'_, *mut c_void>, size: usize, _policy: c_int) -> Result<(), Failure> {
    on_device(address, size, PIECE)
}

/// Does the same as aclrtMalloc, but adds no 32 bytes.
#[exported(runtime_call)]
pub fn aclrtMallocAlign32(address: Out<'_, *mut c_void>, size: usize, _policy: c_int) -> Result<(), Failure> {
    on_device(address, size, 0)
}

/// Does the same as aclrtMalloc.
#[exported(runtime_call)]
pub fn aclrtMallocCached(address: Out<'_, *mut c_void>, size: usize, _policy: c_int) -> Result<(), Failure> {
    on_device(address, size, PIECE)
}

/// Does the same as aclrtMalloc. There are no units here that decode images, so their memory is the device's.
#[exported(runtime_call)]
pub fn acldvppMalloc(address: Out<'_, *mut c_void>, size: usize) -> Result<(), Failure> {
    on_device(address, size, PIECE)
}

/// Does the same as aclrtFree.
#[exported(runtime_call)]
pub fn acldvppFree(address: *mut c_void) -> Result<(), Failure> {
    registry::free(given(address, "devPtr")?, Location::Device)
}

/// Does the same as aclrtMalloc. The attributes of a configuration have no effect.
#[exported(runtime_call)]
pub fn aclrtMallocWithCfg(
    address: Out<'_, *mut c_void>,
    size: usize,
    _policy: c_int,
    config: In<'_, MallocConfig>,
) -> Result<(), Failure> {
    address.check_given("devPtr")?;
    if let Some(config) = config.given()
        && config.count > 0
        && config.attributes.is_null()
    {
        return Err(Failure::null("cfg->attrs"));
    }
    on_device(address, size, PIECE)
}

fn on_device(address: Out<'_, *mut c_void>, size: usize, behind: usize) -> Result<(), Failure> {
    let address = address.place("devPtr")?;
    check_size(size)?;
    check_current()?;
    let memory = allocate_with(size, behind)?;
    address.write(memory);
    Ok(())
}

fn allocate_with(size: usize, behind: usize) -> Result<*mut c_void, Failure> {
    let rounded = size.checked_next_multiple_of(PIECE).and_then(|size| size.checked_add(behind));
    registry::allocate(rounded.unwrap_or(usize::MAX), Location::Device)
}

/// Allocates memory of the device. The program frees it with aclrtFree.
pub fn allocate_for_program(size: usize) -> Result<*mut c_void, Failure> {
    allocate_with(size, PIECE)
}

fn check_size(size: usize) -> Result<(), Failure> {
    if size == 0 {
        return Err(Failure::wrong_value("size", size, "it must be greater than 0"));
    }
    Ok(())
}

/// Allocates memory of the host. Needs no context.
#[exported(runtime_call)]
pub fn aclrtMallocHost(address: Out<'_, *mut c_void>, size: usize) -> Result<(), Failure> {
    let address = address.place("hostPtr")?;
    check_size(size)?;
    let memory = registry::allocate(size, Location::Host)?;
    address.write(memory);
    Ok(())
}

/// Frees memory of the device immediately.
#[exported(runtime_call)]
pub fn aclrtFree(address: *mut c_void) -> Result<(), Failure> {
    registry::free(given(address, "devPtr")?, Location::Device)
}

/// Waits for the work of all streams, and frees memory of the device.
#[exported(runtime_call)]
pub fn aclrtFreeWithDevSync(address: *mut c_void) -> Result<(), Failure> {
    free_after_work(given(address, "devPtr")?, Location::Device)
}

/// Frees memory of the host immediately.
#[exported(runtime_call)]
pub fn aclrtFreeHost(address: *mut c_void) -> Result<(), Failure> {
    registry::free(given(address, "hostPtr")?, Location::Host)
}

/// Waits for the work of all streams, and frees memory of the host.
#[exported(runtime_call)]
pub fn aclrtFreeHostWithDevSync(address: *mut c_void) -> Result<(), Failure> {
    free_after_work(given(address, "hostPtr")?, Location::Host)
}

fn free_after_work(address: *mut c_void, location: Location) -> Result<(), Failure> {
    if registry::room_at(address).is_none() {
        let reason = "it was freed, or never allocated";
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "ptr", format!("{:#x}", address.addr()), reason));
    }
    wait_for_all()?;
    registry::free(address, location)
}
