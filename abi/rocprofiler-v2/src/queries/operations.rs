use std::ffi::{c_char, c_int};

use opscope_border::{Out, Text, exported};

use crate::border::{Status, out};
use crate::kinds::{DOMAINS, operations};

/// Writes the name of an operation, or NULL for one that has none. It can be called before the library is initialized.
#[exported]
pub fn rocprofiler_query_tracer_operation_name(domain: c_int, operation: u32, name: Out<'_, *const c_char>) -> Status {
    let Ok(place) = out(name) else { return Status::InvalidArguments };
    let found = operations(domain).get(operation as usize);
    place.write(found.map_or(std::ptr::null(), |name| name.as_ptr()));
    Status::Success
}

/// Writes the number of the operation with this name.
#[exported]
pub fn rocprofiler_tracer_operation_id(domain: c_int, name: Text<'_>, operation: Out<'_, u32>) -> Result<(), Status> {
    let place = out(operation)?;
    let name = name.c_str("name")?;
    if !(0..DOMAINS).contains(&domain) {
        return Err(Status::InvalidDomainId);
    }
    let found = operations(domain).iter().position(|known| *known == name).ok_or(Status::InvalidOperationId)?;
    place.write(found as u32);
    Ok(())
}

/// Does the same as [`rocprofiler_tracer_operation_id`], under the name that the vendor's library defines.
#[exported]
pub fn rocprofiler_query_tracer_operation_id(domain: c_int, name: Text<'_>, operation: Out<'_, u32>) -> Status {
    rocprofiler_tracer_operation_id(domain, name, operation)
}
