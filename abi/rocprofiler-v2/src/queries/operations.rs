use std::ffi::{CStr, c_char, c_int};

use crate::border::{Status, call, out};
use crate::kinds::{DOMAINS, operations};

/// Writes the name of an operation, or NULL for one that has none. It can be called before the library is initialized.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_tracer_operation_name(
    domain: c_int,
    operation: u32,
    name: *mut *const c_char,
) -> Status {
    let Ok(place) = out(name) else { return Status::InvalidArguments };
    let found = operations(domain).get(operation as usize);
    // SAFETY: it is checked, and the tool promises that it is writable.
    unsafe { place.write(found.map_or(std::ptr::null(), |name| name.as_ptr())) };
    Status::Success
}

/// Writes the number of the operation with a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_tracer_operation_id(
    domain: c_int,
    name: *const c_char,
    operation: *mut u32,
) -> Status {
    call(|| {
        let place = out(operation)?;
        if name.is_null() {
            return Err(Status::InvalidArguments);
        }
        if !(0..DOMAINS).contains(&domain) {
            return Err(Status::InvalidDomainId);
        }
        // SAFETY: it is not NULL, and the tool passes a text.
        let name = unsafe { CStr::from_ptr(name) };
        let found = operations(domain).iter().position(|known| *known == name).ok_or(Status::InvalidOperationId)?;
        // SAFETY: it is checked, and the tool promises that it is writable.
        unsafe { place.write(found as u32) };
        Ok(())
    })
}

/// The same under the name that the vendor's library defines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_tracer_operation_id(
    domain: c_int,
    name: *const c_char,
    operation: *mut u32,
) -> Status {
    // SAFETY: as the tool promises.
    unsafe { rocprofiler_tracer_operation_id(domain, name, operation) }
}
