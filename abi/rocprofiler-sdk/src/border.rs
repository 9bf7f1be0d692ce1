//! The shell of every exported function: it returns a status, stops panics, and checks pointers. Also calls of a tool's
//! functions.

use std::ffi::{CStr, c_char};
use std::fmt::Display;

use opscope_border::{ArgumentError, Failure, Out, Place, exported};

pub use opscope_border::UserData as Data;

macro_rules! statuses {
    ($($status:ident = $number:literal, $name:literal, $text:literal;)+) => {
        /// What a call returns: `rocprofiler_status_t` of version 1.0.0.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code, reason = "the interface has all of them")]
        pub enum Status {
            $(#[doc = concat!($text, ".")] $status = $number,)+
        }

        /// The name and the text of each status by its number, ending with NUL.
        const TEXTS: &[(&str, &str)] = &[$((concat!("ROCPROFILER_STATUS_", $name, "\0"), concat!($text, "\0")),)+];

        const _: () = {
            let numbers = [$($number),+];
            let mut at = 0;
            while at < numbers.len() {
                assert!(numbers[at] == at);
                at += 1;
            }
        };
    };
}

statuses! {
    Success = 0, "SUCCESS", "Success";
    Error = 1, "ERROR", "The call failed for a reason that has no status of its own";
    ContextNotFound = 2, "ERROR_CONTEXT_NOT_FOUND", "No context has this id";
    BufferNotFound = 3, "ERROR_BUFFER_NOT_FOUND", "No buffer of this context has this id";
    KindNotFound = 4, "ERROR_KIND_NOT_FOUND", "No tracing service has this kind";
    OperationNotFound = 5, "ERROR_OPERATION_NOT_FOUND", "The kind has no such operation";
    ThreadNotFound = 6, "ERROR_THREAD_NOT_FOUND", "No callback thread has this id";
    AgentNotFound = 7, "ERROR_AGENT_NOT_FOUND", "No agent has this id";
    CounterNotFound = 8, "ERROR_COUNTER_NOT_FOUND", "No counter has this id";
    ContextError = 9, "ERROR_CONTEXT_ERROR", "The context cannot do this";
    ContextInvalid = 10, "ERROR_CONTEXT_INVALID", "The context is not valid";
    ContextNotStarted = 11, "ERROR_CONTEXT_NOT_STARTED", "The context could not be started";
    ContextConflict = 12, "ERROR_CONTEXT_CONFLICT", "The context conflicts with one that is started";
    ContextIdNotZero = 13, "ERROR_CONTEXT_ID_NOT_ZERO", "The id of a context that is to be created has to be zero";
    BufferBusy = 14, "ERROR_BUFFER_BUSY", "The buffer is being delivered; ask again outside of its callback";
    ServiceAlreadyConfigured = 15, "ERROR_SERVICE_ALREADY_CONFIGURED", "The context has this service already";
    ConfigurationLocked = 16, "ERROR_CONFIGURATION_LOCKED", "This can be configured only while the tool initializes";
    NotImplemented = 17, "ERROR_NOT_IMPLEMENTED", "This is not implemented";
    IncompatibleAbi = 18, "ERROR_INCOMPATIBLE_ABI", "The structure has another layout than this library";
    InvalidArgument = 19, "ERROR_INVALID_ARGUMENT", "An argument is NULL or out of range";
    MetricNotValidForAgent = 20, "ERROR_METRIC_NOT_VALID_FOR_AGENT", "The agent does not have this metric";
    Finalized = 21, "ERROR_FINALIZED", "The library is finalized";
    HsaNotLoaded = 22, "ERROR_HSA_NOT_LOADED", "The HSA runtime is not loaded";
    DimNotFound = 23, "ERROR_DIM_NOT_FOUND", "The counter has no such dimension";
    ProfileCounterNotFound = 24, "ERROR_PROFILE_COUNTER_NOT_FOUND", "The agent has no such counter";
    AstGenerationFailed = 25, "ERROR_AST_GENERATION_FAILED", "The expression of the counter cannot be read";
    AstNotFound = 26, "ERROR_AST_NOT_FOUND", "The counter has no expression";
    AqlNoEventCoord = 27, "ERROR_AQL_NO_EVENT_COORD", "The event has no coordinates";
    IncompatibleKernel = 28, "ERROR_INCOMPATIBLE_KERNEL", "The kernel driver is too old for this service";
    OutOfResources = 29, "ERROR_OUT_OF_RESOURCES", "The system refused memory or a thread";
    ProfileNotFound = 30, "ERROR_PROFILE_NOT_FOUND", "No counter configuration has this id";
    AgentDispatchConflict = 31, "ERROR_AGENT_DISPATCH_CONFLICT", "A context has agent or dispatch counters, and not both";
    InternalNoAgentContext = 32, "INTERNAL_NO_AGENT_CONTEXT", "The context has no agent counters";
    SampleRateExceeded = 33, "ERROR_SAMPLE_RATE_EXCEEDED", "The rate of samples is too high";
    NoProfileQueue = 34, "ERROR_NO_PROFILE_QUEUE", "The agent has no queue for profiling";
    NoHardwareCounters = 35, "ERROR_NO_HARDWARE_COUNTERS", "The configuration has no hardware counters";
    AgentMismatch = 36, "ERROR_AGENT_MISMATCH", "The configuration is for another agent";
    NotAvailable = 37, "ERROR_NOT_AVAILABLE", "This service is not available here";
    ExceedsHwLimit = 38, "ERROR_EXCEEDS_HW_LIMIT", "The hardware cannot count all of this at once";
    AgentArchNotSupported = 39, "ERROR_AGENT_ARCH_NOT_SUPPORTED", "The agent has no counters";
    PermissionDenied = 40, "ERROR_PERMISSION_DENIED", "The system does not permit this";
}

/// Returns the name of a status, such as "ROCPROFILER_STATUS_SUCCESS"; NULL for any other number.
#[exported]
pub fn rocprofiler_get_status_name(status: u32) -> *const c_char {
    TEXTS.get(status as usize).map_or(std::ptr::null(), |(name, _)| name.as_ptr().cast())
}

/// Returns the text of a status; NULL for any other number.
#[exported]
pub fn rocprofiler_get_status_string(status: u32) -> *const c_char {
    TEXTS.get(status as usize).map_or(std::ptr::null(), |(_, text)| text.as_ptr().cast())
}

/// A tool receives only the status of a failure.
impl Failure for Status {
    type Status = Self;

    fn success() -> Self {
        Self::Success
    }

    fn panicked(_text: &str) -> Self {
        Self::Error
    }

    fn report(self) -> Self {
        self
    }
}

impl From<ArgumentError> for Status {
    fn from(_: ArgumentError) -> Self {
        Self::InvalidArgument
    }
}

/// Returns a callback that the tool must pass.
pub fn required<F>(callback: Option<F>) -> Result<F, Status> {
    callback.ok_or(Status::InvalidArgument)
}

/// Checks that the tool passed a place for a result.
pub fn out<T>(to: Out<'_, T>) -> Result<Place<'_, T>, Status> {
    Ok(to.aligned_place("a result")?)
}

/// The places for a name and its length. Each may be NULL.
pub type NamePlaces<'a> = (Out<'a, *const c_char>, Out<'a, u64>);

/// Writes a name and its length to their places. Without a name it writes NULL and 0.
pub fn name_out(found: Option<&'static CStr>, (name, length): NamePlaces<'_>) {
    name.write_if_given(found.map_or(std::ptr::null(), CStr::as_ptr));
    length.write_if_given(found.map_or(0, |name| name.count_bytes() as u64));
}

/// This library's name in messages.
const LIBRARY: &str = "librocprofiler-sdk";

/// Calls a tool's function. If it throws a C++ exception, reports that on stderr and returns `None`.
pub fn call_tool<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    opscope_border::call_program(LIBRARY, what, function)
}

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_border::report(LIBRARY, text);
}
