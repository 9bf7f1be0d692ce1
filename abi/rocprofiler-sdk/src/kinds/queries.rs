//! The functions that query the names of kinds, operations, requests and tables.

use std::ffi::{CStr, c_char, c_int};

use opscope_border::{Answer, Out, exported};

use super::{BUFFERED, CALLBACKS, CORRELATION_ID_RETIREMENT, Domain, Kind, Operations};
use crate::border::{Data, NamePlaces, Status, name_out};
use crate::layout::RecordHeader;

type KindCallback = Option<extern "C-unwind" fn(u32, Data) -> c_int>;
type OperationCallback = Option<extern "C-unwind" fn(u32, i32, Data) -> c_int>;

/// Writes the name of a kind of buffered tracing, such as "KERNEL_DISPATCH", and its length.
#[exported]
pub fn rocprofiler_query_buffer_tracing_kind_name(
    kind: u32,
    name: Out<'_, *const c_char>,
    length: Out<'_, u64>,
) -> Result<(), Status> {
    kind_name(&BUFFERED, kind, (name, length))
}

/// Writes the name of a kind of callback tracing and its length.
#[exported]
pub fn rocprofiler_query_callback_tracing_kind_name(
    kind: u32,
    name: Out<'_, *const c_char>,
    length: Out<'_, u64>,
) -> Result<(), Status> {
    kind_name(&CALLBACKS, kind, (name, length))
}

/// Writes the name of an operation of a kind of buffered tracing, such as "roctxMarkA", and its length.
#[exported]
pub fn rocprofiler_query_buffer_tracing_kind_operation_name(
    kind: u32,
    operation: i32,
    name: Out<'_, *const c_char>,
    length: Out<'_, u64>,
) -> Status {
    if kind == CORRELATION_ID_RETIREMENT {
        return Status::NotImplemented;
    }
    Answer::answer(|| operation_name(&BUFFERED, kind, operation, (name, length)))
}

/// Writes the name of an operation of a kind of callback tracing and its length.
#[exported]
pub fn rocprofiler_query_callback_tracing_kind_operation_name(
    kind: u32,
    operation: i32,
    name: Out<'_, *const c_char>,
    length: Out<'_, u64>,
) -> Result<(), Status> {
    operation_name(&CALLBACKS, kind, operation, (name, length))
}

/// Calls back with each kind of buffered tracing, including "NONE", until the callback returns a value other than 0.
#[exported]
pub extern "C-unwind" fn rocprofiler_iterate_buffer_tracing_kinds(callback: KindCallback, data: Data) -> Status {
    iterate_kinds(&BUFFERED, callback, data)
}

/// Calls back with each kind of callback tracing, including "NONE", until the callback returns a value other than 0.
#[exported]
pub extern "C-unwind" fn rocprofiler_iterate_callback_tracing_kinds(callback: KindCallback, data: Data) -> Status {
    iterate_kinds(&CALLBACKS, callback, data)
}

/// Calls back with each operation of a kind of buffered tracing, until the callback returns a value other than 0.
#[exported]
pub extern "C-unwind" fn rocprofiler_iterate_buffer_tracing_kind_operations(
    kind: u32,
    callback: OperationCallback,
    data: Data,
) -> Status {
    if kind == CORRELATION_ID_RETIREMENT {
        return Status::NotImplemented;
    }
    iterate_operations(&BUFFERED, kind, callback, data)
}

/// Calls back with each operation of a kind of callback tracing, until the callback returns a value other than 0.
#[exported]
pub extern "C-unwind" fn rocprofiler_iterate_callback_tracing_kind_operations(
    kind: u32,
    callback: OperationCallback,
    data: Data,
) -> Status {
    iterate_operations(&CALLBACKS, kind, callback, data)
}

/// Would call back with each argument of a buffered record's call. It never does: the records that this library makes
/// carry no arguments.
#[exported]
pub fn rocprofiler_iterate_buffer_tracing_record_args(
    header: RecordHeader,
    callback: Option<extern "C-unwind" fn()>,
    _data: Data,
) -> Status {
    match BUFFERED.get(header.kind as usize) {
        _ if header.kind == 0 || callback.is_none() => Status::InvalidArgument,
        None => Status::InvalidArgument,
        Some(kind) if kind.name.to_bytes().ends_with(b"_EXT") => Status::Success,
        Some(_) => Status::NotImplemented,
    }
}

fn kind_name(kinds: &[Kind], kind: u32, places: NamePlaces<'_>) -> Result<(), Status> {
    let found = kinds.get(kind as usize).map(|kind| kind.name);
    name_out(found, places);
    found.map(drop).ok_or(Status::KindNotFound)
}

fn operation_name(kinds: &[Kind], kind: u32, operation: i32, places: NamePlaces<'_>) -> Result<(), Status> {
    let found = kinds.get(kind as usize).ok_or(Status::KindNotFound)?;
    if kind == 0 {
        return Err(Status::InvalidArgument);
    }
    let names = names(found);
    let found = usize::try_from(operation).ok().and_then(|operation| names.get(operation).copied());
    name_out(found, places);
    found.map(drop).ok_or(Status::OperationNotFound)
}

fn iterate_kinds(kinds: &[Kind], callback: KindCallback, data: Data) -> Status {
    let Some(callback) = callback else { return Status::InvalidArgument };
    for kind in 0..kinds.len() as u32 {
        if callback(kind, data) != 0 {
            break;
        }
    }
    Status::Success
}

fn iterate_operations(kinds: &[Kind], kind: u32, callback: OperationCallback, data: Data) -> Status {
    let Some(callback) = callback else { return Status::InvalidArgument };
    if kind == 0 || kind as usize == kinds.len() {
        return Status::InvalidArgument;
    }
    let count = kinds.get(kind as usize).map_or(0, |kind| names(kind).len());
    for operation in 0..count as i32 {
        if callback(kind, operation, data) != 0 {
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

/// The reason for asking a tool for an external correlation id: a number of
/// `rocprofiler_external_correlation_id_request_kind_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKind(pub u32);

const NAMES: [&CStr; 19] = [
    c"NONE",
    c"HSA_CORE_API",
    c"HSA_AMD_EXT_API",
    c"HSA_IMAGE_EXT_API",
    c"HSA_FINALIZE_EXT_API",
    c"HIP_RUNTIME_API",
    c"HIP_COMPILER_API",
    c"MARKER_CORE_API",
    c"MARKER_CONTROL_API",
    c"MARKER_NAME_API",
    c"MEMORY_COPY",
    c"KERNEL_DISPATCH",
    c"SCRATCH_MEMORY",
    c"RCCL_API",
    c"OMPT",
    c"MEMORY_ALLOCATION",
    c"ROCDECODE_API",
    c"ROCJPEG_API",
    c"MARKER_CORE_RANGE_API",
];

impl RequestKind {
    /// Returns the kind with this number; "NONE" is refused.
    pub fn from_raw(raw: u32) -> Result<Self, Status> {
        if (1..NAMES.len() as u32).contains(&raw) { Ok(Self(raw)) } else { Err(Status::KindNotFound) }
    }

    /// Returns the kind for a domain; `None` where no id is requested.
    pub fn of(domain: Domain) -> Option<Self> {
        Some(Self(match domain {
            Domain::MarkerCore => 7,
            Domain::MarkerControl => 8,
            Domain::MarkerName => 9,
            Domain::MemoryCopy => 10,
            Domain::KernelDispatch => 11,
            Domain::MemoryAllocation => 15,
            Domain::MarkerRange => 18,
            Domain::CodeObject | Domain::RuntimeInitialization | Domain::CorrelationIdRetirement => return None,
        }))
    }

    /// Returns the kind's bit.
    pub fn bit(self) -> u64 {
        1 << self.0
    }
}

/// Writes the name of a request kind, such as "MARKER_CORE_API", and its length.
#[exported]
pub fn rocprofiler_query_external_correlation_id_request_kind_name(
    kind: u32,
    name: Out<'_, *const c_char>,
    length: Out<'_, u64>,
) -> Result<(), Status> {
    let found = NAMES.get(kind as usize).copied();
    name_out(found, (name, length));
    found.map(drop).ok_or(Status::KindNotFound)
}

/// A table of a runtime's functions: one bit of `rocprofiler_intercept_table_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table(pub u32);

impl Table {
    pub const MARKER_CORE: Self = Self(8);
    pub const MARKER_CONTROL: Self = Self(16);
    pub const MARKER_NAME: Self = Self(32);
}

/// The names, by the index of the bit.
const TABLE_NAMES: [&CStr; 9] = [
    c"HSA",
    c"HIP (runtime)",
    c"HIP (compiler)",
    c"MARKER (ROCTx)",
    c"MARKER (ROCTx Control)",
    c"MARKER (ROCTx Name)",
    c"RCCL",
    c"rocDecode",
    c"rocJPEG",
];

/// Writes the name of a table, such as "MARKER (ROCTx)", and its length.
#[exported]
pub fn rocprofiler_query_intercept_table_name(
    table: u32,
    name: Out<'_, *const c_char>,
    length: Out<'_, u64>,
) -> Result<(), Status> {
    let found = if table.is_power_of_two() { TABLE_NAMES.get(table.trailing_zeros() as usize).copied() } else { None };
    name_out(found, (name, length));
    found.map(drop).ok_or(Status::KindNotFound)
}
