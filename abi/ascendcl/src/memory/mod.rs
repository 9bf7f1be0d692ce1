//! Memory of the device and of the host. Both are this machine's memory. Here are its size, and the functions that
//! allocate and free it.

#[allow(unsafe_code, reason = "it copies between memory that the program names")]
mod copy;
#[allow(unsafe_code, reason = "memory that programs allocate and free")]
mod registry;

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use opscope_border::{In, Out, exported, system};

use crate::border::{Failure, codes, given};
use crate::contexts::{check_current, wait_for_all};
use crate::thread_context::runtime_call;
use registry::Location;
pub use registry::{Range, free_device, room_at, with};

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

/// Writes the size of the device's memory, and how much of it the program has not allocated, in bytes. Both are 0 for
/// memory between devices, and for pages of 1 GiB.
#[exported]
pub fn aclrtGetMemInfo(kind: c_int, free: Out<'_, usize>, total: Out<'_, usize>) -> c_int {
    /// The kinds of memory that exist here: DDR, HBM and both together, with pages of other sizes.
    const HERE: [c_int; 8] = [0, 1, 2, 3, 4, 5, 12, 13];
    const LAST: c_int = 17;
    runtime_call(|| {
        let (free, total) = (free.place("free")?, total.place("total")?);
        if !(0..=LAST).contains(&kind) {
            return Err(Failure::wrong_value("attr", kind, "it is not one of aclrtMemAttr"));
        }
        check_current()?;
        let memory = if HERE.contains(&kind) { device_memory() } else { 0 };
        total.write(memory);
        free.write(memory.saturating_sub(registry::allocated()));
        Ok(())
    })
}

/// Does nothing: the host and the device see the same memory.
#[exported]
pub fn aclrtMemFlush(_address: *mut std::ffi::c_void, _size: usize) -> c_int {
    0
}

/// Does nothing: the host and the device see the same memory.
#[exported]
pub fn aclrtMemInvalidate(_address: *mut std::ffi::c_void, _size: usize) -> c_int {
    0
}

/// Returns the size of the machine's memory in bytes, which is the device's.
pub fn device_memory() -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    *MEMORY.get_or_init(|| usize::try_from(system::memory()).unwrap_or(usize::MAX))
}
