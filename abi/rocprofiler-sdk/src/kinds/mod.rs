//! The kinds of tracing services and their operations: numbers, names, and the functions that query them.

mod operations;
mod queries;

use std::ffi::CStr;

use Domain::*;
use Operations::{Named, None as NoOperations, Unknown};

use crate::border::Status;
use operations::*;
pub use operations::{
    ALLOCATE, CODE_OBJECT_LOAD, CODE_OBJECT_SYMBOL, COMPLETE, DEVICE_TO_HOST, ENQUEUE, FREE, HOST_TO_DEVICE,
    RUNTIME_MARKER, RUNTIME_NONE,
};
pub use queries::{RequestKind, Table};

/// What this library can trace. A service of another kind can be configured, but records nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    MarkerCore,
    MarkerControl,
    MarkerName,
    MarkerRange,
    KernelDispatch,
    MemoryCopy,
    MemoryAllocation,
    CodeObject,
    RuntimeInitialization,
    CorrelationIdRetirement,
}

impl Domain {
    pub const COUNT: usize = Self::ALL.len();

    pub const ALL: [Self; 10] = [
        Self::MarkerCore,
        Self::MarkerControl,
        Self::MarkerName,
        Self::MarkerRange,
        Self::KernelDispatch,
        Self::MemoryCopy,
        Self::MemoryAllocation,
        Self::CodeObject,
        Self::RuntimeInitialization,
        Self::CorrelationIdRetirement,
    ];

    /// Returns the domain's index in tables.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A kind of tracing services.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static CStr,
    pub domain: Option<Domain>,
    pub operations: Operations,
}

/// The operations of a kind.
#[derive(Debug, Clone, Copy)]
pub enum Operations {
    /// The names of the operations, by number.
    Named(&'static [&'static CStr]),
    /// The functions of a runtime that never registers itself with this library.
    Unknown,
    /// The kind has none.
    None,
}

impl Kind {
    const fn new(name: &'static CStr, domain: Option<Domain>, operations: Operations) -> Self {
        Self { name, domain, operations }
    }

    /// Returns whether its calls have arguments that a tool can query: the calls of HSA, HIP, OpenMP and rocDecode.
    pub fn has_arguments(&self) -> bool {
        let name = self.name.to_bytes();
        [b"HSA_".as_slice(), b"HIP_RUNTIME", b"HIP_COMPILER", b"OMPT", b"ROCDECODE"]
            .iter()
            .any(|api| name.starts_with(api))
    }

    /// Returns the selected operations, one bit each; without a selection, all of them. For a runtime that this library
    /// does not trace, only the range of the numbers is checked.
    pub fn select(&self, operations: Option<&[i32]>) -> Result<u64, Status> {
        let Some(operations) = operations else { return Ok(u64::MAX) };
        let (count, selects) = match self.operations {
            Operations::Named(names) => (names.len() as i32, true),
            Operations::Unknown | Operations::None => (MOST_OPERATIONS, false),
        };
        if operations.iter().any(|operation| !(0..count).contains(operation)) {
            return Err(Status::OperationNotFound);
        }
        if !selects {
            return Ok(u64::MAX);
        }
        Ok(operations.iter().fold(0, |bits, operation| bits | 1 << operation))
    }
}

/// One more than the largest number of an operation.
const MOST_OPERATIONS: i32 = 512;

/// The number of the kind that has no operations.
pub const CORRELATION_ID_RETIREMENT: u32 = 13;

/// `rocprofiler_buffer_tracing_kind_t`, by number.
pub static BUFFERED: [Kind; 33] = [
    Kind::new(c"NONE", None, NoOperations),
    Kind::new(c"HSA_CORE_API", None, Unknown),
    Kind::new(c"HSA_AMD_EXT_API", None, Unknown),
    Kind::new(c"HSA_IMAGE_EXT_API", None, Unknown),
    Kind::new(c"HSA_FINALIZE_EXT_API", None, Unknown),
    Kind::new(c"HIP_RUNTIME_API", None, Unknown),
    Kind::new(c"HIP_COMPILER_API", None, Unknown),
    Kind::new(c"MARKER_CORE_API", Some(MarkerCore), Named(MARKER_NAMES_CORE)),
    Kind::new(c"MARKER_CONTROL_API", Some(MarkerControl), Named(MARKER_NAMES_CONTROL)),
    Kind::new(c"MARKER_NAME_API", Some(MarkerName), Named(MARKER_NAMES_NAME)),
    Kind::new(c"MEMORY_COPY", Some(MemoryCopy), Named(MEMORY_COPY)),
    Kind::new(c"KERNEL_DISPATCH", Some(KernelDispatch), Named(KERNEL_DISPATCH)),
    Kind::new(c"SCRATCH_MEMORY", None, Named(SCRATCH_MEMORY)),
    Kind::new(c"CORRELATION_ID_RETIREMENT", Some(CorrelationIdRetirement), NoOperations),
    Kind::new(c"RCCL_API", None, Unknown),
    Kind::new(c"OMPT", None, Unknown),
    Kind::new(c"MEMORY_ALLOCATION", Some(MemoryAllocation), Named(MEMORY_ALLOCATION)),
    Kind::new(c"RUNTIME_INITIALIZATION", Some(RuntimeInitialization), Named(RUNTIME_INITIALIZATION)),
    Kind::new(c"ROCDECODE_API", None, Unknown),
    Kind::new(c"ROCJPEG_API", None, Unknown),
    Kind::new(c"HIP_STREAM", None, Named(HIP_STREAM)),
    Kind::new(c"HIP_RUNTIME_API_EXT", None, Unknown),
    Kind::new(c"HIP_COMPILER_API_EXT", None, Unknown),
    Kind::new(c"ROCDECODE_API_EXT", None, Unknown),
    Kind::new(c"KFD_EVENT_PAGE_MIGRATE", None, Unknown),
    Kind::new(c"KFD_EVENT_PAGE_FAULT", None, Unknown),
    Kind::new(c"KFD_EVENT_QUEUE", None, Unknown),
    Kind::new(c"KFD_EVENT_UNMAP_FROM_GPU", None, Unknown),
    Kind::new(c"KFD_EVENT_DROPPED_EVENTS", None, Unknown),
    Kind::new(c"KFD_PAGE_MIGRATE", None, Unknown),
    Kind::new(c"KFD_PAGE_FAULT", None, Unknown),
    Kind::new(c"KFD_QUEUE", None, Unknown),
    Kind::new(c"MARKER_CORE_RANGE_API", Some(MarkerRange), Named(MARKER_NAMES_RANGE)),
];

/// `rocprofiler_callback_tracing_kind_t`, by number.
pub static CALLBACKS: [Kind; 22] = [
    Kind::new(c"NONE", None, NoOperations),
    Kind::new(c"HSA_CORE_API", None, Unknown),
    Kind::new(c"HSA_AMD_EXT_API", None, Unknown),
    Kind::new(c"HSA_IMAGE_EXT_API", None, Unknown),
    Kind::new(c"HSA_FINALIZE_EXT_API", None, Unknown),
    Kind::new(c"HIP_RUNTIME_API", None, Unknown),
    Kind::new(c"HIP_COMPILER_API", None, Unknown),
    Kind::new(c"MARKER_CORE_API", Some(MarkerCore), Named(MARKER_NAMES_CORE)),
    Kind::new(c"MARKER_CONTROL_API", Some(MarkerControl), Named(MARKER_NAMES_CONTROL)),
    Kind::new(c"MARKER_NAME_API", Some(MarkerName), Named(MARKER_NAMES_NAME)),
    Kind::new(c"CODE_OBJECT", Some(CodeObject), Named(CODE_OBJECT)),
    Kind::new(c"SCRATCH_MEMORY", None, Named(SCRATCH_MEMORY)),
    Kind::new(c"KERNEL_DISPATCH", Some(KernelDispatch), Named(KERNEL_DISPATCH)),
    Kind::new(c"MEMORY_COPY", Some(MemoryCopy), Named(MEMORY_COPY)),
    Kind::new(c"RCCL_API", None, Unknown),
    Kind::new(c"OMPT", None, Unknown),
    Kind::new(c"MEMORY_ALLOCATION", Some(MemoryAllocation), Named(MEMORY_ALLOCATION)),
    Kind::new(c"RUNTIME_INITIALIZATION", Some(RuntimeInitialization), Named(RUNTIME_INITIALIZATION)),
    Kind::new(c"ROCDECODE_API", None, Unknown),
    Kind::new(c"ROCJPEG_API", None, Unknown),
    Kind::new(c"HIP_STREAM", None, Named(HIP_STREAM)),
    Kind::new(c"MARKER_CORE_RANGE_API", Some(MarkerRange), Named(MARKER_NAMES_RANGE)),
];
