use super::Domain::*;
use super::Kind;
use super::Operations::{Named, None as NoOperations, Unknown};
use super::operations::*;

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
