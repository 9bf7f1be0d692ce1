use std::ffi::{CStr, c_char};

use opscope_border::{Out, exported};

use crate::border::{Status, name_out};

/// A table of a runtime's functions: one bit of `rocprofiler_intercept_table_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table(pub u32);

impl Table {
    pub const MARKER_CORE: Self = Self(8);
    pub const MARKER_CONTROL: Self = Self(16);
    pub const MARKER_NAME: Self = Self(32);
}

/// The names, by the index of the bit.
const NAMES: [&CStr; 9] = [
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
    let found = if table.is_power_of_two() { NAMES.get(table.trailing_zeros() as usize).copied() } else { None };
    name_out(found, (name, length));
    found.map(drop).ok_or(Status::KindNotFound)
}
