//! The operations of each kind, by number.

use std::ffi::CStr;

pub const MARKER_NAMES_CORE: &[&CStr] =
    &[c"roctxMarkA", c"roctxRangePushA", c"roctxRangePop", c"roctxRangeStartA", c"roctxRangeStop", c"roctxGetThreadId"];
pub const MARKER_NAMES_CONTROL: &[&CStr] = &[c"roctxProfilerPause", c"roctxProfilerResume"];
pub const MARKER_NAMES_NAME: &[&CStr] =
    &[c"roctxNameOsThread", c"roctxNameHsaAgent", c"roctxNameHipDevice", c"roctxNameHipStream"];
pub const MARKER_NAMES_RANGE: &[&CStr] =
    &[c"roctxMarkA", c"roctxThreadRangeA", c"roctxProcessRangeA", c"roctxGetThreadId"];

pub const KERNEL_DISPATCH: &[&CStr] =
    &[c"KERNEL_DISPATCH_NONE", c"KERNEL_DISPATCH_ENQUEUE", c"KERNEL_DISPATCH_COMPLETE"];
pub const ENQUEUE: i32 = number_of(KERNEL_DISPATCH, c"KERNEL_DISPATCH_ENQUEUE");
pub const COMPLETE: i32 = number_of(KERNEL_DISPATCH, c"KERNEL_DISPATCH_COMPLETE");

pub const MEMORY_COPY: &[&CStr] = &[
    c"MEMORY_COPY_NONE",
    c"MEMORY_COPY_HOST_TO_HOST",
    c"MEMORY_COPY_HOST_TO_DEVICE",
    c"MEMORY_COPY_DEVICE_TO_HOST",
    c"MEMORY_COPY_DEVICE_TO_DEVICE",
];
pub const HOST_TO_DEVICE: i32 = number_of(MEMORY_COPY, c"MEMORY_COPY_HOST_TO_DEVICE");
pub const DEVICE_TO_HOST: i32 = number_of(MEMORY_COPY, c"MEMORY_COPY_DEVICE_TO_HOST");

pub const MEMORY_ALLOCATION: &[&CStr] = &[
    c"MEMORY_ALLOCATION_NONE",
    c"MEMORY_ALLOCATION_ALLOCATE",
    c"MEMORY_ALLOCATION_VMEM_ALLOCATE",
    c"MEMORY_ALLOCATION_FREE",
    c"MEMORY_ALLOCATION_VMEM_FREE",
];
pub const ALLOCATE: i32 = number_of(MEMORY_ALLOCATION, c"MEMORY_ALLOCATION_ALLOCATE");
pub const FREE: i32 = number_of(MEMORY_ALLOCATION, c"MEMORY_ALLOCATION_FREE");

pub const SCRATCH_MEMORY: &[&CStr] =
    &[c"SCRATCH_MEMORY_NONE", c"SCRATCH_MEMORY_ALLOC", c"SCRATCH_MEMORY_FREE", c"SCRATCH_MEMORY_ASYNC_RECLAIM"];

pub const CODE_OBJECT: &[&CStr] = &[
    c"CODE_OBJECT_NONE",
    c"CODE_OBJECT_LOAD",
    c"CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER",
    c"CODE_OBJECT_HOST_KERNEL_SYMBOL_REGISTER",
];
pub const CODE_OBJECT_LOAD: i32 = number_of(CODE_OBJECT, c"CODE_OBJECT_LOAD");
pub const CODE_OBJECT_SYMBOL: i32 = number_of(CODE_OBJECT, c"CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER");

pub const RUNTIME_INITIALIZATION: &[&CStr] = &[
    c"RUNTIME_INITIALIZATION_NONE",
    c"RUNTIME_INITIALIZATION_HSA",
    c"RUNTIME_INITIALIZATION_HIP",
    c"RUNTIME_INITIALIZATION_MARKER",
    c"RUNTIME_INITIALIZATION_RCCL",
    c"RUNTIME_INITIALIZATION_ROCDECODE",
    c"RUNTIME_INITIALIZATION_ROCJPEG",
];
/// A runtime for which the interface has no number, such as opscope's producers.
pub const RUNTIME_NONE: i32 = 0;
pub const RUNTIME_MARKER: i32 = 3;

pub const HIP_STREAM: &[&CStr] = &[c"HIP_STREAM_NONE", c"HIP_STREAM_CREATE", c"HIP_STREAM_DESTROY", c"HIP_STREAM_SET"];

/// Returns the number of an operation by its name.
const fn number_of(names: &[&CStr], name: &CStr) -> i32 {
    let mut number = 0;
    while number < names.len() {
        if is_same(names[number].to_bytes(), name.to_bytes()) {
            return number as i32;
        }
        number += 1;
    }
    panic!("there is no such operation");
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
