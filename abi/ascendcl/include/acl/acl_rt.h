// Init, errors, devices, contexts, streams, events and memory.
//
// A pointer that is required and NULL, or a size of 0: ACL_ERROR_INVALID_PARAM. No current context
// in the thread: ACL_ERROR_RT_CONTEXT_NULL. A stream argument of NULL is the default stream of the
// current context.
#ifndef ACL_ACL_RT_H
#define ACL_ACL_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_base.h"
#include "acl_rt_allocator.h"

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

#define ACL_PKG_VERSION_MAX_SIZE       128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

// Flags of aclrtCreateStreamWithConfig.
#define ACL_STREAM_FAST_LAUNCH     0x00000001u
#define ACL_STREAM_FAST_SYNC       0x00000002u
#define ACL_STREAM_PERSISTENT      0x00000004u
#define ACL_STREAM_HUGE            0x00000008u
#define ACL_STREAM_CPU_SCHEDULE    0x00000010u
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020u

// Flags of aclrtCreateEventWithFlag.
#define ACL_EVENT_SYNC                    0x00000001u
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002u
#define ACL_EVENT_TIME_LINE               0x00000008u
#define ACL_EVENT_DEVICE_USE_ONLY         0x00000010u
#define ACL_EVENT_EXTERNAL                0x00000020u
#define ACL_EVENT_IPC                     0x00000040u

// Modes of aclrtSetStreamFailureMode.
#define ACL_CONTINUE_ON_FAILURE 0u
#define ACL_STOP_ON_FAILURE     1u

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclrtBinary;
typedef void* aclrtBinHandle;
typedef void* aclrtFuncHandle;
typedef void* aclrtArgsHandle;
typedef void* aclrtParamHandle;
typedef void* aclrtDrvMemHandle;
typedef void* aclmdlRI;
typedef void* aclmdlRITask;

typedef struct tagRtGroupInfo             aclrtGroupInfo;
typedef struct rtExceptionInfo            aclrtExceptionInfo;
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;

typedef enum aclrtRunMode
{
    ACL_DEVICE = 0,
    ACL_HOST   = 1,
} aclrtRunMode;

typedef enum aclrtMemMallocPolicy
{
    ACL_MEM_MALLOC_HUGE_FIRST          = 0,
    ACL_MEM_MALLOC_HUGE_ONLY           = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY         = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P      = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P       = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P     = 5,
    ACL_MEM_MALLOC_HUGE1G_ONLY         = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P     = 7,
    ACL_MEM_TYPE_LOW_BAND_WIDTH        = 0x100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH       = 0x1000,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000,
} aclrtMemMallocPolicy;

typedef enum aclrtMemcpyKind
{
    ACL_MEMCPY_HOST_TO_HOST           = 0,
    ACL_MEMCPY_HOST_TO_DEVICE         = 1,
    ACL_MEMCPY_DEVICE_TO_HOST         = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE       = 3,
    ACL_MEMCPY_DEFAULT                = 4,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE  = 5,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7,
} aclrtMemcpyKind;

typedef enum aclrtMemAttr
{
    ACL_DDR_MEM            = 0,
    ACL_HBM_MEM            = 1,
    ACL_DDR_MEM_HUGE       = 2,
    ACL_DDR_MEM_NORMAL     = 3,
    ACL_HBM_MEM_HUGE       = 4,
    ACL_HBM_MEM_NORMAL     = 5,
    ACL_DDR_MEM_P2P_HUGE   = 6,
    ACL_DDR_MEM_P2P_NORMAL = 7,
    ACL_HBM_MEM_P2P_HUGE   = 8,
    ACL_HBM_MEM_P2P_NORMAL = 9,
    ACL_HBM_MEM_HUGE1G     = 10,
    ACL_HBM_MEM_P2P_HUGE1G = 11,
    ACL_MEM_NORMAL         = 12,
    ACL_MEM_HUGE           = 13,
    ACL_MEM_HUGE1G         = 14,
    ACL_MEM_P2P_NORMAL     = 15,
    ACL_MEM_P2P_HUGE       = 16,
    ACL_MEM_P2P_HUGE1G     = 17,
} aclrtMemAttr;

typedef enum aclrtEventStatus
{
    ACL_EVENT_STATUS_COMPLETE  = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED  = 2,
} aclrtEventStatus;

// Here 1 is complete, unlike in aclrtEventStatus.
typedef enum aclrtEventRecordedStatus
{
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE  = 1,
} aclrtEventRecordedStatus;

typedef enum aclrtEventWaitStatus
{
    ACL_EVENT_WAIT_STATUS_COMPLETE  = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED  = 0xFFFF,
} aclrtEventWaitStatus;

typedef enum aclrtStreamStatus
{
    ACL_STREAM_STATUS_COMPLETE  = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED  = 0xFFFF,
} aclrtStreamStatus;

typedef enum aclrtCallbackBlockType
{
    ACL_CALLBACK_NO_BLOCK = 0,
    ACL_CALLBACK_BLOCK    = 1,
} aclrtCallbackBlockType;

typedef enum aclrtDeviceStatus
{
    ACL_RT_DEVICE_STATUS_NORMAL   = 0,
    ACL_RT_DEVICE_STATUS_ABNORMAL = 1,
    ACL_RT_DEVICE_STATUS_END      = 0xFFFF,
} aclrtDeviceStatus;

typedef enum aclrtLastErrLevel
{
    ACL_RT_THREAD_LEVEL = 0,
} aclrtLastErrLevel;

typedef enum aclrtTsId
{
    ACL_TS_ID_AICORE   = 0,
    ACL_TS_ID_AIVECTOR = 1,
    ACL_TS_ID_RESERVED = 2,
} aclrtTsId;

typedef enum aclrtFloatOverflowMode
{
    ACL_RT_OVERFLOW_MODE_SATURATION = 0,
    ACL_RT_OVERFLOW_MODE_INFNAN     = 1,
    ACL_RT_OVERFLOW_MODE_UNDEF      = 2,
} aclrtFloatOverflowMode;

typedef enum aclrtDevAttr
{
    ACL_DEV_ATTR_AICPU_CORE_NUM        = 1,
    ACL_DEV_ATTR_AICORE_CORE_NUM       = 101,
    ACL_DEV_ATTR_CUBE_CORE_NUM         = 102,
    ACL_DEV_ATTR_VECTOR_CORE_NUM       = 201,
    ACL_DEV_ATTR_WARP_SIZE             = 202,
    ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
    ACL_DEV_ATTR_L2_CACHE_SIZE         = 302,
    ACL_DEV_ATTR_PHY_CHIP_ID           = 402,
    ACL_DEV_ATTR_IS_VIRTUAL            = 501,
    ACL_DEV_ATTR_NPU_ARCH              = 601,
} aclrtDevAttr;

typedef enum aclCANNPackageName
{
    ACL_PKG_NAME_CANN       = 0,
    ACL_PKG_NAME_RUNTIME    = 1,
    ACL_PKG_NAME_COMPILER   = 2,
    ACL_PKG_NAME_HCCL       = 3,
    ACL_PKG_NAME_TOOLKIT    = 4,
    ACL_PKG_NAME_OPP        = 5,
    ACL_PKG_NAME_OPP_KERNEL = 6,
    ACL_PKG_NAME_DRIVER     = 7,
} aclCANNPackageName;

typedef enum aclRegisterCallbackType
{
    ACL_REG_TYPE_ACL_MODEL       = 0,
    ACL_REG_TYPE_ACL_OP_EXECUTOR = 1,
    ACL_REG_TYPE_ACL_OP_CBLAS    = 2,
    ACL_REG_TYPE_ACL_OP_COMPILER = 3,
    ACL_REG_TYPE_ACL_TDT_CHANNEL = 4,
    ACL_REG_TYPE_ACL_TDT_QUEUE   = 5,
    ACL_REG_TYPE_ACL_DVPP        = 6,
    ACL_REG_TYPE_ACL_RETR        = 7,
    ACL_REG_TYPE_OTHER           = 0xFFFF,
} aclRegisterCallbackType;

typedef struct aclCANNPackageVersion
{
    char version[ACL_PKG_VERSION_MAX_SIZE];
    char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

// Percentages; -1: not known.
typedef struct aclrtUtilizationInfo
{
    int32_t cubeUtilization;
    int32_t vectorUtilization;
    int32_t aicpuUtilization;
    int32_t memoryUtilization;
    void*   utilizationExtend;
} aclrtUtilizationInfo;

typedef struct aclrtStreamConfigHandle
{
    void*    workptr;
    size_t   workSize;
    size_t   flag;
    uint32_t priority;
} aclrtStreamConfigHandle;

typedef union aclrtMallocAttributeValue
{
    uint16_t u16;
    uint32_t u32;
    uint8_t  u8[8];
} aclrtMallocAttributeValue;

typedef struct aclrtMallocAttribute
{
    int                       attr;
    aclrtMallocAttributeValue value;
} aclrtMallocAttribute;

typedef struct aclrtMallocConfig
{
    aclrtMallocAttribute* attrs;
    size_t                numAttrs;
} aclrtMallocConfig;

typedef struct aclrtPtrLocation
{
    uint32_t id;
    int      type;  // 0 host, 1 device, 2 unregistered, 3 managed, 4 NUMA node of the host
} aclrtPtrLocation;

typedef struct aclrtPtrAttributes
{
    aclrtPtrLocation location;
    uint32_t         pageSize;
    uint32_t         rsv[4];
} aclrtPtrAttributes;

typedef struct aclrtMemUsageInfo
{
    char     name[32];
    uint64_t curMemSize;
    uint64_t memPeakSize;
    size_t   reserved[8];
} aclrtMemUsageInfo;

typedef void (*aclrtCallback)(void* userData);
typedef void (*aclrtHostFunc)(void* args);
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo* exceptionInfo);
typedef aclError (*aclInitCallbackFunc)(const char* configStr, size_t len, void* userData);
typedef aclError (*aclFinalizeCallbackFunc)(void* userData);

// Init.

// configPath: a JSON file; NULL or "" for none. A repeated call counts and returns
// ACL_ERROR_REPEAT_INITIALIZE.
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
// Ends all calls of aclInit.
ACL_FUNC_VISIBILITY aclError aclFinalize();
// Ends one call of aclInit.
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

// Dump of models that are loaded between aclmdlInitDump and aclmdlFinalizeDump.

ACL_FUNC_VISIBILITY aclError aclmdlInitDump();
// dumpCfgPath: a JSON file with a "dump" section. It acts on models loaded afterwards.
ACL_FUNC_VISIBILITY aclError aclmdlSetDump(const char* dumpCfgPath);
ACL_FUNC_VISIBILITY aclError aclmdlFinalizeDump();

// Errors.

// Returns the messages since the last call, newest first, or NULL. Valid until the next call.
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg();

// The last runtime code of the thread; Get clears it, Peek does not.
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);
ACL_FUNC_VISIBILITY aclError
aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback);
ACL_FUNC_VISIBILITY aclError
aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback);

// No exception is ever reported: these return 0xFFFFFFFF.
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info);

// Versions.

// Deprecated.
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch);
// versionStr has ACL_PKG_VERSION_MAX_SIZE bytes.
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char* pkgName, char* versionStr);
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum);
// Deprecated.
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName     name,
                                                  aclCANNPackageVersion* version);

// Devices.

ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);
// Ends all calls of aclrtSetDevice.
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);
// timeout: milliseconds, -1 for none.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtQueryDeviceStatus(int32_t            deviceId,
                                                    aclrtDeviceStatus* deviceStatus);
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceUtilizationRate(int32_t               deviceId,
                                                           aclrtUtilizationInfo* info);
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceInfo(uint32_t     deviceId,
                                                aclrtDevAttr attr,
                                                int64_t*     value);
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer,
                                                      int32_t  deviceId,
                                                      int32_t  peerDeviceId);

// Contexts. Creating one, or setting a device, makes it current in the thread.

ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);
// flags may be NULL. active: 0 or 1.
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t   deviceId,
                                                     uint32_t* flags,
                                                     int32_t*  active);

// Options are stored and have no effect.
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt option, int64_t* value);
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t* value);

// Streams. Timeouts are in milliseconds, -1 for none.

ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream,
                                                         uint32_t     priority,
                                                         uint32_t     flag);
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);
// Drops queued work.
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);
// Returns the first error of the stream's work.
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream,
                                                               int32_t     timeout);
// ACL_STOP_ON_FAILURE: work after a failure is skipped, and every synchronization returns the
// failure, until the mode is ACL_CONTINUE_ON_FAILURE again.
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
// The id is part of the names of dump files.
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t* streamCount);

// Timeouts of operators are accepted, and have no effect. 0 means the longest.
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t seconds);
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t seconds);
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t milliseconds);
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutV2(uint64_t  microseconds,
                                                        uint64_t* actualMicroseconds);

// Events.

ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
// Deprecated.
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent                event,
                                                   aclrtEventRecordedStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent            event,
                                                       aclrtEventWaitStatus* status);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);
// Milliseconds.
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float*     elapsed,
                                                   aclrtEvent start,
                                                   aclrtEvent end);
// Microseconds.
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp);

// Callbacks. threadId is the pthread_self() of a thread that loops on aclrtProcessReport.

ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback          fn,
                                                 void*                  userData,
                                                 aclrtCallbackBlockType blockType,
                                                 aclrtStream            stream);
// timeout: milliseconds, -1 for none.
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);
// Needs no thread of the program.
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream   stream,
                                                 aclrtHostFunc fn,
                                                 void*         args);

// Memory. Addresses are multiples of 64.

ACL_FUNC_VISIBILITY aclError aclrtMalloc(void**               devPtr,
                                         size_t               size,
                                         aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void**               devPtr,
                                                size_t               size,
                                                aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void**               devPtr,
                                               size_t               size,
                                               aclrtMemMallocPolicy policy);
// cfg may be NULL.
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(void**               devPtr,
                                                size_t               size,
                                                aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig*   cfg);
// Frees at once; aclrtFreeWithDevSync waits for the device first.
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void* devPtr);
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void* hostPtr);

ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void*           dst,
                                         size_t          destMax,
                                         const void*     src,
                                         size_t          count,
                                         aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void*           dst,
                                              size_t          destMax,
                                              const void*     src,
                                              size_t          count,
                                              aclrtMemcpyKind kind,
                                              aclrtStream     stream);
ACL_FUNC_VISIBILITY aclError aclrtMemset(void*   devPtr,
                                         size_t  maxCount,
                                         int32_t value,
                                         size_t  count);
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void*       devPtr,
                                              size_t      maxCount,
                                              int32_t     value,
                                              size_t      count,
                                              aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void*           dst,
                                           size_t          dpitch,
                                           const void*     src,
                                           size_t          spitch,
                                           size_t          width,
                                           size_t          height,
                                           aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void*           dst,
                                                size_t          dpitch,
                                                const void*     src,
                                                size_t          spitch,
                                                size_t          width,
                                                size_t          height,
                                                aclrtMemcpyKind kind,
                                                aclrtStream     stream);
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr,
                                             size_t*      freeSize,
                                             size_t*      totalSize);

// Memory is coherent: these do nothing.
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void* devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void* devPtr, size_t size);

// Not supported: ACL_ERROR_FEATURE_UNSUPPORTED.

ACL_FUNC_VISIBILITY aclError aclInitCallbackRegister(aclRegisterCallbackType type,
                                                     aclInitCallbackFunc     func,
                                                     void*                   userData);
ACL_FUNC_VISIBILITY aclError aclInitCallbackUnRegister(aclRegisterCallbackType type,
                                                       aclInitCallbackFunc     func);
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type,
                                                         aclFinalizeCallbackFunc func,
                                                         void*                   userData);
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type,
                                                           aclFinalizeCallbackFunc func);
ACL_FUNC_VISIBILITY aclError aclrtSetTsDevice(aclrtTsId tsId);
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void);  // NULL
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(aclrtStream*                   stream,
                                                 const aclrtStreamConfigHandle* handle);
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void**             hostPtr,
                                                    uint64_t           size,
                                                    aclrtMallocConfig* cfg);
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void*         ptr,
                                                       aclrtPtrAttributes* attributes);
// Deprecated.
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void*           dst,
                                                           size_t          destMax,
                                                           const void*     src,
                                                           size_t          count,
                                                           aclrtMemcpyKind kind,
                                                           aclrtStream     stream);
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(int32_t            deviceId,
                                                  aclrtMemUsageInfo* info,
                                                  size_t             inputNum,
                                                  size_t*            outputNum);
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void*    hostPtr,
                                               uint64_t size,
                                               int      type,
                                               void**   devPtr);
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void* hostPtr);

#ifdef __cplusplus
}
#endif

#endif
