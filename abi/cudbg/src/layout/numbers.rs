//! The numbers of the interface: the codes that calls return, the kinds of events, and values of fields.

// Enumerations are complete, including numbers that this library never uses.
#![allow(dead_code)]

/// The code that a call returns.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Success = 0x00,
    Unknown = 0x01,
    BufferTooSmall = 0x02,
    UnknownFunction = 0x03,
    InvalidArgs = 0x04,
    Uninitialized = 0x05,
    InvalidCoordinates = 0x06,
    InvalidMemorySegment = 0x07,
    InvalidMemoryAccess = 0x08,
    MemoryMappingFailed = 0x09,
    Internal = 0x0a,
    InvalidDevice = 0x0b,
    InvalidSm = 0x0c,
    InvalidWarp = 0x0d,
    InvalidLane = 0x0e,
    SuspendedDevice = 0x0f,
    RunningDevice = 0x10,
    Reserved0 = 0x11,
    InvalidAddress = 0x12,
    IncompatibleApi = 0x13,
    InitializationFailure = 0x14,
    InvalidGrid = 0x15,
    NoEventAvailable = 0x16,
    SomeDevicesWatchdogged = 0x17,
    AllDevicesWatchdogged = 0x18,
    InvalidAttribute = 0x19,
    ZeroCallDepth = 0x1a,
    InvalidCallLevel = 0x1b,
    CommunicationFailure = 0x1c,
    InvalidContext = 0x1d,
    AddressNotInDeviceMem = 0x1e,
    MemoryUnmappingFailed = 0x1f,
    IncompatibleDisplayDriver = 0x20,
    InvalidModule = 0x21,
    LaneNotInSyscall = 0x22,
    Reserved1 = 0x23,
    InvalidEnvvarArgs = 0x24,
    OsResources = 0x25,
    ForkFailed = 0x26,
    NoDeviceAvailable = 0x27,
    AttachNotPossible = 0x28,
    WarpResumeNotPossible = 0x29,
    InvalidWarpMask = 0x2a,
    AmbiguousMemoryAddress = 0x2b,
    RecursiveApiCall = 0x2c,
    MissingData = 0x2d,
    NotSupported = 0x2e,
    BreakpointStateConflict = 0x2f,
}

/// The kind of an event.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Invalid = 0x00,
    ElfImageLoaded = 0x01,
    KernelReady = 0x02,
    KernelFinished = 0x03,
    InternalError = 0x04,
    CtxPush = 0x05,
    CtxPop = 0x06,
    CtxCreate = 0x07,
    CtxDestroy = 0x08,
    Timeout = 0x09,
    AttachComplete = 0x0a,
    DetachComplete = 0x0b,
    ElfImageUnloaded = 0x0c,
    FunctionsLoaded = 0x0d,
    AllDevicesSuspended = 0x0e,
    CudaLogsAvailable = 0x0f,
    CudaLogsThresholdReached = 0x10,
    SingleStepComplete = 0x11,
    CudaLogsRulesetChanged = 0x12,
}

/// A queue of events.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueType {
    Sync = 0,
    Async = 1,
}

/// What stopped a warp.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    None = 0,
    /// The exception that every generation has, and after which debuggers can continue.
    WarpAssert = 12,
    Unknown = !0,
}

/// The state of a grid.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridStatus {
    Invalid = 0,
    Pending = 1,
    Active = 2,
    Sleeping = 3,
    Terminated = 4,
    Undetermined = 5,
}

/// Who launches a kernel.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelType {
    Unknown = 0,
    System = 1,
    Application = 2,
}

/// Where a grid was launched.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelOrigin {
    Cpu = 0,
    Gpu = 1,
}

/// Whether launches are reported.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchNotifyMode {
    Event = 0,
    Defer = 1,
}

/// A property of a grid.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridAttribute {
    LaunchBlocking = 0,
    Tid = 1,
}

/// Which of a model's images is read.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElfImageType {
    NonRelocated = 0,
    Relocated = 1,
}

/// Which code address is wanted, relative to a given one.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressAdjustment {
    Previous = 0,
    Current = 1,
    Next = 2,
}

/// The kind of a step that did not block.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleStepType {
    Invalid = 0,
    SingleStepWarp = 1,
    ResumeWarpsUntilPc = 2,
}

/// Bits for the capabilities that a client asks for, or that this library has.
pub mod capability {
    pub const LAZY_FUNCTION_LOADING: u32 = 1 << 0;
    pub const SUSPEND_EVENTS: u32 = 1 << 1;
    pub const REPORT_EXCEPTIONS_IN_EXITED_WARPS: u32 = 1 << 2;
    pub const NO_CONTEXT_PUSH_POP_EVENTS: u32 = 1 << 3;
    pub const ENABLE_CUDA_LOGS: u32 = 1 << 4;
    pub const COLLECT_CPU_CALL_STACK: u32 = 1 << 5;
    pub const FLUSH_PRINTF_ON_SUSPEND: u32 = 1 << 6;
    pub const BREAK_ON_LAUNCH: u32 = 1 << 7;
}

/// Flags of a step.
pub mod step {
    pub const NO_STEP_OVER_WARP_BARRIERS: u32 = 1 << 0;
    pub const NON_BLOCKING: u32 = 1 << 1;
}

/// Special handles of breakpoints.
pub mod breakpoint {
    pub const INVALID: u64 = 0;
    pub const TRAP: u64 = !0;
    /// A breakpoint that `setBreakpoint` has set.
    pub const LEGACY: u64 = !0 - 1;
    /// A step.
    pub const INTERNAL: u64 = !0 - 2;
    pub const BREAK_ON_LAUNCH: u64 = !0 - 3;
    pub const ALL_USER: u64 = !0 - 4;
}

/// Numbers of attributes in the answer to `getDeviceInfo`, in the order of their bits.
pub mod attribute {
    pub const DEVICE_SM_UPDATE_MASK: usize = 0;
    pub const DEVICE_SM_ACTIVE_MASK: usize = 1;
    pub const DEVICE_SM_EXCEPTION_MASK: usize = 2;
    pub const SM_WARP_UPDATE_MASK: usize = 0;
    pub const WARP_LANE_UPDATE_MASK: usize = 0;
    pub const WARP_LANE_ATTRIBUTES: usize = 1;
    pub const WARP_EXCEPTION: usize = 2;
    pub const WARP_ERROR_PC: usize = 3;
    pub const WARP_CLUSTER_INDEX: usize = 4;
    pub const WARP_CLUSTER_DIM: usize = 5;
    pub const WARP_CLUSTER_EXCEPTION_TARGET_BLOCK: usize = 6;
    pub const WARP_IN_SYSCALL_LANES: usize = 7;
    pub const WARP_HIT_BREAKPOINT_HANDLE: usize = 8;
}
