use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::{Allocation, Copy, Dispatch, Model, Plan, Run, Runtime, Thread, assert_layout};

/// The version of the table. It changes when a field changes its meaning. New fields are appended, and only increase
/// size.
pub const OPSCOPE_PRODUCER_VERSION: u64 = 1;

/// Returned by opscope_attach_producer: the consumer is attached.
pub const OPSCOPE_ATTACHED: c_int = 0;
/// Returned by opscope_attach_producer: the consumer does not support this version of the table.
pub const OPSCOPE_ATTACH_WRONG_VERSION: c_int = -1;

/// Returned by opscope_use_tool: the consumer loads this tool.
pub const OPSCOPE_TOOL_TAKEN: c_int = 0;
/// Returned by opscope_use_tool: the file is not a tool for this consumer.
pub const OPSCOPE_TOOL_NOT_MINE: c_int = -1;
/// Returned by opscope_use_tool: it is a tool for this consumer, which accepts no more tools.
pub const OPSCOPE_TOOL_TOO_LATE: c_int = -2;

/// The functions that a producer calls. It makes one table per consumer, which lives as long as the process.
///
/// At first all functions do nothing, and none is NULL. A consumer overwrites those that it wants to be called, and may
/// write the first value back. Before it returns from opscope_attach_producer it may use plain stores. Later it must
/// store atomically with release order: consumer before the functions, and the functions in the order in which they are
/// declared here, except dispatch_end before dispatch_begin. Such a change takes effect with the next run.
///
/// A function that is set has a cost for runs: for dispatch_begin the engine makes a call before each kernel, for
/// dispatch_end it takes times, for allocation it watches its memory. A function that is not set costs nothing.
///
/// The functions are called on the threads that run models, by several at once, until the process ends. They must not
/// throw, end the thread, or run models of this producer. When the process ends, a run may lack its run_end, and a
/// model its model_unloaded.
#[repr(C)]
pub struct Table {
    /// The size of this struct, in bytes. A consumer that was compiled with a newer header than the producer must not
    /// access a field beyond it.
    pub size: usize,
    /// OPSCOPE_PRODUCER_VERSION of the producer.
    pub version: u64,
    /// The consumer's own pointer: the first argument of every function.
    pub consumer: *mut c_void,
    /// Called once, after the consumer was attached.
    pub runtime_initialized: Option<unsafe extern "C" fn(consumer: *mut c_void, runtime: *const Runtime)>,
    /// Called when a model was loaded, before its first plan; if it is set later, before the next run of the model. A
    /// model is announced once.
    pub model_loaded: Option<unsafe extern "C" fn(consumer: *mut c_void, model: *const Model)>,
    /// Called when an announced model is unloaded, after its last run. The memory of the model, its plans and their
    /// kernels is freed when this returns.
    pub model_unloaded: Option<unsafe extern "C" fn(consumer: *mut c_void, model: *const Model)>,
    /// Called before the first run of a plan; if it is set later, before the next run. A plan is announced once.
    pub plan_made: Option<unsafe extern "C" fn(consumer: *mut c_void, plan: *const Plan)>,
    /// Called on a thread before its first run or dispatch; if it is set later, before the next one. A thread is
    /// announced once.
    pub thread_started: Option<unsafe extern "C" fn(consumer: *mut c_void, thread: *const Thread)>,
    /// Called when a run begins, before its inputs are copied.
    pub run_begin: Option<unsafe extern "C" fn(consumer: *mut c_void, run: *const Run)>,
    /// Called when a run has ended, after its outputs were copied, or when it has failed. The last call for this run.
    pub run_end: Option<unsafe extern "C" fn(consumer: *mut c_void, run: *const Run)>,
    /// Called before a kernel is executed, on the thread that executes it.
    pub dispatch_begin: Option<unsafe extern "C" fn(consumer: *mut c_void, dispatch: *const Dispatch)>,
    /// Called after a kernel was executed, with the times that the engine took directly around it; also for a kernel
    /// that failed. May be called later than the end of the kernel, from another thread, and out of order.
    pub dispatch_end: Option<unsafe extern "C" fn(consumer: *mut c_void, dispatch: *const Dispatch)>,
    /// Called after inputs or outputs were copied.
    pub copy: Option<unsafe extern "C" fn(consumer: *mut c_void, copy: *const Copy)>,
    /// Called after memory for a tensor was allocated or freed.
    pub allocation: Option<unsafe extern "C" fn(consumer: *mut c_void, allocation: *const Allocation)>,
}

// Declared only for the header. Consumers define these functions.
#[allow(dead_code, reason = "a producer asks the loader for it")]
unsafe extern "C" {
    /// Exported by a consumer, and called once by every producer that finds it, on the thread that searches for
    /// consumers. The table belongs to this consumer alone, and lives as long as the process.
    ///
    /// Returns OPSCOPE_ATTACHED if the consumer wants to be called, OPSCOPE_ATTACH_WRONG_VERSION if it does not support
    /// the version of the table, and any other value if it refuses. In each case the library stays loaded. Give the
    /// function default visibility if symbols are hidden.
    fn opscope_attach_producer(table: *mut Table) -> c_int;

    /// May be exported by a consumer that runs tools: shared libraries that a user names, made for the consumer's own
    /// interface. A producer calls it for each tool, before opscope_attach_producer, with an absolute path that lives
    /// until the call has returned. The consumer inspects the file but does not load it yet, because the producer may
    /// end without attaching anything.
    ///
    /// Returns OPSCOPE_TOOL_TAKEN if the consumer will load this tool when it is attached, and any other value if it
    /// will not: OPSCOPE_TOOL_NOT_MINE or OPSCOPE_TOOL_TOO_LATE. The tool is then offered to the next consumer.
    fn opscope_use_tool(path: *const c_char) -> c_int;
}

/// The type of `opscope_attach_producer`.
pub type Attach = unsafe extern "C" fn(table: *mut Table) -> c_int;

/// The type of `opscope_use_tool`.
pub type UseTool = unsafe extern "C" fn(path: *const c_char) -> c_int;

/// A function of the table.
pub type Entry<T> = unsafe extern "C" fn(*mut c_void, *const T);

/// A table of functions that do nothing.
pub(crate) static NO_OPERATIONS: NoOperations = NoOperations(Table {
    size: size_of::<Table>(),
    version: OPSCOPE_PRODUCER_VERSION,
    consumer: ptr::null_mut(),
    runtime_initialized: Some(nothing),
    model_loaded: Some(nothing),
    model_unloaded: Some(nothing),
    plan_made: Some(nothing),
    thread_started: Some(nothing),
    run_begin: Some(nothing),
    run_end: Some(nothing),
    dispatch_begin: Some(nothing),
    dispatch_end: Some(nothing),
    copy: Some(nothing),
    allocation: Some(nothing),
});

pub(crate) struct NoOperations(pub Table);

// SAFETY: the table is never written, and its only pointer that is not a function is null.
unsafe impl Sync for NoOperations {}

extern "C" fn nothing<T>(_consumer: *mut c_void, _argument: *const T) {}

assert_layout!(
    Table, 112: size, version, consumer, runtime_initialized, model_loaded, model_unloaded, plan_made, thread_started,
    run_begin, run_end, dispatch_begin, dispatch_end, copy, allocation
);
