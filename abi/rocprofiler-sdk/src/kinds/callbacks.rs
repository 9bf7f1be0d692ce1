use super::Domain::*;
use super::Kind;
use super::Operations::{Named, None as NoOperations, Unknown};
use super::operations::*;

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
