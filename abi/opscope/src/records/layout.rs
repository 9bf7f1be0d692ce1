//! The kinds of records and their layouts. Times are raw ticks, which `opscope_batch_nanoseconds` converts into
//! nanoseconds. The test of the header compares this file with the table of kinds.

use opscope::trace::{
    AllocationRecord, CopyRecord, CounterRecord, DispatchRecord, EngineCallRecord, MarkerRecord, PathLevel,
    RetirementRecord, RunRecord,
};

/// The kinds of opscope's own records, whose category is `OPSCOPE_CATEGORY`. `docs/records.md` describes them all.
#[repr(C)]
pub enum opscope_kind_t {
    /// One execution of one kernel: an `opscope_dispatch_record_t`.
    OPSCOPE_OPERATOR_DISPATCH = 1,
    /// One run: an `opscope_run_record_t`.
    OPSCOPE_RUN = 2,
    /// A copy of inputs or outputs: an `opscope_copy_record_t`.
    OPSCOPE_TENSOR_COPY = 3,
    /// Memory that the engine holds for a tensor: an `opscope_allocation_record_t`.
    OPSCOPE_TENSOR_ALLOCATION = 4,
    /// A mark or a range: an `opscope_marker_record_t`.
    OPSCOPE_MARKER = 5,
    /// The value of a counter: an `opscope_counter_record_t`.
    OPSCOPE_COUNTER = 6,
    /// A call of the engine: an `opscope_engine_call_record_t`.
    OPSCOPE_ENGINE_CALL = 7,
    /// The end of a correlation id: an `opscope_retirement_record_t`.
    OPSCOPE_CORRELATION_RETIREMENT = 8,
}

/// The ids of the work that a record belongs to; 0 stands for none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_correlation_t {
    /// opscope's number.
    pub internal: u64,
    /// The program's number, set by `opscope_push_external`.
    pub external: u64,
}

/// One execution of one kernel. `opscope_kernel` returns the kernel's names.
///
/// A kernel in the body of an `If`, `Loop` or `Scan` has a path: for each body around it, outermost first, an
/// `opscope_path_level_t` follows the struct, up to the length of the record.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_dispatch_record_t {
    /// The number of the run, which each session counts from 0.
    pub run: u64,
    /// The plan that ran.
    pub plan: u64,
    /// When the kernel began, in ticks.
    pub start: u64,
    /// When the kernel ended, in ticks.
    pub end: u64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// The kernel, by its position in the plan.
    pub kernel: u32,
    /// 0: complete.
    pub operation: u32,
    /// The system's number of the thread that started the kernel.
    pub thread: u32,
    /// The device that executed the kernel: 0 for the host.
    pub device: u32,
}

/// An iteration of a body that a kernel was executed in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_path_level_t {
    /// The id of the operator that has the body.
    pub operator_id: u32,
    /// The iteration, from 0; always 0 for an `If`.
    pub iteration: u32,
}

/// One run.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_run_record_t {
    /// The number of the run, which each session counts from 0.
    pub run: u64,
    /// The plan that ran.
    pub plan: u64,
    /// When the copy of the inputs began, in ticks.
    pub upload_start: u64,
    /// When the copy of the inputs ended, in ticks.
    pub upload_end: u64,
    /// When the engine began, in ticks.
    pub start: u64,
    /// When the engine ended, in ticks.
    pub end: u64,
    /// When the copy of the outputs began, in ticks; 0 if the run failed before.
    pub download_start: u64,
    /// When the copy of the outputs ended, in ticks; 0 if the run failed before.
    pub download_end: u64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// 0: warm_up, 1: measured, 2: untimed, which is a run without times for its dispatches.
    pub operation: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// 1 if the run failed.
    pub failed: u32,
    /// 0.
    pub reserved: u32,
}

/// A copy of the inputs into the engine's memory, or of the outputs out of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_copy_record_t {
    /// The number of the run.
    pub run: u64,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
    /// The bytes of all tensors in total.
    pub bytes: u64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// The number of tensors.
    pub tensors: u32,
    /// 0: host_to_host, 1: host_to_device, 2: device_to_host, 3: device_to_device.
    pub operation: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// The memory that was read: 0 is the host's, 1 the engine's.
    pub source: u32,
    /// The memory that was written.
    pub destination: u32,
    /// 0.
    pub reserved: u32,
}

/// Memory that the engine begins or ceases to hold for a tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_allocation_record_t {
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
    /// The address.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// 0: allocate, 1: free.
    pub operation: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// The memory: 1 is the engine's.
    pub memory: u32,
    /// 0.
    pub reserved: u32,
}

/// A mark or range of the program. `opscope_name` returns the text of the name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_marker_record_t {
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks; the same as `start` for a mark.
    pub end: u64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// The number of its name.
    pub name: u32,
    /// 0: mark, 1: range, 2: open_range, which was open when tracing ended.
    pub operation: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// The number of ranges around it.
    pub depth: u32,
}

/// The value of a counter. `opscope_name` returns the text of the name.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_counter_record_t {
    /// When it was sampled, in ticks.
    pub time: u64,
    /// The value.
    pub value: f64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// The number of its name.
    pub name: u32,
    /// 0: sample.
    pub operation: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// 0.
    pub reserved: u32,
}

/// A call of the engine.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_engine_call_record_t {
    /// The number of the run; also 0 for a load and a plan.
    pub run: u64,
    /// 0.
    pub unused: u64,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
    /// The work that it belongs to.
    pub correlation: opscope_correlation_t,
    /// 0: load, 1: plan, 2: upload, 3: run, 4: download, 5: profile, which is the engine's work on its own profile.
    pub operation: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// 1 if it failed.
    pub failed: u32,
    /// 0.
    pub reserved: u32,
}

/// The end of an internal correlation id: the last record with it was emitted.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_retirement_record_t {
    /// The time of that, in ticks.
    pub time: u64,
    /// The internal correlation id.
    pub internal: u64,
}

/// Asserts that a C struct has the layout of a record: its size, and the offsets of these fields.
macro_rules! same_layout {
    ($c:ident, $record:ident, $($field:ident),+) => {
        const _: () = assert!(size_of::<$c>() == size_of::<$record>());
        $(const _: () = assert!(std::mem::offset_of!($c, $field) == std::mem::offset_of!($record, $field));)+
    };
}

same_layout!(
    opscope_dispatch_record_t,
    DispatchRecord,
    run,
    plan,
    start,
    end,
    correlation,
    kernel,
    operation,
    thread,
    device
);
same_layout!(
    opscope_run_record_t,
    RunRecord,
    run,
    plan,
    upload_start,
    upload_end,
    start,
    end,
    download_start,
    download_end,
    correlation,
    operation,
    thread,
    failed,
    reserved
);
same_layout!(
    opscope_copy_record_t,
    CopyRecord,
    run,
    start,
    end,
    bytes,
    correlation,
    tensors,
    operation,
    thread,
    source,
    destination,
    reserved
);
same_layout!(
    opscope_allocation_record_t,
    AllocationRecord,
    start,
    end,
    address,
    bytes,
    correlation,
    operation,
    thread,
    memory,
    reserved
);
same_layout!(opscope_marker_record_t, MarkerRecord, start, end, correlation, name, operation, thread, depth);
same_layout!(opscope_counter_record_t, CounterRecord, time, value, correlation, name, operation, thread, reserved);
same_layout!(
    opscope_engine_call_record_t,
    EngineCallRecord,
    run,
    unused,
    start,
    end,
    correlation,
    operation,
    thread,
    failed,
    reserved
);
same_layout!(opscope_retirement_record_t, RetirementRecord, time);

const _: () = assert!(size_of::<opscope_path_level_t>() == size_of::<PathLevel>());
const _: () =
    assert!(std::mem::offset_of!(opscope_path_level_t, iteration) == std::mem::offset_of!(PathLevel, iteration));
