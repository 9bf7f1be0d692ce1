use super::{Kernel, assert_layout};

/// opscope_producer_copy_t.direction: inputs, into the engine's memory.
pub const OPSCOPE_COPY_HOST_TO_DEVICE: u64 = 1;
/// opscope_producer_copy_t.direction: outputs, out of the engine's memory.
pub const OPSCOPE_COPY_DEVICE_TO_HOST: u64 = 2;

/// opscope_producer_allocation_t.operation: the engine holds memory for one more tensor.
pub const OPSCOPE_MEMORY_ALLOCATE: u64 = 1;
/// opscope_producer_allocation_t.operation: the engine no longer holds it.
pub const OPSCOPE_MEMORY_FREE: u64 = 2;

/// A run: one inference. Lives until the call has returned.
#[repr(C)]
pub struct Run {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// Its id: above 0, and never reused by this producer.
    pub id: u64,
    /// Its number, as the program counts its runs from 0. Runs of several models may have the same number.
    pub number: u64,
    /// The id of its model.
    pub model: u64,
    /// The id of its plan.
    pub plan: u64,
    /// The thread that it began on, as gettid() gives it.
    pub thread: u64,
    /// When it began, before its inputs were copied, in ns of CLOCK_BOOTTIME.
    pub begin: u64,
    /// When it ended, after its outputs were copied, in ns of CLOCK_BOOTTIME. 0 in run_begin.
    pub end: u64,
    /// 1 if it failed or was stopped, else 0. 0 in run_begin.
    pub failed: u64,
}

/// One level of the path to an operator in the body of a control flow operator. This struct never grows.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iteration {
    /// The If, Loop or Scan: an index into opscope_producer_model_t.operators.
    pub operator_id: u64,
    /// The iteration of its body, from 0.
    pub iteration: u64,
}

/// A dispatch: one execution of a kernel in a run. Lives until the call has returned, except for its kernel.
#[repr(C)]
pub struct Dispatch {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The id of the model.
    pub model: u64,
    /// The id of the plan.
    pub plan: u64,
    /// The id of the run.
    pub run: u64,
    /// The kernel. Lives until the model is unloaded.
    pub kernel: *const Kernel,
    /// For an operator in the body of a control flow operator: the iterations that it is executed in, the outermost
    /// first. NULL if path_length is 0.
    pub path: *const Iteration,
    /// The number of iterations.
    pub path_length: usize,
    /// The thread that executes it, or that reports it if the engine executes it on a device, as gettid() gives it.
    pub thread: u64,
    /// In dispatch_begin: when this function was about to be called. In dispatch_end: when the kernel began, as
    /// measured by the engine. In ns of CLOCK_BOOTTIME.
    pub start: u64,
    /// When the kernel ended, as measured by the engine, in ns of CLOCK_BOOTTIME. 0 in dispatch_begin.
    pub end: u64,
}

/// A copy of all inputs or all outputs of a run. Lives until the call has returned.
#[repr(C)]
pub struct Copy {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The id of the model.
    pub model: u64,
    /// The id of the plan.
    pub plan: u64,
    /// The id of the run.
    pub run: u64,
    /// OPSCOPE_COPY_HOST_TO_DEVICE or OPSCOPE_COPY_DEVICE_TO_HOST.
    pub direction: u64,
    /// How many bytes were copied.
    pub bytes: u64,
    /// How many tensors were copied.
    pub tensors: u64,
    /// The thread that copied them, as gettid() gives it.
    pub thread: u64,
    /// When it began, in ns of CLOCK_BOOTTIME.
    pub start: u64,
    /// When it ended, in ns of CLOCK_BOOTTIME.
    pub end: u64,
}

/// Memory for a tensor of a run. Everything that a run allocates is freed before its run_end. Lives until the call has
/// returned.
#[repr(C)]
pub struct Allocation {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The id of the model.
    pub model: u64,
    /// The id of the plan.
    pub plan: u64,
    /// The id of the run.
    pub run: u64,
    /// OPSCOPE_MEMORY_ALLOCATE or OPSCOPE_MEMORY_FREE.
    pub operation: u64,
    /// The address. It is not allocated again before it is freed.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The thread on which it happened, as gettid() gives it.
    pub thread: u64,
    /// When it happened, in ns of CLOCK_BOOTTIME.
    pub time: u64,
}

assert_layout!(Run, 72: size, id, number, model, plan, thread, begin, end, failed);
assert_layout!(Iteration, 16: operator_id, iteration);
assert_layout!(Dispatch, 80: size, model, plan, run, kernel, path, path_length, thread, start, end);
assert_layout!(Copy, 80: size, model, plan, run, direction, bytes, tensors, thread, start, end);
assert_layout!(Allocation, 72: size, model, plan, run, operation, address, bytes, thread, time);
