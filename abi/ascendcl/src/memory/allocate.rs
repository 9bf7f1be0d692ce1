//! Memory that programs allocate and free.

use std::ffi::{c_int, c_void};

use super::registry::{self, Place};
use crate::border::{Failure, codes, out};
use crate::contexts::{check_current, wait_for_all};
use crate::last_error::runtime_call;

/// The vendor's memory comes in pieces of it, with one behind what was asked for.
const PIECE: usize = 32;

/// What may be said about an allocation; only whether there is something is read.
#[repr(C)]
pub struct MallocConfig {
    attributes: *const c_void,
    count: usize,
}

const _: () = assert!(size_of::<MallocConfig>() == 16);

/// Allocates memory of the device: at least the size, and 32 bytes. The policy changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMalloc(address: *mut *mut c_void, size: usize, _policy: c_int) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { on_device(address, size, PIECE) })
}

/// As aclrtMalloc, without the 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMallocAlign32(address: *mut *mut c_void, size: usize, _policy: c_int) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { on_device(address, size, 0) })
}

/// As aclrtMalloc.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMallocCached(address: *mut *mut c_void, size: usize, _policy: c_int) -> c_int {
    // SAFETY: the program promises that it is writable.
    runtime_call(|| unsafe { on_device(address, size, PIECE) })
}

/// As aclrtMalloc. The attributes of a configuration change nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMallocWithCfg(
    address: *mut *mut c_void,
    size: usize,
    _policy: c_int,
    config: *const MallocConfig,
) -> c_int {
    runtime_call(|| {
        out(address, "devPtr")?;
        // SAFETY: it is NULL, or the program promises that it is a configuration.
        if let Some(config) = unsafe { config.as_ref() }
            && config.count > 0
            && config.attributes.is_null()
        {
            return Err(Failure::null("cfg->attrs"));
        }
        // SAFETY: the program promises that it is writable.
        unsafe { on_device(address, size, PIECE) }
    })
}

/// # Safety
/// The place is NULL or writable.
unsafe fn on_device(address: *mut *mut c_void, size: usize, behind: usize) -> Result<(), Failure> {
    let address = out(address, "devPtr")?;
    check_size(size)?;
    check_current()?;
    let memory = allocate_with(size, behind)?;
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { address.write(memory) };
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
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMallocHost(address: *mut *mut c_void, size: usize) -> c_int {
    runtime_call(|| {
        let address = out(address, "hostPtr")?;
        check_size(size)?;
        let memory = registry::allocate(size, Place::Host)?;
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { address.write(memory) };
        Ok(())
    })
}

/// Frees memory of the device at once.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtFree(address: *mut c_void) -> c_int {
    runtime_call(|| registry::free(out(address, "devPtr")?, Place::Device))
}

/// Waits for the work of all streams, and frees memory of the device.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtFreeWithDevSync(address: *mut c_void) -> c_int {
    runtime_call(|| free_after_work(out(address, "devPtr")?, Place::Device))
}

/// Frees memory of the host at once.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtFreeHost(address: *mut c_void) -> c_int {
    runtime_call(|| registry::free(out(address, "hostPtr")?, Place::Host))
}

/// Waits for the work of all streams, and frees memory of the host.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtFreeHostWithDevSync(address: *mut c_void) -> c_int {
    runtime_call(|| free_after_work(out(address, "hostPtr")?, Place::Host))
}

fn free_after_work(address: *mut c_void, place: Place) -> Result<(), Failure> {
    if registry::room_at(address).is_none() {
        let reason = "it was freed, or never allocated";
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "ptr", format!("{:#x}", address.addr()), reason));
    }
    wait_for_all()?;
    registry::free(address, place)
}
