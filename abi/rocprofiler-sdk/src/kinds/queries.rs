use std::ffi::{c_char, c_int, c_void};

use super::{BUFFERED, CALLBACKS, CORRELATION_ID_RETIREMENT, Kind, Operations};
use crate::border::{Status, call, name_out};
use crate::layout::RecordHeader;

type KindCallback = Option<unsafe extern "C-unwind" fn(u32, *mut c_void) -> c_int>;
type OperationCallback = Option<unsafe extern "C-unwind" fn(u32, i32, *mut c_void) -> c_int>;

/// Writes the name of a kind of buffered tracing, such as "KERNEL_DISPATCH", and its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_buffer_tracing_kind_name(
    kind: u32,
    name: *mut *const c_char,
    length: *mut u64,
) -> Status {
    // SAFETY: as the tool promises.
    call(|| unsafe { kind_name(&BUFFERED, kind, name, length) })
}

/// Writes the name of a kind of callback tracing and its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_callback_tracing_kind_name(
    kind: u32,
    name: *mut *const c_char,
    length: *mut u64,
) -> Status {
    // SAFETY: as the tool promises.
    call(|| unsafe { kind_name(&CALLBACKS, kind, name, length) })
}

/// Writes the name of an operation of a kind of buffered tracing, such as "roctxMarkA", and its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_buffer_tracing_kind_operation_name(
    kind: u32,
    operation: i32,
    name: *mut *const c_char,
    length: *mut u64,
) -> Status {
    if kind == CORRELATION_ID_RETIREMENT {
        return Status::NotImplemented;
    }
    // SAFETY: as the tool promises.
    call(|| unsafe { operation_name(&BUFFERED, kind, operation, name, length) })
}

/// Writes the name of an operation of a kind of callback tracing and its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_query_callback_tracing_kind_operation_name(
    kind: u32,
    operation: i32,
    name: *mut *const c_char,
    length: *mut u64,
) -> Status {
    // SAFETY: as the tool promises.
    call(|| unsafe { operation_name(&CALLBACKS, kind, operation, name, length) })
}

/// Calls back with each kind of buffered tracing, "NONE" included, until the callback returns something else than 0.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rocprofiler_iterate_buffer_tracing_kinds(
    callback: KindCallback,
    data: *mut c_void,
) -> Status {
    // SAFETY: as the tool promises.
    unsafe { iterate_kinds(&BUFFERED, callback, data) }
}

/// Calls back with each kind of callback tracing, "NONE" included, until the callback returns something else than 0.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rocprofiler_iterate_callback_tracing_kinds(
    callback: KindCallback,
    data: *mut c_void,
) -> Status {
    // SAFETY: as the tool promises.
    unsafe { iterate_kinds(&CALLBACKS, callback, data) }
}

/// Calls back with each operation of a kind of buffered tracing, until the callback returns something else than 0.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rocprofiler_iterate_buffer_tracing_kind_operations(
    kind: u32,
    callback: OperationCallback,
    data: *mut c_void,
) -> Status {
    if kind == CORRELATION_ID_RETIREMENT {
        return Status::NotImplemented;
    }
    // SAFETY: as the tool promises.
    unsafe { iterate_operations(&BUFFERED, kind, callback, data) }
}

/// Calls back with each operation of a kind of callback tracing, until the callback returns something else than 0.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn rocprofiler_iterate_callback_tracing_kind_operations(
    kind: u32,
    callback: OperationCallback,
    data: *mut c_void,
) -> Status {
    // SAFETY: as the tool promises.
    unsafe { iterate_operations(&CALLBACKS, kind, callback, data) }
}

/// Calls back with each argument of a record's call. The records here have none; those of kinds whose calls are not made here do not
/// exist.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_iterate_buffer_tracing_record_args(
    header: RecordHeader,
    callback: Option<unsafe extern "C-unwind" fn()>,
    _data: *mut c_void,
) -> Status {
    match BUFFERED.get(header.kind as usize) {
        _ if header.kind == 0 || callback.is_none() => Status::InvalidArgument,
        None => Status::InvalidArgument,
        Some(kind) if kind.name.to_bytes().ends_with(b"_EXT") => Status::Success,
        Some(_) => Status::NotImplemented,
    }
}

unsafe fn kind_name(kinds: &[Kind], kind: u32, name: *mut *const c_char, length: *mut u64) -> Result<(), Status> {
    let found = kinds.get(kind as usize).map(|kind| kind.name);
    // SAFETY: the caller passes the tool's places, which are NULL or writable.
    unsafe { name_out(found, name, length) };
    found.map(drop).ok_or(Status::KindNotFound)
}

unsafe fn operation_name(
    kinds: &[Kind],
    kind: u32,
    operation: i32,
    name: *mut *const c_char,
    length: *mut u64,
) -> Result<(), Status> {
    let found = kinds.get(kind as usize).ok_or(Status::KindNotFound)?;
    if kind == 0 {
        return Err(Status::InvalidArgument);
    }
    let names = names(found);
    let found = usize::try_from(operation).ok().and_then(|operation| names.get(operation).copied());
    // SAFETY: the caller passes the tool's places, which are NULL or writable.
    unsafe { name_out(found, name, length) };
    found.map(drop).ok_or(Status::OperationNotFound)
}

unsafe fn iterate_kinds(kinds: &[Kind], callback: KindCallback, data: *mut c_void) -> Status {
    let Some(callback) = callback else { return Status::InvalidArgument };
    for kind in 0..kinds.len() as u32 {
        // SAFETY: the tool promises that the function takes these arguments.
        if unsafe { callback(kind, data) } != 0 {
            break;
        }
    }
    Status::Success
}

unsafe fn iterate_operations(kinds: &[Kind], kind: u32, callback: OperationCallback, data: *mut c_void) -> Status {
    let Some(callback) = callback else { return Status::InvalidArgument };
    if kind == 0 || kind as usize == kinds.len() {
        return Status::InvalidArgument;
    }
    let count = kinds.get(kind as usize).map_or(0, |kind| names(kind).len());
    for operation in 0..count as i32 {
        // SAFETY: the tool promises that the function takes these arguments.
        if unsafe { callback(kind, operation, data) } != 0 {
            break;
        }
    }
    Status::Success
}

fn names(kind: &Kind) -> &'static [&'static std::ffi::CStr] {
    match kind.operations {
        Operations::Named(names) => names,
        Operations::Unknown | Operations::None => &[],
    }
}
