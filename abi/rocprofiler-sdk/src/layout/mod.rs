//! The structures that tools read and write, with the layouts of version 1.0.0. The assertions beside each structure
//! are made once more in C by the tests.

mod agent;
mod common;
mod payloads;
mod records;

pub use agent::{Agent, AgentMemoryBank};
pub use common::{
    AsyncCorrelation, CallbackRecord, ClientId, Configure, ConfigureResult, Correlation, Dim3, DispatchInfo, Finalize,
    Handle, RecordHeader, UserData, VersionTriplet,
};
pub use payloads::{
    CodeObjectLoad, KernelDispatchData, KernelSymbol, MarkerArgument, MarkerArguments, MarkerData,
    MemoryAllocationData, MemoryCopyData, RuntimeInitializationData,
};
pub use records::{
    ApiRecord, DispatchRecord, MemoryAllocationRecord, MemoryCopyRecord, RetirementRecord, RuntimeInitializationRecord,
};

/// Asserts the size of a structure and the offsets of its fields.
macro_rules! assert_layout {
    ($struct:ty, $size:literal: $($field:ident @ $offset:literal),+ $(,)?) => {
        const _: () = {
            $(assert!(std::mem::offset_of!($struct, $field) == $offset);)+
            assert!(size_of::<$struct>() == $size && align_of::<$struct>() == 8);
        };
    };
}
use assert_layout;
