//! The table and the structs that its functions receive, as C sees them.
//!
//! `include/opscope_producer.h` is generated from this module, so its comments are written for readers of C. Every
//! field is 8 bytes wide, so no struct has padding that a later field could fill without changing `size`.

mod model;
mod run;
mod table;

pub use model::{Attribution, Kernel, Model, Operator, Plan, Runtime, Thread};
pub use model::{OPSCOPE_FIDELITY_EXACT, OPSCOPE_FIDELITY_OPTIMISED, OPSCOPE_NO_OPERATOR};
pub use run::{Allocation, Copy, Dispatch, Iteration, Run};
pub use run::{OPSCOPE_COPY_DEVICE_TO_HOST, OPSCOPE_COPY_HOST_TO_DEVICE, OPSCOPE_MEMORY_ALLOCATE, OPSCOPE_MEMORY_FREE};
pub use table::{Attach, Entry, OPSCOPE_ATTACH_WRONG_VERSION, OPSCOPE_ATTACHED, OPSCOPE_PRODUCER_VERSION, Table};
pub use table::{OPSCOPE_TOOL_NOT_MINE, OPSCOPE_TOOL_TAKEN, OPSCOPE_TOOL_TOO_LATE, UseTool};

pub(crate) use table::NO_OPERATIONS;

/// Asserts the size of a struct, and that its fields follow each other without gaps, 8 bytes each.
macro_rules! assert_layout {
    ($struct:ty, $size:literal: $($field:ident),+ $(,)?) => {
        const _: () = {
            let mut offset = 0;
            $(
                assert!(std::mem::offset_of!($struct, $field) == offset);
                offset += 8;
            )+
            assert!(offset == $size && size_of::<$struct>() == $size && align_of::<$struct>() == 8);
        };
    };
}
use assert_layout;
