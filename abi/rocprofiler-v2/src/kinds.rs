//! Kinds of records and domains: their numbers, and the names of operations. Also the agents and the queue that records
//! refer to.

use std::ffi::{CStr, c_int};

use crate::layout::Handle;

/// A dispatch: a `ProfilerRecord`.
pub const PROFILER: c_int = 0;
/// A call or an activity: a `TracerRecord`.
pub const TRACER: c_int = 1;

/// The sizes of the records of each kind, by its number.
const SIZES: [usize; 6] = [176, 96, 176, 56, 288, 40];

/// Returns the size of the records of a kind, or `None` if there is no such kind.
pub fn size_of_kind(kind: c_int) -> Option<usize> {
    SIZES.get(usize::try_from(kind).ok()?).copied()
}

/// Domains of tracer records.
pub const HSA_OPS: c_int = 1;
pub const HIP_OPS: c_int = 2;
pub const ROCTX: c_int = 6;
/// One more than the largest domain.
pub const DOMAINS: c_int = 8;

/// Operations of `HSA_OPS` and `HIP_OPS`.
pub const OPS_DISPATCH: u32 = 0;
pub const OPS_COPY: u32 = 1;

const ROCTX_NAMES: &[&CStr] =
    &[c"roctxMarkA", c"roctxRangePushA", c"roctxRangePop", c"roctxRangeStartA", c"roctxRangeStop"];
const OPS_NAMES: &[&CStr] = &[c"KernelDispatch", c"MemoryCopy"];

/// Returns the names of the operations of a domain; none for functions of runtimes that this library does not trace.
pub fn operations(domain: c_int) -> &'static [&'static CStr] {
    match domain {
        ROCTX => ROCTX_NAMES,
        HSA_OPS | HIP_OPS => OPS_NAMES,
        _ => &[],
    }
}

/// Phases of tracer records.
pub const PHASE_NONE: c_int = 0;
pub const PHASE_ENTER: c_int = 1;

/// The processor.
pub const HOST: Handle = Handle(1);
/// The engine that runs models, which tools see in place of a GPU.
pub const ENGINE: Handle = Handle(2);
/// The queue of all dispatches.
pub const QUEUE: Handle = Handle(1);
