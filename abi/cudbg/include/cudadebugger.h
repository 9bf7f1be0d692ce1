// For debuggers that use the CUDA Debugger API: its names, numbers and layouts of version 13.4, for x86-64
// Linux. opscope's libcudadebugger.so.1 debugs ONNX models through it: a model is a context with a module,
// an operator is a kernel, and its execution in a run is a grid. Its README lists the functions that answer
// CUDBG_ERROR_NOT_SUPPORTED.
#ifndef CUDADEBUGGER_H
#define CUDADEBUGGER_H

#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

// The version of this header. A program asks for it with cudbgGetAPI.
#define CUDBG_API_VERSION_MAJOR    13
#define CUDBG_API_VERSION_MINOR    4
#define CUDBG_API_VERSION_REVISION 193

// The most that any machine reports. Masks and arrays of clients are sized by these.
#define CUDBG_MAX_DEVICES       64
#define CUDBG_MAX_SMS           256
#define CUDBG_MAX_WARPS         64
#define CUDBG_MAX_LANES         32
#define CUDBG_MAX_WARP_BARRIERS 16
#define CUDBG_MAX_LOG_LEN       256

#ifdef __cplusplus
extern "C" {
#endif

// ---- Results ----

typedef enum {
    CUDBG_SUCCESS                           = 0x00,
    CUDBG_ERROR_UNKNOWN                     = 0x01,
    CUDBG_ERROR_BUFFER_TOO_SMALL            = 0x02,
    CUDBG_ERROR_UNKNOWN_FUNCTION            = 0x03,
    CUDBG_ERROR_INVALID_ARGS                = 0x04,
    CUDBG_ERROR_UNINITIALIZED               = 0x05,
    CUDBG_ERROR_INVALID_COORDINATES         = 0x06,
    CUDBG_ERROR_INVALID_MEMORY_SEGMENT      = 0x07,
    CUDBG_ERROR_INVALID_MEMORY_ACCESS       = 0x08,
    CUDBG_ERROR_MEMORY_MAPPING_FAILED       = 0x09,
    CUDBG_ERROR_INTERNAL                    = 0x0a,
    CUDBG_ERROR_INVALID_DEVICE              = 0x0b,
    CUDBG_ERROR_INVALID_SM                  = 0x0c,
    CUDBG_ERROR_INVALID_WARP                = 0x0d,
    CUDBG_ERROR_INVALID_LANE                = 0x0e,
    CUDBG_ERROR_SUSPENDED_DEVICE            = 0x0f,
    CUDBG_ERROR_RUNNING_DEVICE              = 0x10,
    CUDBG_ERROR_RESERVED_0                  = 0x11,
    CUDBG_ERROR_INVALID_ADDRESS             = 0x12,
    CUDBG_ERROR_INCOMPATIBLE_API            = 0x13,
    CUDBG_ERROR_INITIALIZATION_FAILURE      = 0x14,
    CUDBG_ERROR_INVALID_GRID                = 0x15,
    CUDBG_ERROR_NO_EVENT_AVAILABLE          = 0x16,
    CUDBG_ERROR_SOME_DEVICES_WATCHDOGGED    = 0x17,
    CUDBG_ERROR_ALL_DEVICES_WATCHDOGGED     = 0x18,
    CUDBG_ERROR_INVALID_ATTRIBUTE           = 0x19,
    CUDBG_ERROR_ZERO_CALL_DEPTH             = 0x1a,
    CUDBG_ERROR_INVALID_CALL_LEVEL          = 0x1b,
    CUDBG_ERROR_COMMUNICATION_FAILURE       = 0x1c,
    CUDBG_ERROR_INVALID_CONTEXT             = 0x1d,
    CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM   = 0x1e,
    CUDBG_ERROR_MEMORY_UNMAPPING_FAILED     = 0x1f,
    CUDBG_ERROR_INCOMPATIBLE_DISPLAY_DRIVER = 0x20,
    CUDBG_ERROR_INVALID_MODULE              = 0x21,
    CUDBG_ERROR_LANE_NOT_IN_SYSCALL         = 0x22,
    CUDBG_ERROR_RESERVED_1                  = 0x23,
    CUDBG_ERROR_INVALID_ENVVAR_ARGS         = 0x24,
    CUDBG_ERROR_OS_RESOURCES                = 0x25,
    CUDBG_ERROR_FORK_FAILED                 = 0x26,
    CUDBG_ERROR_NO_DEVICE_AVAILABLE         = 0x27,
    CUDBG_ERROR_ATTACH_NOT_POSSIBLE         = 0x28,
    CUDBG_ERROR_WARP_RESUME_NOT_POSSIBLE    = 0x29,
    CUDBG_ERROR_INVALID_WARP_MASK           = 0x2a,
    CUDBG_ERROR_AMBIGUOUS_MEMORY_ADDRESS    = 0x2b,
    CUDBG_ERROR_RECURSIVE_API_CALL          = 0x2c,
    CUDBG_ERROR_MISSING_DATA                = 0x2d,
    CUDBG_ERROR_NOT_SUPPORTED               = 0x2e,
    CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT   = 0x2f,
} CUDBGResult;

// Returns the name of a result: "CUDBG_SUCCESS". Anything else is "*UNDEFINED*".
static inline const char* cudbgGetErrorString(CUDBGResult error)
{
    static const char* const names[] = {
        "CUDBG_SUCCESS",
        "CUDBG_ERROR_UNKNOWN",
        "CUDBG_ERROR_BUFFER_TOO_SMALL",
        "CUDBG_ERROR_UNKNOWN_FUNCTION",
        "CUDBG_ERROR_INVALID_ARGS",
        "CUDBG_ERROR_UNINITIALIZED",
        "CUDBG_ERROR_INVALID_COORDINATES",
        "CUDBG_ERROR_INVALID_MEMORY_SEGMENT",
        "CUDBG_ERROR_INVALID_MEMORY_ACCESS",
        "CUDBG_ERROR_MEMORY_MAPPING_FAILED",
        "CUDBG_ERROR_INTERNAL",
        "CUDBG_ERROR_INVALID_DEVICE",
        "CUDBG_ERROR_INVALID_SM",
        "CUDBG_ERROR_INVALID_WARP",
        "CUDBG_ERROR_INVALID_LANE",
        "CUDBG_ERROR_SUSPENDED_DEVICE",
        "CUDBG_ERROR_RUNNING_DEVICE",
        "CUDBG_ERROR_RESERVED_0",
        "CUDBG_ERROR_INVALID_ADDRESS",
        "CUDBG_ERROR_INCOMPATIBLE_API",
        "CUDBG_ERROR_INITIALIZATION_FAILURE",
        "CUDBG_ERROR_INVALID_GRID",
        "CUDBG_ERROR_NO_EVENT_AVAILABLE",
        "CUDBG_ERROR_SOME_DEVICES_WATCHDOGGED",
        "CUDBG_ERROR_ALL_DEVICES_WATCHDOGGED",
        "CUDBG_ERROR_INVALID_ATTRIBUTE",
        "CUDBG_ERROR_ZERO_CALL_DEPTH",
        "CUDBG_ERROR_INVALID_CALL_LEVEL",
        "CUDBG_ERROR_COMMUNICATION_FAILURE",
        "CUDBG_ERROR_INVALID_CONTEXT",
        "CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM",
        "CUDBG_ERROR_MEMORY_UNMAPPING_FAILED",
        "CUDBG_ERROR_INCOMPATIBLE_DISPLAY_DRIVER",
        "CUDBG_ERROR_INVALID_MODULE",
        "CUDBG_ERROR_LANE_NOT_IN_SYSCALL",
        "CUDBG_ERROR_RESERVED_1",
        "CUDBG_ERROR_INVALID_ENVVAR_ARGS",
        "CUDBG_ERROR_OS_RESOURCES",
        "CUDBG_ERROR_FORK_FAILED",
        "CUDBG_ERROR_NO_DEVICE_AVAILABLE",
        "CUDBG_ERROR_ATTACH_NOT_POSSIBLE",
        "CUDBG_ERROR_WARP_RESUME_NOT_POSSIBLE",
        "CUDBG_ERROR_INVALID_WARP_MASK",
        "CUDBG_ERROR_AMBIGUOUS_MEMORY_ADDRESS",
        "CUDBG_ERROR_RECURSIVE_API_CALL",
        "CUDBG_ERROR_MISSING_DATA",
        "CUDBG_ERROR_NOT_SUPPORTED",
        "CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT",
    };
    const unsigned number = (unsigned)error;
    return number < sizeof names / sizeof names[0] ? names[number] : "*UNDEFINED*";
}

// ---- Numbers ----

typedef struct {
    uint32_t x;
    uint32_t y;
} CuDim2;

typedef struct {
    uint32_t x;
    uint32_t y;
    uint32_t z;
} CuDim3;

// What a client asks for by writing cudbgDebuggerCapabilities before initialize.
typedef enum {
    CUDBG_DEBUGGER_CAPABILITY_NONE                                       = 0,
    CUDBG_DEBUGGER_CAPABILITY_LAZY_FUNCTION_LOADING                      = 1 << 0,  // CUDBG_EVENT_FUNCTIONS_LOADED is sent
    CUDBG_DEBUGGER_CAPABILITY_SUSPEND_EVENTS                             = 1 << 1,  // CUDBG_EVENT_ALL_DEVICES_SUSPENDED is sent
    CUDBG_DEBUGGER_CAPABILITY_REPORT_EXCEPTIONS_IN_EXITED_WARPS          = 1 << 2,
    CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS                 = 1 << 3,  // neither CTX_PUSH nor CTX_POP is sent
    CUDBG_DEBUGGER_CAPABILITY_ENABLE_CUDA_LOGS                           = 1 << 4,
    CUDBG_DEBUGGER_CAPABILITY_COLLECT_CPU_CALL_STACK_FOR_KERNEL_LAUNCHES = 1 << 5,
    CUDBG_DEBUGGER_CAPABILITY_FLUSH_PRINTF_ON_SUSPEND                    = 1 << 6,
    CUDBG_DEBUGGER_CAPABILITY_BREAK_ON_LAUNCH                            = 1 << 7,  // each operator stops before it is executed
} CUDBGCapabilityFlags;

typedef enum {
    CUDBG_ATTR_GRID_LAUNCH_BLOCKING = 0,
    CUDBG_ATTR_GRID_TID             = 1,
} CUDBGAttribute;

typedef struct {
    CUDBGAttribute attribute;
    uint64_t       value;
} CUDBGAttributeValuePair;

typedef enum {
    CUDBG_GRID_STATUS_INVALID      = 0,
    CUDBG_GRID_STATUS_PENDING      = 1,
    CUDBG_GRID_STATUS_ACTIVE       = 2,
    CUDBG_GRID_STATUS_SLEEPING     = 3,
    CUDBG_GRID_STATUS_TERMINATED   = 4,
    CUDBG_GRID_STATUS_UNDETERMINED = 5,
} CUDBGGridStatus;

typedef enum {
    CUDBG_KNL_TYPE_UNKNOWN     = 0,
    CUDBG_KNL_TYPE_SYSTEM      = 1,
    CUDBG_KNL_TYPE_APPLICATION = 2,
} CUDBGKernelType;

typedef enum {
    CUDBG_KNL_ORIGIN_CPU = 0,
    CUDBG_KNL_ORIGIN_GPU = 1,
} CUDBGKernelOrigin;

typedef enum {
    CUDBG_KNL_LAUNCH_NOTIFY_EVENT = 0,  // CUDBG_EVENT_KERNEL_READY is sent
    CUDBG_KNL_LAUNCH_NOTIFY_DEFER = 1,  // it is not
} CUDBGKernelLaunchNotifyMode;

typedef enum {
    CUDBG_ELF_IMAGE_TYPE_NONRELOCATED = 0,
    CUDBG_ELF_IMAGE_TYPE_RELOCATED    = 1,
} CUDBGElfImageType;

// Bits of elfImageLoaded.properties.
typedef enum {
    CUDBG_ELF_IMAGE_PROPERTIES_SYSTEM = 1,  // not used any more: always 0
} CUDBGElfImageProperties;

typedef enum {
    CUDBG_ADJ_PREVIOUS_ADDRESS = 0,
    CUDBG_ADJ_CURRENT_ADDRESS  = 1,
    CUDBG_ADJ_NEXT_ADDRESS     = 2,
} CUDBGAdjAddrAction;

typedef enum {
    CUDBG_BARRIER_SCOPE_NONE       = 0,
    CUDBG_BARRIER_SCOPE_WARP       = 1,
    CUDBG_BARRIER_SCOPE_WARP_GROUP = 2,
    CUDBG_BARRIER_SCOPE_BLOCK      = 3,
    CUDBG_BARRIER_SCOPE_CLUSTER    = 4,
    CUDBG_BARRIER_SCOPE_KERNEL     = 5,
    CUDBG_BARRIER_SCOPE_INVALID    = -1,
} CUDBGBarrierScope;

typedef enum {
    CUDBG_SINGLE_STEP_FLAGS_NONE                       = 0,
    CUDBG_SINGLE_STEP_FLAGS_NO_STEP_OVER_WARP_BARRIERS = 1 << 0,
    CUDBG_SINGLE_STEP_FLAGS_NON_BLOCKING               = 1 << 1,  // CUDBG_EVENT_SINGLE_STEP_COMPLETE follows
} CUDBGSingleStepFlags;

typedef enum {
    CUDBG_SINGLE_STEP_TYPE_INVALID               = 0,
    CUDBG_SINGLE_STEP_TYPE_SINGLE_STEP_WARP      = 1,
    CUDBG_SINGLE_STEP_TYPE_RESUME_WARPS_UNTIL_PC = 2,
} CUDBGSingleStepType;

typedef enum {
    ptxUNSPECIFIEDStorage = 0,
    ptxCodeStorage        = 1,
    ptxRegStorage         = 2,
    ptxSregStorage        = 3,
    ptxConstStorage       = 4,
    ptxGlobalStorage      = 5,
    ptxLocalStorage       = 6,
    ptxParamStorage       = 7,
    ptxSharedStorage      = 8,
    ptxSurfStorage        = 9,
    ptxTexStorage         = 10,
    ptxTexSamplerStorage  = 11,
    ptxGenericStorage     = 12,
    ptxIParamStorage      = 13,
    ptxOParamStorage      = 14,
    ptxFrameStorage       = 15,
    ptxURegStorage        = 16,
    ptxMAXStorage         = 17,
} ptxStorageKind;

typedef enum {
    REG_CLASS_INVALID         = 0x000,
    REG_CLASS_REG_CC          = 0x001,
    REG_CLASS_REG_PRED        = 0x002,
    REG_CLASS_REG_ADDR        = 0x003,
    REG_CLASS_REG_HALF        = 0x004,
    REG_CLASS_REG_FULL        = 0x005,
    REG_CLASS_MEM_LOCAL       = 0x006,
    REG_CLASS_LMEM_REG_OFFSET = 0x007,
    REG_CLASS_UREG_PRED       = 0x009,
    REG_CLASS_UREG_HALF       = 0x00a,
    REG_CLASS_UREG_FULL       = 0x00b,
    REG_CLASS_TEMP_REG_SPILL  = 0x00c,
} CUDBGRegClass;

// What stopped a warp. RESERVED_* are the later names of kinds that are not reported any more.
typedef enum {
    CUDBG_EXCEPTION_UNKNOWN                         = -1,
    CUDBG_EXCEPTION_NONE                            = 0,
    CUDBG_EXCEPTION_LANE_ILLEGAL_ADDRESS            = 1,
    CUDBG_EXCEPTION_RESERVED_0                      = 1,
    CUDBG_EXCEPTION_LANE_USER_STACK_OVERFLOW        = 2,
    CUDBG_EXCEPTION_RESERVED_1                      = 2,
    CUDBG_EXCEPTION_DEVICE_HARDWARE_STACK_OVERFLOW  = 3,
    CUDBG_EXCEPTION_RESERVED_2                      = 3,
    CUDBG_EXCEPTION_WARP_ILLEGAL_INSTRUCTION        = 4,
    CUDBG_EXCEPTION_WARP_OUT_OF_RANGE_ADDRESS       = 5,
    CUDBG_EXCEPTION_WARP_MISALIGNED_ADDRESS         = 6,
    CUDBG_EXCEPTION_WARP_INVALID_ADDRESS_SPACE      = 7,
    CUDBG_EXCEPTION_WARP_INVALID_PC                 = 8,
    CUDBG_EXCEPTION_WARP_HARDWARE_STACK_OVERFLOW    = 9,
    CUDBG_EXCEPTION_DEVICE_ILLEGAL_ADDRESS          = 10,
    CUDBG_EXCEPTION_LANE_MISALIGNED_ADDRESS         = 11,
    CUDBG_EXCEPTION_RESERVED_3                      = 11,
    CUDBG_EXCEPTION_WARP_ASSERT                     = 12,  // NaN or infinite elements, or the engine failed
    CUDBG_EXCEPTION_LANE_SYSCALL_ERROR              = 13,
    CUDBG_EXCEPTION_RESERVED_4                      = 13,
    CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS            = 14,
    CUDBG_EXCEPTION_LANE_NONMIGRATABLE_ATOMSYS      = 15,
    CUDBG_EXCEPTION_RESERVED_5                      = 15,
    CUDBG_EXCEPTION_LANE_INVALID_ATOMSYS            = 16,
    CUDBG_EXCEPTION_RESERVED_6                      = 16,
    CUDBG_EXCEPTION_CLUSTER_OUT_OF_RANGE_ADDRESS    = 17,
    CUDBG_EXCEPTION_CLUSTER_BLOCK_NOT_PRESENT       = 18,
    CUDBG_EXCEPTION_WARP_STACK_CANARY               = 19,
    CUDBG_EXCEPTION_WARP_TMEM_ACCESS_CHECK          = 20,
    CUDBG_EXCEPTION_WARP_TMEM_LEAK                  = 21,
    CUDBG_EXCEPTION_WARP_CALL_REQUIRES_NEWER_DRIVER = 22,
    CUDBG_EXCEPTION_WARP_MISALIGNED_PC              = 23,
    CUDBG_EXCEPTION_WARP_PC_OVERFLOW                = 24,
    CUDBG_EXCEPTION_WARP_MISALIGNED_REG             = 25,
    CUDBG_EXCEPTION_WARP_ILLEGAL_INSTR_ENCODING     = 26,
    CUDBG_EXCEPTION_WARP_ILLEGAL_INSTR_PARAM        = 27,
    CUDBG_EXCEPTION_WARP_OUT_OF_RANGE_REGISTER      = 28,
    CUDBG_EXCEPTION_WARP_INVALID_CONST_ADDR_LDC     = 29,
    CUDBG_EXCEPTION_WARP_MMU_FAULT                  = 30,
    CUDBG_EXCEPTION_WARP_ARRIVE                     = 31,
    CUDBG_EXCEPTION_CLUSTER_POISON                  = 32,
    CUDBG_EXCEPTION_WARP_API_STACK_ERROR            = 33,
    CUDBG_EXCEPTION_WARP_BLOCK_NOT_PRESENT          = 34,
    CUDBG_EXCEPTION_WARP_USER_STACK_OVERFLOW        = 35,
    CUDBG_EXCEPTION_TMA_SYSCALL                     = 36,
} CUDBGException_t;

typedef enum {
    CUDBG_COREDUMP_DEFAULT_FLAGS                = 0,
    CUDBG_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES = 1 << 0,
    CUDBG_COREDUMP_SKIP_GLOBAL_MEMORY           = 1 << 1,
    CUDBG_COREDUMP_SKIP_SHARED_MEMORY           = 1 << 2,
    CUDBG_COREDUMP_SKIP_LOCAL_MEMORY            = 1 << 3,
    CUDBG_COREDUMP_SKIP_CONSTBANK_MEMORY        = 1 << 5,
    CUDBG_COREDUMP_GZIP_COMPRESS                = 1 << 6,
    CUDBG_COREDUMP_FAULTED_CONTEXTS_ONLY        = 1 << 7,
    CUDBG_COREDUMP_LIGHTWEIGHT_FLAGS            = 0x2f,
} CUDBGCoredumpGenerationFlags;

typedef enum {
    CUDBG_CUDA_LOG_LEVEL_INVALID = -1,
    CUDBG_CUDA_LOG_LEVEL_ERROR   = 0,
    CUDBG_CUDA_LOG_LEVEL_WARNING = 1,
} CUDBGCudaLogLevel;

typedef enum {
    CUDBG_CUDA_LOG_LEVEL_FILTER_ANY     = -1,
    CUDBG_CUDA_LOG_LEVEL_FILTER_ERROR   = 0,
    CUDBG_CUDA_LOG_LEVEL_FILTER_WARNING = 1,
} CUDBGCudaLogLevelFilter;

typedef enum {
    CUDBG_CUDA_LOG_RULE_ACTION_EXCLUDE    = -1,
    CUDBG_CUDA_LOG_RULE_ACTION_SEND_ASYNC = 0,
    CUDBG_CUDA_LOG_RULE_ACTION_SEND_SYNC  = 1,
} CUDBGCudaLogRuleAction;

typedef enum {
    CUDBG_REPORT_DRIVER_API_ERROR_FLAGS_NONE               = 0,
    CUDBG_REPORT_DRIVER_API_ERROR_FLAGS_SUPPRESS_NOT_READY = 1 << 0,
} CUDBGReportDriverApiErrorFlags;

typedef enum {
    CUDBG_REPORTED_DRIVER_API_ERROR_SOURCE_NONE    = 0,
    CUDBG_REPORTED_DRIVER_API_ERROR_SOURCE_DRIVER  = 1,
    CUDBG_REPORTED_DRIVER_API_ERROR_SOURCE_RUNTIME = 2,
} CUDBGReportedDriverApiErrorSource;

// A breakpoint of insertBreakpoint: from 1 up, 0 is none. Those with the top bit are not single breakpoints.
typedef uint64_t CUDBGBreakpointHandle;

#define CUDBG_BREAKPOINT_HANDLE_INVALID         ((CUDBGBreakpointHandle)0)
#define CUDBG_BREAKPOINT_HANDLE_TRAP            (~(CUDBGBreakpointHandle)0)
#define CUDBG_BREAKPOINT_HANDLE_LEGACY          (~(CUDBGBreakpointHandle)0 - 1)  // one of setBreakpoint
#define CUDBG_BREAKPOINT_HANDLE_INTERNAL        (~(CUDBGBreakpointHandle)0 - 2)  // a step
#define CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH (~(CUDBGBreakpointHandle)0 - 3)
#define CUDBG_BREAKPOINT_HANDLE_ALL_USER        (~(CUDBGBreakpointHandle)0 - 4)

// ---- Events ----

typedef enum {
    CUDBG_EVENT_INVALID                     = 0x000,
    CUDBG_EVENT_ELF_IMAGE_LOADED            = 0x001,  // the image of a model is there; breakpoints can be set
    CUDBG_EVENT_KERNEL_READY                = 0x002,  // an operator is about to be executed
    CUDBG_EVENT_KERNEL_FINISHED             = 0x003,  // an operator was executed
    CUDBG_EVENT_INTERNAL_ERROR              = 0x004,  // the debugger failed, or the connection to the debuggee ended
    CUDBG_EVENT_CTX_PUSH                    = 0x005,  // a run of a model begins
    CUDBG_EVENT_CTX_POP                     = 0x006,  // it is over
    CUDBG_EVENT_CTX_CREATE                  = 0x007,  // a model is loaded
    CUDBG_EVENT_CTX_DESTROY                 = 0x008,  // a model was unloaded
    CUDBG_EVENT_TIMEOUT                     = 0x009,  // a sync event still waits; sent to clients older than 13.0
    CUDBG_EVENT_ATTACH_COMPLETE             = 0x00a,  // what had happened before was reported
    CUDBG_EVENT_DETACH_COMPLETE             = 0x00b,  // the last event
    CUDBG_EVENT_ELF_IMAGE_UNLOADED          = 0x00c,  // the image of a model is gone
    CUDBG_EVENT_FUNCTIONS_LOADED            = 0x00d,  // the operators of a model have their addresses
    CUDBG_EVENT_ALL_DEVICES_SUSPENDED       = 0x00e,  // a breakpoint, an exception or suspendAllDevices stopped the device
    CUDBG_EVENT_CUDA_LOGS_AVAILABLE         = 0x00f,
    CUDBG_EVENT_CUDA_LOGS_THRESHOLD_REACHED = 0x010,
    CUDBG_EVENT_SINGLE_STEP_COMPLETE        = 0x011,  // a step that did not block has ended
    CUDBG_EVENT_CUDA_LOGS_RULESET_CHANGED   = 0x012,
} CUDBGEventKind;

// Where events wait. The thread that raised an event of the sync queue waits until it was read and acknowledged.
typedef enum {
    CUDBG_EVENT_QUEUE_TYPE_SYNC  = 0,
    CUDBG_EVENT_QUEUE_TYPE_ASYNC = 1,
} CUDBGEventQueueType;

// The event of CUDA 3.0. The images are memory of the library, until the model is unloaded.
typedef struct {
    CUDBGEventKind kind;
    union cases30_st {
        struct elfImageLoaded30_st {
            char*    relocatedElfImage;
            char*    nonRelocatedElfImage;
            uint32_t size;
        } elfImageLoaded;
        struct kernelReady30_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
        } kernelReady;
        struct kernelFinished30_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
        } kernelFinished;
    } cases;
} CUDBGEvent30;

// The event of CUDA 3.1 and 3.2.
typedef struct {
    CUDBGEventKind kind;
    union cases32_st {
        struct elfImageLoaded32_st {
            char*    relocatedElfImage;
            char*    nonRelocatedElfImage;
            uint32_t size;
            uint32_t dev;
            uint64_t context;
            uint64_t module;
        } elfImageLoaded;
        struct kernelReady32_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
            uint64_t context;
            uint64_t module;
            uint64_t function;
            uint64_t functionEntry;
        } kernelReady;
        struct kernelFinished32_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
            uint64_t context;
            uint64_t module;
            uint64_t function;
            uint64_t functionEntry;
        } kernelFinished;
        struct contextPush32_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPush;
        struct contextPop32_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPop;
        struct contextCreate32_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextCreate;
        struct contextDestroy32_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextDestroy;
    } cases;
} CUDBGEvent32;

// The event of CUDA 4.0 to 4.2.
typedef struct {
    CUDBGEventKind kind;
    union cases42_st {
        struct elfImageLoaded42_st {
            char*    relocatedElfImage;
            char*    nonRelocatedElfImage;
            uint32_t size32;
            uint32_t dev;
            uint64_t context;
            uint64_t module;
            uint64_t size;
        } elfImageLoaded;
        struct kernelReady42_st {
            uint32_t        dev;
            uint32_t        gridId;
            uint32_t        tid;
            uint64_t        context;
            uint64_t        module;
            uint64_t        function;
            uint64_t        functionEntry;
            CuDim3          gridDim;
            CuDim3          blockDim;
            CUDBGKernelType type;
        } kernelReady;
        struct kernelFinished42_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
            uint64_t context;
            uint64_t module;
            uint64_t function;
            uint64_t functionEntry;
        } kernelFinished;
        struct contextPush42_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPush;
        struct contextPop42_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPop;
        struct contextCreate42_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextCreate;
        struct contextDestroy42_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextDestroy;
    } cases;
} CUDBGEvent42;

// The event of CUDA 5.0.
typedef struct {
    CUDBGEventKind kind;
    union cases50_st {
        struct elfImageLoaded50_st {
            char*    relocatedElfImage;
            char*    nonRelocatedElfImage;
            uint32_t size32;
            uint32_t dev;
            uint64_t context;
            uint64_t module;
            uint64_t size;
        } elfImageLoaded;
        struct kernelReady50_st {
            uint32_t        dev;
            uint32_t        gridId;
            uint32_t        tid;
            uint64_t        context;
            uint64_t        module;
            uint64_t        function;
            uint64_t        functionEntry;
            CuDim3          gridDim;
            CuDim3          blockDim;
            CUDBGKernelType type;
        } kernelReady;
        struct kernelFinished50_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
            uint64_t context;
            uint64_t module;
            uint64_t function;
            uint64_t functionEntry;
        } kernelFinished;
        struct contextPush50_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPush;
        struct contextPop50_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPop;
        struct contextCreate50_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextCreate;
        struct contextDestroy50_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextDestroy;
        struct internalError50_st {
            CUDBGResult errorType;
        } internalError;
    } cases;
} CUDBGEvent50;

// The event of CUDA 5.5. reserved0 is 0; it was the parent of a grid.
typedef struct {
    CUDBGEventKind kind;
    union cases55_st {
        struct elfImageLoaded55_st {
            char*    relocatedElfImage;
            char*    nonRelocatedElfImage;
            uint32_t size32;
            uint32_t dev;
            uint64_t context;
            uint64_t module;
            uint64_t size;
        } elfImageLoaded;
        struct kernelReady55_st {
            uint32_t          dev;
            uint32_t          gridId;
            uint32_t          tid;
            uint64_t          context;
            uint64_t          module;
            uint64_t          function;
            uint64_t          functionEntry;
            CuDim3            gridDim;
            CuDim3            blockDim;
            CUDBGKernelType   type;
            uint64_t          reserved0;
            uint64_t          gridId64;
            CUDBGKernelOrigin origin;
        } kernelReady;
        struct kernelFinished55_st {
            uint32_t dev;
            uint32_t gridId;
            uint32_t tid;
            uint64_t context;
            uint64_t module;
            uint64_t function;
            uint64_t functionEntry;
            uint64_t gridId64;
        } kernelFinished;
        struct contextPush55_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPush;
        struct contextPop55_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPop;
        struct contextCreate55_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextCreate;
        struct contextDestroy55_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextDestroy;
        struct internalError55_st {
            CUDBGResult errorType;
        } internalError;
    } cases;
} CUDBGEvent55;

#pragma pack(push, 1)

// The event since CUDA 6.0. The image of a model is read with getElfImageByHandle.
typedef struct {
    CUDBGEventKind kind;
    union cases_st {
        struct elfImageLoaded_st {
            uint32_t dev;
            uint64_t context;
            uint64_t module;
            uint64_t size;
            uint64_t handle;
            uint32_t properties;
        } elfImageLoaded;
        struct elfImageUnloaded_st {
            uint32_t dev;
            uint64_t context;
            uint64_t module;
            uint64_t size;
            uint64_t handle;
        } elfImageUnloaded;
        struct kernelReady_st {
            uint32_t          dev;
            uint32_t          tid;
            uint64_t          gridId;
            uint64_t          context;
            uint64_t          module;
            uint64_t          function;
            uint64_t          functionEntry;
            CuDim3            gridDim;
            CuDim3            blockDim;
            CUDBGKernelType   type;
            uint64_t          reserved0;
            CUDBGKernelOrigin origin;
        } kernelReady;
        struct kernelFinished_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
            uint64_t module;
            uint64_t function;
            uint64_t functionEntry;
            uint64_t gridId;
        } kernelFinished;
        struct contextPush_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPush;
        struct contextPop_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextPop;
        struct contextCreate_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextCreate;
        struct contextDestroy_st {
            uint32_t dev;
            uint32_t tid;
            uint64_t context;
        } contextDestroy;
        struct internalError_st {
            CUDBGResult errorType;
        } internalError;
        struct functionsLoaded_st {
            uint32_t dev;
            uint32_t count;
            uint64_t context;
            uint64_t module;
        } functionsLoaded;
        struct allDevicesSuspended_st {
            uint64_t brokenDevicesMask;
            uint64_t faultedDevicesMask;
        } allDevicesSuspended;
        struct singleStepComplete_st {
            uint32_t            dev;
            uint32_t            sm;
            uint64_t            context;
            uint64_t            originalWarpMask;
            uint64_t            finalWarpMask;
            uint64_t            brokenDevicesMask;
            uint64_t            faultedDevicesMask;
            CUDBGSingleStepType type;
        } singleStepComplete;
        struct cudaLogsRulesetChanged_st {
            uint32_t rulesetIndex;
        } cudaLogsRulesetChanged;
    } cases;
} CUDBGEvent;

// ---- Grids, warps, devices: without padding ----

typedef struct {
    uint32_t          dev;
    uint64_t          gridId64;
    uint32_t          tid;
    uint64_t          context;
    uint64_t          module;
    uint64_t          function;
    uint64_t          functionEntry;
    CuDim3            gridDim;
    CuDim3            blockDim;
    CUDBGKernelType   type;
    uint64_t          reserved0;
    CUDBGKernelOrigin origin;
} CUDBGGridInfo55;

typedef struct {
    uint32_t          dev;
    uint64_t          gridId64;
    uint32_t          tid;
    uint64_t          context;
    uint64_t          module;
    uint64_t          function;
    uint64_t          functionEntry;
    CuDim3            gridDim;
    CuDim3            blockDim;
    CUDBGKernelType   type;
    uint64_t          reserved0;
    CUDBGKernelOrigin origin;
    CuDim3            clusterDim;
} CUDBGGridInfo120;

// An operator that is executed. functionEntry is its address.
typedef struct {
    uint32_t          dev;
    uint64_t          gridId64;
    uint32_t          tid;
    uint64_t          context;
    uint64_t          module;
    uint64_t          function;
    uint64_t          functionEntry;
    CuDim3            gridDim;
    CuDim3            blockDim;
    CUDBGKernelType   type;
    uint64_t          reserved0;
    CUDBGKernelOrigin origin;
    CuDim3            clusterDim;
    CuDim3            preferredClusterDim;
} CUDBGGridInfo;

typedef struct {
    uint64_t         virtualPC;
    CuDim3           threadIdx;
    CUDBGException_t exception;
} CUDBGLaneState;

typedef struct {
    uint64_t       gridId;
    uint64_t       errorPC;
    CuDim3         blockIdx;
    uint32_t       validLanes;
    uint32_t       activeLanes;
    uint32_t       errorPCValid;
    CUDBGLaneState lane[CUDBG_MAX_LANES];
} CUDBGWarpState60;

typedef struct {
    uint64_t       gridId;
    uint64_t       errorPC;
    CuDim3         blockIdx;
    uint32_t       validLanes;
    uint32_t       activeLanes;
    uint32_t       errorPCValid;
    CUDBGLaneState lane[CUDBG_MAX_LANES];
    CuDim3         clusterIdx;
} CUDBGWarpState120;

typedef struct {
    uint64_t       gridId;
    uint64_t       errorPC;
    CuDim3         blockIdx;
    uint32_t       validLanes;
    uint32_t       activeLanes;
    uint32_t       errorPCValid;
    CUDBGLaneState lane[CUDBG_MAX_LANES];
    CuDim3         clusterIdx;
    CuDim3         clusterDim;
    uint32_t       clusterExceptionTargetBlockIdxValid;
    CuDim3         clusterExceptionTargetBlockIdx;
} CUDBGWarpState127;

// A warp: a run that is stopped at an operator. Lanes that are not valid are zero.
typedef struct {
    uint64_t       gridId;
    uint64_t       errorPC;
    CuDim3         blockIdx;
    uint32_t       validLanes;
    uint32_t       activeLanes;
    uint32_t       errorPCValid;
    CUDBGLaneState lane[CUDBG_MAX_LANES];
    CuDim3         clusterIdx;
    CuDim3         clusterDim;
    uint32_t       clusterExceptionTargetBlockIdxValid;
    CuDim3         clusterExceptionTargetBlockIdx;
    uint32_t       inSyscallLanes;
} CUDBGWarpState;

typedef struct {
    uint32_t sharedMemSize;
    uint32_t numRegisters;
} CUDBGWarpResources;

typedef struct {
    uint64_t startAddress;
    uint64_t size;
} CUDBGMemoryInfo;

// A section of a model's image, and where it is.
typedef struct {
    uint64_t sectionIndex;
    uint64_t address;
} CUDBGLoadedFunctionInfo;

typedef struct {
    uint32_t activeMask;
    uint32_t exitedMask;
    uint32_t collectiveMask;
    uint32_t barrierMasks[CUDBG_MAX_WARP_BARRIERS];
    uint32_t threadState[CUDBG_MAX_LANES];
} CUDBGCbuWarpState;

// What getDeviceInfo returns: CUDBGDeviceInfo and its attributes; for each SM CUDBGSMInfo and its attributes;
// for each warp CUDBGWarpInfo and its attributes; for each lane CUDBGLaneInfo. Attributes are in the order of
// their bits.
typedef enum {
    CUDBG_RESPONSE_TYPE_FULL    = 0,
    CUDBG_RESPONSE_TYPE_UPDATE  = 1,
    CUDBG_RESPONSE_TYPE_UNKNOWN = -1,
} CUDBGDeviceInfoQueryType_t;

typedef enum {
    CUDBG_DEVICE_ATTRIBUTE_SM_UPDATE_MASK    = 0,
    CUDBG_DEVICE_ATTRIBUTE_SM_ACTIVE_MASK    = 1,
    CUDBG_DEVICE_ATTRIBUTE_SM_EXCEPTION_MASK = 2,
    CUDBG_DEVICE_ATTRIBUTE_COUNT             = 3,
} CUDBGDeviceInfoAttribute_t;

typedef enum {
    CUDBG_SM_ATTRIBUTE_WARP_UPDATE_MASK = 0,
    CUDBG_SM_ATTRIBUTE_COUNT            = 1,
} CUDBGSMInfoAttribute_t;

typedef enum {
    CUDBG_WARP_ATTRIBUTE_LANE_UPDATE_MASK                   = 0,
    CUDBG_WARP_ATTRIBUTE_LANE_ATTRIBUTES                    = 1,
    CUDBG_WARP_ATTRIBUTE_EXCEPTION                          = 2,
    CUDBG_WARP_ATTRIBUTE_ERRORPC                            = 3,
    CUDBG_WARP_ATTRIBUTE_CLUSTERIDX                         = 4,
    CUDBG_WARP_ATTRIBUTE_CLUSTERDIM                         = 5,
    CUDBG_WARP_ATTRIBUTE_CLUSTER_EXCEPTION_TARGET_BLOCK_IDX = 6,
    CUDBG_WARP_ATTRIBUTE_IN_SYSCALL_LANES                   = 7,
    CUDBG_WARP_ATTRIBUTE_HIT_BREAKPOINT_HANDLE              = 8,
    CUDBG_WARP_ATTRIBUTE_COUNT                              = 9,
} CUDBGWarpInfoAttribute_t;

typedef enum {
    CUDBG_LANE_ATTRIBUTE_COUNT = 0,
} CUDBGLaneInfoAttribute_t;

typedef struct {
    CUDBGDeviceInfoQueryType_t responseType;
    uint32_t                   deviceAttributeFlags;
} CUDBGDeviceInfo;

typedef struct {
    uint64_t warpValidMask;
    uint64_t warpBrokenMask;
    uint32_t smAttributeFlags;
} CUDBGSMInfo;

typedef struct {
    uint64_t gridId;
    CuDim3   blockIdx;
    CuDim3   baseThreadIdx;
    uint32_t validLanes;
    uint32_t activeLanes;
    uint32_t warpAttributeFlags;
} CUDBGWarpInfo;

typedef struct {
    uint64_t virtualPC;
} CUDBGLaneInfo;

typedef struct {
    uint32_t requiredBufferSize;
    uint32_t deviceInfoSize;
    uint32_t deviceInfoAttributeSizes[32];
    uint32_t smInfoSize;
    uint32_t smInfoAttributeSizes[32];
    uint32_t warpInfoSize;
    uint32_t warpInfoAttributeSizes[32];
    uint32_t laneInfoSize;
    uint32_t laneInfoAttributeSizes[32];
} CUDBGDeviceInfoSizes;

typedef struct {
    uint64_t          unixTimestampNs;
    uint32_t          osThreadId;
    CUDBGCudaLogLevel logLevel;
    char              message[CUDBG_MAX_LOG_LEN];
} CUDBGCudaLogMessage129;

typedef struct {
    uint64_t          unixTimestampNs;
    uint64_t          osThreadId;
    CUDBGCudaLogLevel logLevel;
    uint32_t          matchedRulesetIndex;
    uint32_t          matchedRuleIndex;
    char              message[CUDBG_MAX_LOG_LEN];
} CUDBGCudaLogMessage;

typedef struct {
    CUDBGCudaLogRuleAction  action;
    CUDBGCudaLogLevelFilter logLevelFilter;
    uint64_t                osThreadIdFilter;
    const char*             messageFilterRegex;
} CUDBGCudaLogRule;

#pragma pack(pop)

// ---- Callbacks: one thread of the library calls them when events wait ----

// tid is the thread that raised the event, 0 for none.
typedef struct {
    uint32_t tid;
} CUDBGEventCallbackData40;

typedef struct {
    uint32_t tid;
    uint32_t timeout;
} CUDBGEventCallbackData41;

typedef struct {
    void*    userData;
    uint32_t tid;
} CUDBGEventCallbackData;

typedef void (*CUDBGNotifyNewEventCallback31)(void* data);
typedef void (*CUDBGNotifyNewEventCallback40)(CUDBGEventCallbackData40* data);
typedef void (*CUDBGNotifyNewEventCallback41)(CUDBGEventCallbackData41* data);
typedef void (*CUDBGNotifyNewEventCallback)(CUDBGEventCallbackData* data);

// ---- The table: functions keep their places, and new ones are added at the end ----

struct CUDBGAPI_st {
    // Since 3.0: from 0 on.
    CUDBGResult (*initialize)(void);
    CUDBGResult (*finalize)(void);
    CUDBGResult (*suspendDevice)(uint32_t dev);
    CUDBGResult (*resumeDevice)(uint32_t dev);
    CUDBGResult (*singleStepWarp40)(uint32_t dev, uint32_t sm, uint32_t wp);
    CUDBGResult (*setBreakpoint31)(uint64_t addr);
    CUDBGResult (*unsetBreakpoint31)(uint64_t addr);
    CUDBGResult (*readGridId50)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t* gridId);
    CUDBGResult (*readBlockIdx32)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim2* blockIdx);
    CUDBGResult (*readThreadIdx)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, CuDim3* threadIdx);
    CUDBGResult (*readBrokenWarps)(uint32_t dev, uint32_t sm, uint64_t* brokenWarpsMask);
    CUDBGResult (*readValidWarps)(uint32_t dev, uint32_t sm, uint64_t* validWarpsMask);
    CUDBGResult (*readValidLanes)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t* validLanesMask);
    CUDBGResult (*readActiveLanes)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t* activeLanesMask);
    CUDBGResult (*readCodeMemory)(uint32_t dev, uint64_t addr, void* buf, uint32_t sz);
    CUDBGResult (*readConstMemory129)(uint32_t dev, uint64_t addr, void* buf, uint32_t sz);
    CUDBGResult (*readGlobalMemory31)(uint32_t dev, uint64_t addr, void* buf, uint32_t sz);
    CUDBGResult (*readParamMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t addr, void* buf,
                                   uint32_t sz);
    CUDBGResult (*readSharedMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t addr, void* buf,
                                    uint32_t sz);
    CUDBGResult (*readLocalMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t addr,
                                   void* buf, uint32_t sz);
    CUDBGResult (*readRegister)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t regno,
                                uint32_t* val);
    CUDBGResult (*readPC)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t* pc);
    CUDBGResult (*readVirtualPC)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t* pc);
    CUDBGResult (*readLaneStatus)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, bool* error);
    CUDBGResult (*writeGlobalMemory31)(uint32_t dev, uint64_t addr, const void* buf, uint32_t sz);
    CUDBGResult (*writeParamMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t addr, const void* buf,
                                    uint32_t sz);
    CUDBGResult (*writeSharedMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t addr, const void* buf,
                                     uint32_t sz);
    CUDBGResult (*writeLocalMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t addr,
                                    const void* buf, uint32_t sz);
    CUDBGResult (*writeRegister)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t regno,
                                 uint32_t val);
    CUDBGResult (*getGridDim32)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim2* gridDim);
    CUDBGResult (*getBlockDim)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim3* blockDim);
    CUDBGResult (*getTID)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t* tid);
    CUDBGResult (*getElfImage32)(uint32_t dev, uint32_t sm, uint32_t wp, bool relocated, void** elfImage,
                                 uint32_t* size);
    CUDBGResult (*getDeviceType)(uint32_t dev, char* buf, uint32_t sz);
    CUDBGResult (*getSmType)(uint32_t dev, char* buf, uint32_t sz);
    CUDBGResult (*getNumDevices)(uint32_t* numDev);
    CUDBGResult (*getNumSMs)(uint32_t dev, uint32_t* numSMs);
    CUDBGResult (*getNumWarps)(uint32_t dev, uint32_t* numWarps);
    CUDBGResult (*getNumLanes)(uint32_t dev, uint32_t* numLanes);
    CUDBGResult (*getNumRegisters)(uint32_t dev, uint32_t* numRegs);
    CUDBGResult (*getPhysicalRegister30)(uint64_t pc, char* reg, uint32_t* buf, uint32_t sz,
                                         uint32_t* numPhysRegs, CUDBGRegClass* regClass);
    CUDBGResult (*disassemble)(uint32_t dev, uint64_t addr, uint32_t* instSize, char* buf, uint32_t sz);
    CUDBGResult (*isDeviceCodeAddress55)(uintptr_t addr, bool* isDeviceAddress);
    CUDBGResult (*lookupDeviceCodeSymbol)(char* symName, bool* symFound, uintptr_t* symAddr);
    CUDBGResult (*setNotifyNewEventCallback31)(CUDBGNotifyNewEventCallback31 callback, void* data);
    CUDBGResult (*getNextEvent30)(CUDBGEvent30* event);
    CUDBGResult (*acknowledgeEvent30)(CUDBGEvent30* event);
    // Since 3.1: from 47 on.
    CUDBGResult (*getGridAttribute)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGAttribute attr,
                                    uint64_t* value);
    CUDBGResult (*getGridAttributes)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGAttributeValuePair* pairs,
                                     uint32_t numPairs);
    CUDBGResult (*getPhysicalRegister40)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t pc, char* reg,
                                         uint32_t* buf, uint32_t sz, uint32_t* numPhysRegs,
                                         CUDBGRegClass* regClass);
    CUDBGResult (*readLaneException)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln,
                                     CUDBGException_t* exception);
    CUDBGResult (*getNextEvent32)(CUDBGEvent32* event);
    CUDBGResult (*acknowledgeEvents42)(void);
    CUDBGResult (*readCallDepth32)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t* depth);
    CUDBGResult (*readReturnAddress32)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t level, uint64_t* ra);
    CUDBGResult (*readVirtualReturnAddress32)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t level,
                                              uint64_t* ra);
    // Since 3.2: from 56 on.
    CUDBGResult (*readGlobalMemory55)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t addr,
                                      void* buf, uint32_t sz);
    CUDBGResult (*writeGlobalMemory55)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t addr,
                                       const void* buf, uint32_t sz);
    CUDBGResult (*readPinnedMemory)(uint64_t addr, void* buf, uint32_t sz);
    CUDBGResult (*writePinnedMemory)(uint64_t addr, const void* buf, uint32_t sz);
    CUDBGResult (*setBreakpoint)(uint32_t dev, uint64_t addr);
    CUDBGResult (*unsetBreakpoint)(uint32_t dev, uint64_t addr);
    CUDBGResult (*setNotifyNewEventCallback40)(CUDBGNotifyNewEventCallback40 callback);
    // Since 4.0: from 63 on.
    CUDBGResult (*getNextEvent42)(CUDBGEvent42* event);
    CUDBGResult (*readTextureMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t id, uint32_t dim,
                                     uint32_t* coords, void* buf, uint32_t sz);
    CUDBGResult (*readBlockIdx)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim3* blockIdx);
    CUDBGResult (*getGridDim)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim3* gridDim);
    CUDBGResult (*readCallDepth)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t* depth);
    CUDBGResult (*readReturnAddress)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t level,
                                     uint64_t* ra);
    CUDBGResult (*readVirtualReturnAddress)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln,
                                            uint32_t level, uint64_t* ra);
    CUDBGResult (*getElfImage)(uint32_t dev, uint32_t sm, uint32_t wp, bool relocated, void** elfImage,
                               uint64_t* size);
    // Since 4.1: from 71 on.
    CUDBGResult (*getHostAddrFromDeviceAddr)(uint32_t dev, uint64_t deviceAddr, uint64_t* hostAddr);
    CUDBGResult (*singleStepWarp41)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t* warpMask);
    CUDBGResult (*setNotifyNewEventCallback41)(CUDBGNotifyNewEventCallback41 callback);
    CUDBGResult (*readSyscallCallDepth)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t* depth);
    // Since 4.2: from 75 on.
    CUDBGResult (*readTextureMemoryBindless)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t texSymtabIndex,
                                             uint32_t dim, uint32_t* coords, void* buf, uint32_t sz);
    // Since 5.0: from 76 on.
    CUDBGResult (*clearAttachState)(void);
    CUDBGResult (*getNextSyncEvent50)(CUDBGEvent50* event);
    CUDBGResult (*memcheckReadErrorAddress)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln,
                                            uint64_t* address, ptxStorageKind* storage);
    CUDBGResult (*acknowledgeSyncEvents)(void);
    CUDBGResult (*getNextAsyncEvent50)(CUDBGEvent50* event);
    CUDBGResult (*requestCleanupOnDetach55)(void);
    CUDBGResult (*initializeAttachStub)(void);
    CUDBGResult (*getGridStatus50)(uint32_t dev, uint32_t gridId, CUDBGGridStatus* status);
    // Since 5.5: from 84 on.
    CUDBGResult (*getNextSyncEvent55)(CUDBGEvent55* event);
    CUDBGResult (*getNextAsyncEvent55)(CUDBGEvent55* event);
    CUDBGResult (*getGridInfo55)(uint32_t dev, uint64_t gridId64, CUDBGGridInfo55* gridInfo);
    CUDBGResult (*readGridId)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t* gridId64);
    CUDBGResult (*getGridStatus)(uint32_t dev, uint64_t gridId64, CUDBGGridStatus* status);
    CUDBGResult (*setKernelLaunchNotificationMode)(CUDBGKernelLaunchNotifyMode mode);
    CUDBGResult (*getDevicePCIBusInfo)(uint32_t dev, uint32_t* pciBusId, uint32_t* pciDevId);
    CUDBGResult (*readDeviceExceptionState80)(uint32_t dev, uint64_t* exceptionSMMask);
    // Since 6.0: from 92 on.
    CUDBGResult (*getAdjustedCodeAddress)(uint32_t dev, uint64_t address, uint64_t* adjustedAddress,
                                          CUDBGAdjAddrAction adjAction);
    CUDBGResult (*readErrorPC)(uint32_t dev, uint32_t sm, uint32_t wp, uint64_t* errorPC, bool* errorPCValid);
    CUDBGResult (*getNextEvent)(CUDBGEventQueueType type, CUDBGEvent* event);
    CUDBGResult (*getElfImageByHandle)(uint32_t dev, uint64_t handle, CUDBGElfImageType type, void* elfImage,
                                       uint64_t size);
    CUDBGResult (*resumeWarpsUntilPC60)(uint32_t dev, uint32_t sm, uint64_t warpMask, uint64_t virtPC);
    CUDBGResult (*readWarpState60)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGWarpState60* state);
    CUDBGResult (*readRegisterRange60)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t index,
                                       uint32_t count, uint32_t* registers);
    CUDBGResult (*readGenericMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t addr,
                                     void* buf, uint32_t sz);
    CUDBGResult (*writeGenericMemory)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint64_t addr,
                                      const void* buf, uint32_t sz);
    CUDBGResult (*readGlobalMemory)(uint64_t addr, void* buf, uint32_t sz);
    CUDBGResult (*writeGlobalMemory)(uint64_t addr, const void* buf, uint32_t sz);
    CUDBGResult (*getManagedMemoryRegionInfo)(uint64_t startAddress, CUDBGMemoryInfo* memoryInfo,
                                              uint32_t memoryInfoSize, uint32_t* numEntries);
    CUDBGResult (*isDeviceCodeAddress)(uintptr_t addr, bool* isDeviceAddress);
    CUDBGResult (*requestCleanupOnDetach)(uint32_t appResumeFlag);
    // Since 6.5: from 106 on.
    CUDBGResult (*readPredicates)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t count,
                                  uint32_t* predicates);
    CUDBGResult (*writePredicates)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t count,
                                   const uint32_t* predicates);
    CUDBGResult (*getNumPredicates)(uint32_t dev, uint32_t* numPredicates);
    CUDBGResult (*readCCRegister)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t* val);
    CUDBGResult (*writeCCRegister)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t val);
    CUDBGResult (*getDeviceName)(uint32_t dev, char* buf, uint32_t sz);
    CUDBGResult (*singleStepWarp65)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t nsteps,
                                    uint64_t* warpMask);
    // Since 9.0: from 113 on.
    CUDBGResult (*readDeviceExceptionState)(uint32_t dev, uint64_t* mask, uint32_t numWords);
    // Since 10.0: from 114 on.
    CUDBGResult (*getNumUniformRegisters)(uint32_t dev, uint32_t* numRegs);
    CUDBGResult (*readUniformRegisterRange)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t regno,
                                            uint32_t count, uint32_t* registers);
    CUDBGResult (*writeUniformRegister)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t regno, uint32_t val);
    CUDBGResult (*getNumUniformPredicates)(uint32_t dev, uint32_t* numPredicates);
    CUDBGResult (*readUniformPredicates)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t count,
                                         uint32_t* predicates);
    CUDBGResult (*writeUniformPredicates)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t count,
                                          const uint32_t* predicates);
    // Since 11.8: from 120 on.
    CUDBGResult (*getLoadedFunctionInfo118)(uint32_t dev, uint64_t handle, CUDBGLoadedFunctionInfo* info,
                                            uint32_t numEntries);
    // Since 12.0: from 121 on.
    CUDBGResult (*getGridInfo120)(uint32_t dev, uint64_t gridId64, CUDBGGridInfo120* gridInfo);
    CUDBGResult (*getClusterDim120)(uint32_t dev, uint64_t gridId64, CuDim3* clusterDim);
    CUDBGResult (*readWarpState120)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGWarpState120* state);
    CUDBGResult (*readClusterIdx)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim3* clusterIdx);
    // Since 12.2: from 125 on.
    CUDBGResult (*getErrorStringEx)(char* buf, uint32_t bufSz, uint32_t* msgSz);
    // Since 12.3: from 126 on.
    CUDBGResult (*getLoadedFunctionInfo)(uint32_t dev, uint64_t handle, CUDBGLoadedFunctionInfo* info,
                                         uint32_t startIndex, uint32_t numEntries);
    CUDBGResult (*generateCoredump)(const char* filename, CUDBGCoredumpGenerationFlags flags);
    CUDBGResult (*getConstBankAddress123)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t bank,
                                          uint32_t offset, uint64_t* address);
    // Since 12.4: from 129 on.
    CUDBGResult (*getDeviceInfoSizes)(uint32_t dev, CUDBGDeviceInfoSizes* sizes);
    CUDBGResult (*getDeviceInfo)(uint32_t dev, CUDBGDeviceInfoQueryType_t type, void* buffer, uint32_t length,
                                 uint32_t* dataLength);
    CUDBGResult (*getConstBankAddress)(uint32_t dev, uint64_t gridId64, uint32_t bank, uint64_t* address,
                                       uint32_t* size);
    CUDBGResult (*singleStepWarp)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t laneHint, uint32_t nsteps,
                                  uint32_t flags, uint64_t* warpMask);
    // Since 12.5: from 133 on.
    CUDBGResult (*readAllVirtualReturnAddresses)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln,
                                                 uint64_t* addrs, uint32_t numAddrs, uint32_t* callDepth,
                                                 uint32_t* syscallCallDepth);
    CUDBGResult (*getSupportedDebuggerCapabilities)(CUDBGCapabilityFlags* capabilities);
    CUDBGResult (*readSmException)(uint32_t dev, uint32_t sm, CUDBGException_t* exception, uint64_t* errorPC,
                                   bool* errorPCValid);
    // Since 12.6: from 136 on.
    CUDBGResult (*executeInternalCommand)(const char* command, char* resultBuffer, uint32_t sizeInBytes);
    // Since 12.7: from 137 on.
    CUDBGResult (*getGridInfo)(uint32_t dev, uint64_t gridId64, CUDBGGridInfo* gridInfo);
    CUDBGResult (*getClusterDim)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim3* clusterDim);
    CUDBGResult (*readWarpState127)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGWarpState127* state);
    CUDBGResult (*getClusterExceptionTargetBlock)(uint32_t dev, uint32_t sm, uint32_t wp, CuDim3* blockIdx,
                                                  bool* blockIdxValid);
    // Since 12.8: from 141 on.
    CUDBGResult (*readWarpResources)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGWarpResources* resources);
    // Since 12.9: from 142 on.
    CUDBGResult (*getCbuWarpState)(uint32_t dev, uint32_t sm, uint64_t warpMask,
                                   CUDBGCbuWarpState* warpStates, uint32_t numWarpStates);
    CUDBGResult (*readWarpState)(uint32_t dev, uint32_t sm, uint32_t wp, CUDBGWarpState* state);
    CUDBGResult (*consumeCudaLogs129)(CUDBGCudaLogMessage129* logMessages, uint32_t numMessages,
                                      uint32_t* numConsumed);
    CUDBGResult (*readCPUCallStack)(uint32_t dev, uint64_t gridId64, uint64_t* addrs, uint32_t numAddrs,
                                    uint32_t* totalNumAddrs);
    // Since 13.0: from 146 on.
    CUDBGResult (*getCudaExceptionString)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, char* buf,
                                          uint32_t bufSz, uint32_t* msgSz);
    CUDBGResult (*setNotifyNewEventCallback)(CUDBGNotifyNewEventCallback callback, void* userData);
    // Since 13.1: from 148 on.
    CUDBGResult (*getHardwareBarrierInfo)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln,
                                          CUDBGBarrierScope* scope, char* buf, uint32_t bufSz,
                                          uint32_t* msgSz);
    // Since 13.2: from 149 on.
    CUDBGResult (*readRegisterRange)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t index,
                                     uint32_t count, uint32_t* registers, uint32_t* numRegistersRead);
    CUDBGResult (*insertBreakpoint)(uint32_t dev, uint64_t addr, CUDBGBreakpointHandle* handle);
    CUDBGResult (*removeBreakpoint)(CUDBGBreakpointHandle handle);
    CUDBGResult (*enableBreakpoint)(CUDBGBreakpointHandle handle);
    CUDBGResult (*disableBreakpoint)(CUDBGBreakpointHandle handle);
    CUDBGResult (*isBreakpointEnabled)(CUDBGBreakpointHandle handle, uint32_t* enabled);
    CUDBGResult (*getWarpHitBreakpoint)(uint32_t dev, uint32_t sm, uint32_t wp,
                                        CUDBGBreakpointHandle* handle);
    CUDBGResult (*resumeWarpsUntilPC)(uint32_t dev, uint32_t sm, uint64_t warpMask, uint64_t virtPC,
                                      uint32_t flags);
    CUDBGResult (*suspendAllDevices)(uint32_t nonBlocking);
    CUDBGResult (*resumeAllDevices)(void);
    // Since 13.4: from 159 on.
    CUDBGResult (*getBindlessConstAddress)(uint32_t dev, uint64_t header, uint64_t* address, uint32_t* size);
    CUDBGResult (*setCudaLogRules)(const CUDBGCudaLogRule* rules, uint32_t numRules, uint32_t* rulesetIndex);
    CUDBGResult (*consumeCudaLogs)(CUDBGCudaLogMessage* logMessages, uint32_t numMessages,
                                   uint32_t* numConsumed);
    CUDBGResult (*readRpcRegisters)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, uint32_t* lo,
                                    uint32_t* hi);
    CUDBGResult (*writeRpcRegisters)(uint32_t dev, uint32_t sm, uint32_t wp, uint32_t ln, const uint32_t* lo,
                                     const uint32_t* hi);
};

typedef const struct CUDBGAPI_st* CUDBGAPI;

// ---- What the library exports ----

// Returns the table for a client of this version. Any major and minor number will do; a revision above
// CUDBG_API_VERSION_REVISION is CUDBG_ERROR_INCOMPATIBLE_API.
CUDBGResult cudbgGetAPI(uint32_t major, uint32_t minor, uint32_t rev, CUDBGAPI* api);
CUDBGResult cudbgGetAPIVersion(uint32_t* major, uint32_t* minor, uint32_t* rev);

// The same, for a libcuda.so.1 that forwards to this library.
CUDBGResult GetCUDADebuggerAPI(uint32_t major, uint32_t minor, uint32_t rev, CUDBGAPI* api);
CUDBGResult GetCUDADebuggerAPIVersion(uint32_t* major, uint32_t* minor, uint32_t* rev);
int         InitializeInjection(void);

void        cudbgApiInit(uint32_t arg);
void        cudbgApiAttach(void);
void        cudbgApiDetach(void);
CUDBGResult cudbgMain(int      clientPid,
                      uint32_t clientRevision,
                      int      sessionId,
                      int      attachState,
                      int      attachEventInitialized,
                      int      writeFd,
                      int      detachFd,
                      int      attachStubInUse,
                      int      enablePreemption);

// Empty: a debugger sets breakpoints on them.
void cudbgReportDriverApiError(void);
void cudbgReportDriverInternalError(void);
void cudbgReportAttachProcedureFinished(void);
void cudbgPreInit(void);

// Written by the client before initialize. cudbgApiClientPid names the debuggee if it is neither 0 nor the
// client itself.
extern uint32_t cudbgIpcFlag;
extern uint32_t cudbgRpcEnabled;
extern uint32_t cudbgApiClientPid;
extern uint32_t cudbgApiClientRevision;
extern uint32_t cudbgSessionId;
extern uint32_t cudbgDebuggerCapabilities;
extern uint32_t cudbgEnableLaunchBlocking;
extern uint32_t cudbgEnableIntegratedMemcheck;
extern uint32_t cudbgEnablePreemptionDebugging;
extern uint32_t cudbgDetachSuspendedDevicesMask;
extern uint32_t cudbgReportDriverApiErrorFlags;
extern char     cudbgInjectionPath[4096];

// Written by the library.
extern uint32_t cudbgDebuggerInitialized;
extern uint32_t cudbgAttachHandlerAvailable;
extern uint32_t cudbgResumeForAttachDetach;
extern uint32_t cudbgUseExternalDebugger;
extern uint32_t CUDBG_I_AM_DEBUGGER;
extern int32_t  cudbgInitiateDebuggerAttachProcedureFd;
extern uint64_t cudbgReportedDriverApiErrorCode;
extern uint64_t cudbgReportedDriverApiErrorFuncNameSize;
extern uint64_t cudbgReportedDriverApiErrorFuncNameAddr;
extern uint32_t cudbgReportedDriverApiErrorSource;
extern uint64_t cudbgReportedDriverApiErrorNameSize;
extern uint64_t cudbgReportedDriverApiErrorNameAddr;
extern uint64_t cudbgReportedDriverApiErrorStringSize;
extern uint64_t cudbgReportedDriverApiErrorStringAddr;
extern uint64_t cudbgReportedDriverInternalErrorCode;

#ifdef __cplusplus
}
#endif

#endif
