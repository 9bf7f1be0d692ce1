//! The kinds of tracing services and their operations: numbers, names, and the functions that query them.

mod buffered;
mod callbacks;
mod operations;
mod queries;
mod requests;
mod tables;

pub use buffered::{BUFFERED, CORRELATION_ID_RETIREMENT};
pub use callbacks::CALLBACKS;
pub use operations::{
    ALLOCATE, CODE_OBJECT_LOAD, CODE_OBJECT_SYMBOL, COMPLETE, DEVICE_TO_HOST, ENQUEUE, FREE, HOST_TO_DEVICE,
    RUNTIME_MARKER, RUNTIME_NONE,
};
pub use requests::RequestKind;
pub use tables::Table;

use std::ffi::CStr;

use crate::border::Status;

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
