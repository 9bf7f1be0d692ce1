//! Memory that programs allocate and free.

use std::ffi::{c_int, c_void};

use opscope_border::{In, Out, exported};

use super::registry::{self, Place};
use crate::border::{Failure, codes, given};
use crate::contexts::{check_current, wait_for_all};
use crate::last_error::runtime_call;

/// The vendor's memory comes in pieces of it, with one behind what was asked for.
const PIECE: usize = 32;

/// What may be said about an allocation; only whether there is something is read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MallocConfig {
    attributes: *const c_void,
    count: usize,
}

const _: () = assert!(size_of::<MallocConfig>() == 16);

/// Allocates memory of the device: at least the size, and 32 bytes. The policy changes nothing.
#[exported(runtime_call)]
pub fn aclrtMalloc(address: Out<'_, *mut c_void>, size: usize, _policy: c_int) -> Result<(), Failure> {
    on_device(address, size, PIECE)
}

/// As aclrtMalloc, without the 32 bytes.
#[exported(runtime_call)]
pub fn aclrtMallocAlign32(address: Out<'_, *mut c_void>, size: usize, _policy: c_int) -> Result<(), Failure> {
    on_device(address, size, 0)
}

/// As aclrtMalloc.
#[exported(runtime_call)]
pub fn aclrtMallocCached(address: Out<'_, *mut c_void>, size: usize, _policy: c_int) -> Result<(), Failure> {
    on_device(address, size, PIECE)
}

/// As aclrtMalloc: the memory of the units that decode images, of which there are none, is the device's.
#[exported(runtime_call)]
pub fn acldvppMalloc(address: Out<'_, *mut c_void>, size: usize) -> Result<(), Failure> {
    on_device(address, size, PIECE)
}

/// As aclrtFree.
#[exported(runtime_call)]
pub fn acldvppFree(address: *mut c_void) -> Result<(), Failure> {
    registry::free(given(address, "devPtr")?, Place::Device)
}

/// As aclrtMalloc. The attributes of a configuration change nothing.
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
    registry::allocate(rounded.unwrap_or(usize::MAX), Place::Device)
}

/// Allocates memory of the device that the program frees, as if it had called aclrtMalloc.
pub fn allocate_for_program(size: usize) -> Result<*mut c_void, Failure> {
    allocate_with(size, PIECE)
}

fn check_size(size: usize) -> Result<(), Failure> {
    if size == 0 {
        return Err(Failure::wrong_value("size", size, "it must be greater than 0"));
    }
    Ok(())
}

/// Allocates memory of the host. It needs no context.
#[exported(runtime_call)]
pub fn aclrtMallocHost(address: Out<'_, *mut c_void>, size: usize) -> Result<(), Failure> {
    let address = address.place("hostPtr")?;
    check_size(size)?;
    let memory = registry::allocate(size, Place::Host)?;
    address.write(memory);
    Ok(())
}

/// Frees memory of the device at once.
#[exported(runtime_call)]
pub fn aclrtFree(address: *mut c_void) -> Result<(), Failure> {
    registry::free(given(address, "devPtr")?, Place::Device)
}

/// Waits for the work of all streams, and frees memory of the device.
#[exported(runtime_call)]
pub fn aclrtFreeWithDevSync(address: *mut c_void) -> Result<(), Failure> {
    free_after_work(given(address, "devPtr")?, Place::Device)
}

/// Frees memory of the host at once.
#[exported(runtime_call)]
pub fn aclrtFreeHost(address: *mut c_void) -> Result<(), Failure> {
    registry::free(given(address, "hostPtr")?, Place::Host)
}

/// Waits for the work of all streams, and frees memory of the host.
#[exported(runtime_call)]
pub fn aclrtFreeHostWithDevSync(address: *mut c_void) -> Result<(), Failure> {
    free_after_work(given(address, "hostPtr")?, Place::Host)
}

fn free_after_work(address: *mut c_void, place: Place) -> Result<(), Failure> {
    if registry::room_at(address).is_none() {
        let reason = "it was freed, or never allocated";
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "ptr", format!("{:#x}", address.addr()), reason));
    }
    wait_for_all()?;
    registry::free(address, place)
}
