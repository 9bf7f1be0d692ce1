use std::ffi::{CStr, c_char};

use opscope_border::{Out, exported};

use super::Domain;
use crate::border::{Status, name_out};

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
