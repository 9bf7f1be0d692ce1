// Asserts the sizes, offsets, numbers and signatures of the headers. Valid as C11 and as C++17.
#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_prof.h"
#include "acl/ops/acl_dvpp.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#include <type_traits>
#define ALIGNMENT(type) alignof(type)
#define CHECK(condition) static_assert(condition, #condition)
#define SAME(expression, type) CHECK((std::is_same<decltype(expression), type>::value))
#define SAME_TYPE(first, ...) CHECK((std::is_same<first, __VA_ARGS__>::value))
#define FIELD_TYPE(owner, field, ...)                                                              \
    CHECK((std::is_same<decltype(owner::field), __VA_ARGS__>::value))
// A constant of C is not a constant expression, so C compares at run time.
#define CONSTANT(name, type, number)                                                               \
    SAME(&(name), const type*);                                                                    \
    CHECK((name) == (number));
#else
#define ALIGNMENT(type) _Alignof(type)
#define CHECK(condition) _Static_assert(condition, #condition)
#define SAME(expression, type) CHECK(_Generic((expression), type : 1, default : 0))
#define SAME_TYPE(first, ...) CHECK(_Generic((first*) 0, __VA_ARGS__* : 1, default : 0))
#define FIELD_TYPE(owner, field, ...)                                                              \
    CHECK(_Generic(&((owner*) 0)->field, __VA_ARGS__* : 1, default : 0))
#define CONSTANT(name, type, number)                                                               \
    SAME(&(name), const type*);                                                                    \
    if ((name) != (number)) { return 1; }
#endif

#define SIZE(type, bytes) CHECK(sizeof(type) == (bytes))
#define FIELD(owner, field, offset, ...)                                                           \
    CHECK(offsetof(owner, field) == (offset));                                                     \
    FIELD_TYPE(owner, field, __VA_ARGS__)
#define ARRAY(owner, field, offset, element, count)                                                \
    CHECK(offsetof(owner, field) == (offset));                                                     \
    CHECK(sizeof(((owner*) 0)->field) == (count) * sizeof(element));                               \
    SAME(&((owner*) 0)->field[0], element*)
#define TABLE(owner, field, offset, element, rows, columns)                                        \
    CHECK(offsetof(owner, field) == (offset));                                                     \
    CHECK(sizeof(((owner*) 0)->field) == (rows) * (columns) * sizeof(element));                    \
    SAME(&((owner*) 0)->field[0][0], element*)
#define VALUE(name, number) CHECK((int) (name) == (number))
#define FUNCTION(name, result, parameters)                                                         \
    typedef result(*name##_signature) parameters;                                                  \
    SAME(&name, name##_signature)
#define CALL(name, parameters) FUNCTION(name, aclError, parameters)

// Macros.

VALUE(ACL_MAX_DIM_CNT, 128);
VALUE(ACL_MAX_TENSOR_NAME_LEN, 128);
VALUE(ACL_MAX_BATCH_NUM, 128);
VALUE(ACL_MAX_HW_NUM, 128);
VALUE(ACL_MAX_SHAPE_COUNT, 128);
VALUE(ACL_DIM_ENDPOINTS, 2);
CHECK(ACL_INVALID_NODE_INDEX == 0xFFFFFFFF);
VALUE(ACL_TENSOR_SHAPE_RANGE_NUM, 2);
VALUE(ACL_TENSOR_VALUE_RANGE_NUM, 2);
CHECK(ACL_UNKNOWN_RANK == 0xFFFFFFFFFFFFFFFE);
VALUE(ACL_MDL_LOAD_FROM_FILE, 1);
VALUE(ACL_MDL_LOAD_FROM_FILE_WITH_MEM, 2);
VALUE(ACL_MDL_LOAD_FROM_MEM, 3);
VALUE(ACL_MDL_LOAD_FROM_MEM_WITH_MEM, 4);
VALUE(ACL_MDL_LOAD_FROM_FILE_WITH_Q, 5);
VALUE(ACL_MDL_LOAD_FROM_MEM_WITH_Q, 6);
VALUE(ACL_WORKSPACE_MEM_OPTIMIZE_DEFAULT, 0);
VALUE(ACL_WORKSPACE_MEM_OPTIMIZE_INPUTOUTPUT, 1);
VALUE(ACL_MAJOR_VERSION, 1);
VALUE(ACL_MINOR_VERSION, 17);
VALUE(ACL_PATCH_VERSION, 0);
VALUE(ACL_PKG_VERSION_MAX_SIZE, 128);
VALUE(ACL_PKG_VERSION_PARTS_MAX_SIZE, 64);
VALUE(ACL_STREAM_FAST_LAUNCH, 1);
VALUE(ACL_STREAM_FAST_SYNC, 2);
VALUE(ACL_STREAM_PERSISTENT, 4);
VALUE(ACL_STREAM_HUGE, 8);
VALUE(ACL_STREAM_CPU_SCHEDULE, 0x10);
VALUE(ACL_STREAM_DEVICE_USE_ONLY, 0x20);
VALUE(ACL_EVENT_SYNC, 1);
VALUE(ACL_EVENT_CAPTURE_STREAM_PROGRESS, 2);
VALUE(ACL_EVENT_TIME_LINE, 8);
VALUE(ACL_EVENT_DEVICE_USE_ONLY, 0x10);
VALUE(ACL_EVENT_EXTERNAL, 0x20);
VALUE(ACL_EVENT_IPC, 0x40);
VALUE(ACL_CONTINUE_ON_FAILURE, 0);
VALUE(ACL_STOP_ON_FAILURE, 1);
VALUE(ACL_DUMP_MAX_FILE_PATH_LENGTH, 4096);
VALUE(ACL_DUMP_MAX_SHAPE_NUM, 25);
CHECK(ACL_OP_DUMP_OP_AICORE_ARGS == 1u);
SAME(ACL_OP_DUMP_OP_AICORE_ARGS, unsigned);

// Error codes that are macros.

VALUE(ACL_RT_SUCCESS, 0);
VALUE(ACL_ERROR_RT_PARAM_INVALID, 107000);
VALUE(ACL_ERROR_RT_INVALID_DEVICEID, 107001);
VALUE(ACL_ERROR_RT_CONTEXT_NULL, 107002);
VALUE(ACL_ERROR_RT_STREAM_CONTEXT, 107003);
VALUE(ACL_ERROR_RT_MODEL_CONTEXT, 107004);
VALUE(ACL_ERROR_RT_STREAM_MODEL, 107005);
VALUE(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, 107006);
VALUE(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, 107007);
VALUE(ACL_ERROR_RT_ADDR_UNALIGNED, 107008);
VALUE(ACL_ERROR_RT_FILE_OPEN, 107009);
VALUE(ACL_ERROR_RT_FILE_WRITE, 107010);
VALUE(ACL_ERROR_RT_STREAM_SUBSCRIBE, 107011);
VALUE(ACL_ERROR_RT_THREAD_SUBSCRIBE, 107012);
VALUE(ACL_ERROR_RT_GROUP_NOT_SET, 107013);
VALUE(ACL_ERROR_RT_GROUP_NOT_CREATE, 107014);
VALUE(ACL_ERROR_RT_STREAM_NO_CB_REG, 107015);
VALUE(ACL_ERROR_RT_INVALID_MEMORY_TYPE, 107016);
VALUE(ACL_ERROR_RT_INVALID_HANDLE, 107017);
VALUE(ACL_ERROR_RT_INVALID_MALLOC_TYPE, 107018);
VALUE(ACL_ERROR_RT_WAIT_TIMEOUT, 107019);
VALUE(ACL_ERROR_RT_TASK_TIMEOUT, 107020);
VALUE(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, 107021);
VALUE(ACL_ERROR_RT_DEVICE_TASK_ABORT, 107022);
VALUE(ACL_ERROR_RT_STREAM_ABORT, 107023);
VALUE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 207000);
VALUE(ACL_ERROR_RT_MEMORY_ALLOCATION, 207001);
VALUE(ACL_ERROR_RT_MEMORY_FREE, 207002);
VALUE(ACL_ERROR_RT_AICORE_OVER_FLOW, 207003);
VALUE(ACL_ERROR_RT_NO_DEVICE, 207004);
VALUE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, 207005);
VALUE(ACL_ERROR_RT_NO_PERMISSION, 207006);
VALUE(ACL_ERROR_RT_NO_EVENT_RESOURCE, 207007);
VALUE(ACL_ERROR_RT_NO_STREAM_RESOURCE, 207008);
VALUE(ACL_ERROR_RT_NO_MODEL_RESOURCE, 207010);
VALUE(ACL_ERROR_RT_INTERNAL_ERROR, 507000);
VALUE(ACL_ERROR_RT_STREAM_NOT_COMPLETE, 507004);
VALUE(ACL_ERROR_RT_EVENT_NOT_COMPLETE, 507006);
VALUE(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, 507007);
VALUE(ACL_ERROR_RT_MODEL_EXECUTE, 507011);
VALUE(ACL_ERROR_RT_REPORT_TIMEOUT, 507012);
VALUE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);
VALUE(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, 507047);
VALUE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, 507899);

// Enums.

SIZE(aclDataType, 4);
VALUE(ACL_DT_UNDEFINED, -1);
VALUE(ACL_FLOAT, 0);
VALUE(ACL_FLOAT16, 1);
VALUE(ACL_INT8, 2);
VALUE(ACL_INT32, 3);
VALUE(ACL_UINT8, 4);
VALUE(ACL_INT16, 6);
VALUE(ACL_UINT16, 7);
VALUE(ACL_UINT32, 8);
VALUE(ACL_INT64, 9);
VALUE(ACL_UINT64, 10);
VALUE(ACL_DOUBLE, 11);
VALUE(ACL_BOOL, 12);
VALUE(ACL_STRING, 13);
VALUE(ACL_COMPLEX64, 16);
VALUE(ACL_COMPLEX128, 17);
VALUE(ACL_BF16, 27);
VALUE(ACL_INT4, 29);
VALUE(ACL_UINT1, 30);
VALUE(ACL_COMPLEX32, 33);
VALUE(ACL_HIFLOAT8, 34);
VALUE(ACL_FLOAT8_E5M2, 35);
VALUE(ACL_FLOAT8_E4M3FN, 36);
VALUE(ACL_FLOAT8_E8M0, 37);
VALUE(ACL_FLOAT6_E3M2, 38);
VALUE(ACL_FLOAT6_E2M3, 39);
VALUE(ACL_FLOAT4_E2M1, 40);
VALUE(ACL_FLOAT4_E1M2, 41);

SIZE(aclFormat, 4);
VALUE(ACL_FORMAT_UNDEFINED, -1);
VALUE(ACL_FORMAT_NCHW, 0);
VALUE(ACL_FORMAT_NHWC, 1);
VALUE(ACL_FORMAT_ND, 2);
VALUE(ACL_FORMAT_NC1HWC0, 3);
VALUE(ACL_FORMAT_FRACTAL_Z, 4);
VALUE(ACL_FORMAT_NC1HWC0_C04, 12);
VALUE(ACL_FORMAT_HWCN, 16);
VALUE(ACL_FORMAT_NDHWC, 27);
VALUE(ACL_FORMAT_FRACTAL_NZ, 29);
VALUE(ACL_FORMAT_NCDHW, 30);
VALUE(ACL_FORMAT_NDC1HWC0, 32);
VALUE(ACL_FRACTAL_Z_3D, 33);
VALUE(ACL_FORMAT_NC, 35);
VALUE(ACL_FORMAT_NCL, 47);
VALUE(ACL_FORMAT_FRACTAL_NZ_C0_16, 50);
VALUE(ACL_FORMAT_FRACTAL_NZ_C0_32, 51);
VALUE(ACL_FORMAT_FRACTAL_NZ_C0_2, 52);
VALUE(ACL_FORMAT_FRACTAL_NZ_C0_4, 53);
VALUE(ACL_FORMAT_FRACTAL_NZ_C0_8, 54);

SIZE(aclrtMemMallocPolicy, 4);
VALUE(ACL_MEM_MALLOC_HUGE_FIRST, 0);
VALUE(ACL_MEM_MALLOC_HUGE_ONLY, 1);
VALUE(ACL_MEM_MALLOC_NORMAL_ONLY, 2);
VALUE(ACL_MEM_MALLOC_HUGE_FIRST_P2P, 3);
VALUE(ACL_MEM_MALLOC_HUGE_ONLY_P2P, 4);
VALUE(ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 5);
VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY, 6);
VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7);
VALUE(ACL_MEM_TYPE_LOW_BAND_WIDTH, 0x100);
VALUE(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000);
VALUE(ACL_MEM_ACCESS_USER_SPACE_READONLY, 0x100000);

SIZE(aclrtMemcpyKind, 4);
VALUE(ACL_MEMCPY_HOST_TO_HOST, 0);
VALUE(ACL_MEMCPY_HOST_TO_DEVICE, 1);
VALUE(ACL_MEMCPY_DEVICE_TO_HOST, 2);
VALUE(ACL_MEMCPY_DEVICE_TO_DEVICE, 3);
VALUE(ACL_MEMCPY_DEFAULT, 4);
VALUE(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, 5);
VALUE(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, 6);
VALUE(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7);

SIZE(aclrtRunMode, 4);
VALUE(ACL_DEVICE, 0);
VALUE(ACL_HOST, 1);

SIZE(aclrtMemAttr, 4);
VALUE(ACL_DDR_MEM, 0);
VALUE(ACL_HBM_MEM, 1);
VALUE(ACL_DDR_MEM_HUGE, 2);
VALUE(ACL_DDR_MEM_NORMAL, 3);
VALUE(ACL_HBM_MEM_HUGE, 4);
VALUE(ACL_HBM_MEM_NORMAL, 5);
VALUE(ACL_DDR_MEM_P2P_HUGE, 6);
VALUE(ACL_DDR_MEM_P2P_NORMAL, 7);
VALUE(ACL_HBM_MEM_P2P_HUGE, 8);
VALUE(ACL_HBM_MEM_P2P_NORMAL, 9);
VALUE(ACL_HBM_MEM_HUGE1G, 10);
VALUE(ACL_HBM_MEM_P2P_HUGE1G, 11);
VALUE(ACL_MEM_NORMAL, 12);
VALUE(ACL_MEM_HUGE, 13);
VALUE(ACL_MEM_HUGE1G, 14);
VALUE(ACL_MEM_P2P_NORMAL, 15);
VALUE(ACL_MEM_P2P_HUGE, 16);
VALUE(ACL_MEM_P2P_HUGE1G, 17);

SIZE(aclrtEventStatus, 4);
VALUE(ACL_EVENT_STATUS_COMPLETE, 0);
VALUE(ACL_EVENT_STATUS_NOT_READY, 1);
VALUE(ACL_EVENT_STATUS_RESERVED, 2);

SIZE(aclrtEventRecordedStatus, 4);
VALUE(ACL_EVENT_RECORDED_STATUS_NOT_READY, 0);
VALUE(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1);

SIZE(aclrtEventWaitStatus, 4);
VALUE(ACL_EVENT_WAIT_STATUS_COMPLETE, 0);
VALUE(ACL_EVENT_WAIT_STATUS_NOT_READY, 1);
VALUE(ACL_EVENT_WAIT_STATUS_RESERVED, 0xFFFF);

SIZE(aclrtStreamStatus, 4);
VALUE(ACL_STREAM_STATUS_COMPLETE, 0);
VALUE(ACL_STREAM_STATUS_NOT_READY, 1);
VALUE(ACL_STREAM_STATUS_RESERVED, 0xFFFF);

SIZE(aclrtCallbackBlockType, 4);
VALUE(ACL_CALLBACK_NO_BLOCK, 0);
VALUE(ACL_CALLBACK_BLOCK, 1);

SIZE(aclrtDeviceStatus, 4);
VALUE(ACL_RT_DEVICE_STATUS_NORMAL, 0);
VALUE(ACL_RT_DEVICE_STATUS_ABNORMAL, 1);
VALUE(ACL_RT_DEVICE_STATUS_END, 0xFFFF);

SIZE(aclrtLastErrLevel, 4);
VALUE(ACL_RT_THREAD_LEVEL, 0);

SIZE(aclrtTsId, 4);
VALUE(ACL_TS_ID_AICORE, 0);
VALUE(ACL_TS_ID_AIVECTOR, 1);
VALUE(ACL_TS_ID_RESERVED, 2);

SIZE(aclrtFloatOverflowMode, 4);
VALUE(ACL_RT_OVERFLOW_MODE_SATURATION, 0);
VALUE(ACL_RT_OVERFLOW_MODE_INFNAN, 1);
VALUE(ACL_RT_OVERFLOW_MODE_UNDEF, 2);

SIZE(aclLogLevel, 4);
VALUE(ACL_DEBUG, 0);
VALUE(ACL_INFO, 1);
VALUE(ACL_WARNING, 2);
VALUE(ACL_ERROR, 3);

SIZE(aclMemType, 4);
VALUE(ACL_MEMTYPE_DEVICE, 0);
VALUE(ACL_MEMTYPE_HOST, 1);
VALUE(ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT, 2);

SIZE(aclSysParamOpt, 4);
VALUE(ACL_OPT_DETERMINISTIC, 0);
VALUE(ACL_OPT_ENABLE_DEBUG_KERNEL, 1);
VALUE(ACL_OPT_STRONG_CONSISTENCY, 2);
VALUE(ACL_OPT_ENABLE_KERNEL_EARLY_START, 3);

SIZE(aclCannAttr, 4);
VALUE(ACL_CANN_ATTR_UNDEFINED, -1);
VALUE(ACL_CANN_ATTR_INF_NAN, 0);
VALUE(ACL_CANN_ATTR_BF16, 1);
VALUE(ACL_CANN_ATTR_JIT_COMPILE, 2);

SIZE(aclDeviceInfo, 4);
VALUE(ACL_DEVICE_INFO_UNDEFINED, -1);
VALUE(ACL_DEVICE_INFO_AI_CORE_NUM, 0);
VALUE(ACL_DEVICE_INFO_VECTOR_CORE_NUM, 1);
VALUE(ACL_DEVICE_INFO_L2_SIZE, 2);

SIZE(aclrtDevAttr, 4);
VALUE(ACL_DEV_ATTR_AICPU_CORE_NUM, 1);
VALUE(ACL_DEV_ATTR_AICORE_CORE_NUM, 101);
VALUE(ACL_DEV_ATTR_CUBE_CORE_NUM, 102);
VALUE(ACL_DEV_ATTR_VECTOR_CORE_NUM, 201);
VALUE(ACL_DEV_ATTR_WARP_SIZE, 202);
VALUE(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, 301);
VALUE(ACL_DEV_ATTR_L2_CACHE_SIZE, 302);
VALUE(ACL_DEV_ATTR_PHY_CHIP_ID, 402);
VALUE(ACL_DEV_ATTR_IS_VIRTUAL, 501);
VALUE(ACL_DEV_ATTR_NPU_ARCH, 601);

SIZE(aclmdlConfigAttr, 4);
VALUE(ACL_MDL_PRIORITY_INT32, 0);
VALUE(ACL_MDL_LOAD_TYPE_SIZET, 1);
VALUE(ACL_MDL_PATH_PTR, 2);
VALUE(ACL_MDL_MEM_ADDR_PTR, 3);
VALUE(ACL_MDL_MEM_SIZET, 4);
VALUE(ACL_MDL_WEIGHT_ADDR_PTR, 5);
VALUE(ACL_MDL_WEIGHT_SIZET, 6);
VALUE(ACL_MDL_WORKSPACE_ADDR_PTR, 7);
VALUE(ACL_MDL_WORKSPACE_SIZET, 8);
VALUE(ACL_MDL_INPUTQ_NUM_SIZET, 9);
VALUE(ACL_MDL_INPUTQ_ADDR_PTR, 10);
VALUE(ACL_MDL_OUTPUTQ_NUM_SIZET, 11);
VALUE(ACL_MDL_OUTPUTQ_ADDR_PTR, 12);
VALUE(ACL_MDL_WORKSPACE_MEM_OPTIMIZE, 13);
VALUE(ACL_MDL_WEIGHT_PATH_PTR, 14);
VALUE(ACL_MDL_MODEL_DESC_PTR, 15);
VALUE(ACL_MDL_MODEL_DESC_SIZET, 16);
VALUE(ACL_MDL_KERNEL_PTR, 17);
VALUE(ACL_MDL_KERNEL_SIZET, 18);
VALUE(ACL_MDL_KERNEL_ARGS_PTR, 19);
VALUE(ACL_MDL_KERNEL_ARGS_SIZET, 20);
VALUE(ACL_MDL_STATIC_TASK_PTR, 21);
VALUE(ACL_MDL_STATIC_TASK_SIZET, 22);
VALUE(ACL_MDL_DYNAMIC_TASK_PTR, 23);
VALUE(ACL_MDL_DYNAMIC_TASK_SIZET, 24);
VALUE(ACL_MDL_MEM_MALLOC_POLICY_SIZET, 25);
VALUE(ACL_MDL_FIFO_PTR, 26);
VALUE(ACL_MDL_FIFO_SIZET, 27);
VALUE(ACL_MDL_WITHOUT_GRAPH_INT32, 28);
VALUE(ACL_NPU_PERF_MODE, 29);
VALUE(ACL_MDL_RESERVED, 0xFFFF);

SIZE(aclmdlExecConfigAttr, 4);
VALUE(ACL_MDL_STREAM_SYNC_TIMEOUT, 0);
VALUE(ACL_MDL_EVENT_SYNC_TIMEOUT, 1);
VALUE(ACL_MDL_WORK_ADDR_PTR, 2);
VALUE(ACL_MDL_WORK_SIZET, 3);
VALUE(ACL_MDL_MPAIMID_SIZET, 4);
VALUE(ACL_MDL_AICQOS_SIZET, 5);
VALUE(ACL_MDL_AICOST_SIZET, 6);
VALUE(ACL_MDL_MEC_TIMETHR_SIZET, 7);
VALUE(ACL_MDL_EXEC_PRIORITY_INT32, 8);
VALUE(ACL_MDL_NPU_PERF_MODE, 9);

SIZE(aclmdlInputAippType, 4);
VALUE(ACL_DATA_WITHOUT_AIPP, 0);
VALUE(ACL_DATA_WITH_STATIC_AIPP, 1);
VALUE(ACL_DATA_WITH_DYNAMIC_AIPP, 2);
VALUE(ACL_DYNAMIC_AIPP_NODE, 3);

SIZE(aclCANNPackageName, 4);
VALUE(ACL_PKG_NAME_CANN, 0);
VALUE(ACL_PKG_NAME_RUNTIME, 1);
VALUE(ACL_PKG_NAME_COMPILER, 2);
VALUE(ACL_PKG_NAME_HCCL, 3);
VALUE(ACL_PKG_NAME_TOOLKIT, 4);
VALUE(ACL_PKG_NAME_OPP, 5);
VALUE(ACL_PKG_NAME_OPP_KERNEL, 6);
VALUE(ACL_PKG_NAME_DRIVER, 7);

SIZE(aclRegisterCallbackType, 4);
VALUE(ACL_REG_TYPE_ACL_MODEL, 0);
VALUE(ACL_REG_TYPE_ACL_OP_EXECUTOR, 1);
VALUE(ACL_REG_TYPE_ACL_OP_CBLAS, 2);
VALUE(ACL_REG_TYPE_ACL_OP_COMPILER, 3);
VALUE(ACL_REG_TYPE_ACL_TDT_CHANNEL, 4);
VALUE(ACL_REG_TYPE_ACL_TDT_QUEUE, 5);
VALUE(ACL_REG_TYPE_ACL_DVPP, 6);
VALUE(ACL_REG_TYPE_ACL_RETR, 7);
VALUE(ACL_REG_TYPE_OTHER, 0xFFFF);

SIZE(acldumpType, 4);
VALUE(AIC_ERR_BRIEF_DUMP, 1);
VALUE(AIC_ERR_NORM_DUMP, 2);
VALUE(AIC_ERR_DETAIL_DUMP, 3);
VALUE(DATA_DUMP, 4);
VALUE(OVERFLOW_DUMP, 5);

// Handles.

SAME_TYPE(aclError, int);
SAME_TYPE(aclFloat16, uint16_t);
SAME_TYPE(aclrtStream, void*);
SAME_TYPE(aclrtEvent, void*);
SAME_TYPE(aclrtContext, void*);
SAME_TYPE(aclrtNotify, void*);
SAME_TYPE(aclrtCntNotify, void*);
SAME_TYPE(aclrtLabel, void*);
SAME_TYPE(aclrtLabelList, void*);
SAME_TYPE(aclrtMbuf, void*);
SAME_TYPE(aclrtTaskGrp, void*);
SAME_TYPE(aclmdlRI, void*);
SAME_TYPE(aclmdlRITask, void*);
SAME_TYPE(aclmdlModel, void*);
SAME_TYPE(aclrtAllocator, void*);
SAME_TYPE(aclrtAllocatorDesc, void*);
SAME_TYPE(aclrtAllocatorBlock, void*);
SAME_TYPE(aclrtAllocatorAddr, void*);
SAME_TYPE(aclrtBinary, void*);
SAME_TYPE(aclrtBinHandle, void*);
SAME_TYPE(aclrtFuncHandle, void*);
SAME_TYPE(aclrtArgsHandle, void*);
SAME_TYPE(aclrtParamHandle, void*);
SAME_TYPE(aclrtDrvMemHandle, void*);
SAME_TYPE(aclDataBuffer, struct aclDataBuffer);
SAME_TYPE(aclTensorDesc, struct aclTensorDesc);
SAME_TYPE(aclmdlDataset, struct aclmdlDataset);
SAME_TYPE(aclmdlDesc, struct aclmdlDesc);
SAME_TYPE(aclmdlConfigHandle, struct aclmdlConfigHandle);
SAME_TYPE(aclmdlExecConfigHandle, struct aclmdlExecConfigHandle);
SAME_TYPE(aclmdlAIPP, struct aclmdlAIPP);
SAME_TYPE(aclmdlBundleQueryInfo, struct aclmdlBundleQueryInfo);
SAME_TYPE(aclAippExtendInfo, struct aclAippExtendInfo);
SAME_TYPE(aclrtUtilizationExtendInfo, struct aclrtUtilizationExtendInfo);
SAME_TYPE(aclOpExecutor, struct aclOpExecutor);
SAME_TYPE(aclrtGroupInfo, struct tagRtGroupInfo);
SAME_TYPE(aclrtExceptionInfo, struct rtExceptionInfo);

// Function types.

typedef void (*callback)(void*);
typedef void (*exception_callback)(struct rtExceptionInfo*);
typedef aclError (*init_callback)(const char*, size_t, void*);
typedef aclError (*finalize_callback)(void*);
SAME_TYPE(aclrtCallback, callback);
SAME_TYPE(aclrtHostFunc, callback);
SAME_TYPE(aclrtExceptionInfoCallback, exception_callback);
SAME_TYPE(aclInitCallbackFunc, init_callback);
SAME_TYPE(aclFinalizeCallbackFunc, finalize_callback);

// Structs.

SIZE(acldumpChunk, 4120);
CHECK(ALIGNMENT(acldumpChunk) == 8);
ARRAY(acldumpChunk, fileName, 0, char, 4096);
FIELD(acldumpChunk, bufLen, 4096, uint32_t);
FIELD(acldumpChunk, isLastChunk, 4100, uint32_t);
FIELD(acldumpChunk, offset, 4104, int64_t);
FIELD(acldumpChunk, flag, 4112, int32_t);
ARRAY(acldumpChunk, dataBuf, 4116, uint8_t, 0);

SIZE(acldumpTensorInfo, 456);
FIELD(acldumpTensorInfo, type, 0, int32_t);
FIELD(acldumpTensorInfo, tensorSize, 8, size_t);
FIELD(acldumpTensorInfo, format, 16, int32_t);
FIELD(acldumpTensorInfo, dataType, 20, int32_t);
FIELD(acldumpTensorInfo, tensorAddr, 24, void*);
FIELD(acldumpTensorInfo, addrType, 32, int32_t);
FIELD(acldumpTensorInfo, placement, 36, int32_t);
FIELD(acldumpTensorInfo, argsOffset, 40, uint32_t);
FIELD(acldumpTensorInfo, shapeNum, 44, uint32_t);
FIELD(acldumpTensorInfo, originShapeNum, 48, uint32_t);
ARRAY(acldumpTensorInfo, shape, 56, uint64_t, 25);
ARRAY(acldumpTensorInfo, originShape, 256, uint64_t, 25);

SIZE(aclmdlIODims, 1160);
ARRAY(aclmdlIODims, name, 0, char, 128);
FIELD(aclmdlIODims, dimCount, 128, size_t);
ARRAY(aclmdlIODims, dims, 136, int64_t, 128);

SIZE(aclmdlIODimsRange, 2056);
FIELD(aclmdlIODimsRange, rangeCount, 0, size_t);
TABLE(aclmdlIODimsRange, range, 8, int64_t, 128, 2);

SIZE(aclmdlBatch, 1032);
FIELD(aclmdlBatch, batchCount, 0, size_t);
ARRAY(aclmdlBatch, batch, 8, uint64_t, 128);

SIZE(aclmdlHW, 2056);
FIELD(aclmdlHW, hwCount, 0, size_t);
TABLE(aclmdlHW, hw, 8, uint64_t, 128, 2);

SIZE(aclmdlExeOMDesc, 128);
FIELD(aclmdlExeOMDesc, workSize, 0, size_t);
FIELD(aclmdlExeOMDesc, weightSize, 8, size_t);
FIELD(aclmdlExeOMDesc, modelDescSize, 16, size_t);
FIELD(aclmdlExeOMDesc, kernelSize, 24, size_t);
FIELD(aclmdlExeOMDesc, kernelArgsSize, 32, size_t);
FIELD(aclmdlExeOMDesc, staticTaskSize, 40, size_t);
FIELD(aclmdlExeOMDesc, dynamicTaskSize, 48, size_t);
FIELD(aclmdlExeOMDesc, fifoTaskSize, 56, size_t);
ARRAY(aclmdlExeOMDesc, reserved, 64, size_t, 8);

SIZE(aclAippDims, 2336);
FIELD(aclAippDims, srcDims, 0, aclmdlIODims);
FIELD(aclAippDims, srcSize, 1160, size_t);
FIELD(aclAippDims, aippOutdims, 1168, aclmdlIODims);
FIELD(aclAippDims, aippOutSize, 2328, size_t);

SIZE(aclCANNPackageVersion, 512);
ARRAY(aclCANNPackageVersion, version, 0, char, 128);
ARRAY(aclCANNPackageVersion, majorVersion, 128, char, 64);
ARRAY(aclCANNPackageVersion, minorVersion, 192, char, 64);
ARRAY(aclCANNPackageVersion, releaseVersion, 256, char, 64);
ARRAY(aclCANNPackageVersion, patchVersion, 320, char, 64);
ARRAY(aclCANNPackageVersion, reserved, 384, char, 128);

SIZE(aclrtUtilizationInfo, 24);
FIELD(aclrtUtilizationInfo, cubeUtilization, 0, int32_t);
FIELD(aclrtUtilizationInfo, vectorUtilization, 4, int32_t);
FIELD(aclrtUtilizationInfo, aicpuUtilization, 8, int32_t);
FIELD(aclrtUtilizationInfo, memoryUtilization, 12, int32_t);
FIELD(aclrtUtilizationInfo, utilizationExtend, 16, void*);

SIZE(aclrtStreamConfigHandle, 32);
FIELD(aclrtStreamConfigHandle, workptr, 0, void*);
FIELD(aclrtStreamConfigHandle, workSize, 8, size_t);
FIELD(aclrtStreamConfigHandle, flag, 16, size_t);
FIELD(aclrtStreamConfigHandle, priority, 24, uint32_t);

SIZE(aclrtMallocAttribute, 12);
FIELD(aclrtMallocAttribute, attr, 0, int);
FIELD(aclrtMallocAttribute, value, 4, aclrtMallocAttributeValue);
SIZE(aclrtMallocAttributeValue, 8);
FIELD(aclrtMallocAttributeValue, u16, 0, uint16_t);
FIELD(aclrtMallocAttributeValue, u32, 0, uint32_t);
ARRAY(aclrtMallocAttributeValue, u8, 0, uint8_t, 8);

SIZE(aclrtMallocConfig, 16);
FIELD(aclrtMallocConfig, attrs, 0, aclrtMallocAttribute*);
FIELD(aclrtMallocConfig, numAttrs, 8, size_t);

SIZE(aclrtPtrAttributes, 28);
FIELD(aclrtPtrAttributes, location.id, 0, uint32_t);
FIELD(aclrtPtrAttributes, location.type, 4, int);
FIELD(aclrtPtrAttributes, pageSize, 8, uint32_t);
ARRAY(aclrtPtrAttributes, rsv, 12, uint32_t, 4);

SIZE(aclrtMemUsageInfo, 112);
ARRAY(aclrtMemUsageInfo, name, 0, char, 32);
FIELD(aclrtMemUsageInfo, curMemSize, 32, uint64_t);
FIELD(aclrtMemUsageInfo, memPeakSize, 40, uint64_t);
ARRAY(aclrtMemUsageInfo, reserved, 48, size_t, 8);

SIZE(aclmdlAttrValue_t, 32);
FIELD(aclmdlAttrValue_t, mdlPriority, 0, uint32_t);
ARRAY(aclmdlAttrValue_t, reserved, 0, uint32_t, 8);

// Init and dump.

CALL(aclInit, (const char*));
CALL(aclFinalize, (void));
CALL(aclFinalizeReference, (uint64_t*));
CALL(aclmdlInitDump, (void));
CALL(aclmdlSetDump, (const char*));
CALL(aclmdlFinalizeDump, (void));
CALL(acldumpRegCallback, (int32_t(*const)(const acldumpChunk*, int32_t), int32_t));
FUNCTION(acldumpUnregCallback, void, (void));
FUNCTION(acldumpGetPath, const char*, (acldumpType));
CALL(aclopStartDumpArgs, (uint32_t, const char*));
CALL(aclopStopDumpArgs, (uint32_t));
CALL(acldumpSaveExceptionInfo, (const char*, const char*, const acldumpTensorInfo*, size_t));
CALL(acldumpGetExceptionInfoPath, (char*, size_t));
CALL(aclInitCallbackRegister, (aclRegisterCallbackType, aclInitCallbackFunc, void*));
CALL(aclInitCallbackUnRegister, (aclRegisterCallbackType, aclInitCallbackFunc));
CALL(aclFinalizeCallbackRegister, (aclRegisterCallbackType, aclFinalizeCallbackFunc, void*));
CALL(aclFinalizeCallbackUnRegister, (aclRegisterCallbackType, aclFinalizeCallbackFunc));

// Errors and versions.

FUNCTION(aclGetRecentErrMsg, const char*, (void));
CALL(aclrtGetLastError, (aclrtLastErrLevel));
CALL(aclrtPeekAtLastError, (aclrtLastErrLevel));
CALL(aclrtGetVersion, (int32_t*, int32_t*, int32_t*));
CALL(aclsysGetVersionStr, (char*, char*));
CALL(aclsysGetVersionNum, (char*, int32_t*));
CALL(aclsysGetCANNVersion, (aclCANNPackageName, aclCANNPackageVersion*));
FUNCTION(aclrtGetSocName, const char*, (void));
CALL(aclGetCannAttributeList, (const aclCannAttr**, size_t*));
CALL(aclGetCannAttribute, (aclCannAttr, int32_t*));
CALL(aclGetDeviceCapability, (uint32_t, aclDeviceInfo, int64_t*));
CALL(aclrtGetDeviceInfo, (uint32_t, aclrtDevAttr, int64_t*));
FUNCTION(aclAppLog, void, (aclLogLevel, const char*, const char*, uint32_t, const char*, ...));
CALL(aclrtSetExceptionInfoCallback, (aclrtExceptionInfoCallback));
CALL(aclrtExceptionInfoCallbackRegister, (aclrtExceptionInfoCallback));
CALL(aclrtExceptionInfoCallbackUnregister, (aclrtExceptionInfoCallback));
FUNCTION(aclrtGetTaskIdFromExceptionInfo, uint32_t, (const aclrtExceptionInfo*));
FUNCTION(aclrtGetStreamIdFromExceptionInfo, uint32_t, (const aclrtExceptionInfo*));
FUNCTION(aclrtGetThreadIdFromExceptionInfo, uint32_t, (const aclrtExceptionInfo*));
FUNCTION(aclrtGetDeviceIdFromExceptionInfo, uint32_t, (const aclrtExceptionInfo*));
FUNCTION(aclrtGetErrorCodeFromExceptionInfo, uint32_t, (const aclrtExceptionInfo*));

// Devices, contexts and streams.

CALL(aclrtGetDeviceCount, (uint32_t*));
CALL(aclrtSetDevice, (int32_t));
CALL(aclrtResetDevice, (int32_t));
CALL(aclrtResetDeviceForce, (int32_t));
CALL(aclrtGetDevice, (int32_t*));
CALL(aclrtGetRunMode, (aclrtRunMode*));
CALL(aclrtSynchronizeDevice, (void));
CALL(aclrtSynchronizeDeviceWithTimeout, (int32_t));
CALL(aclrtQueryDeviceStatus, (int32_t, aclrtDeviceStatus*));
CALL(aclrtGetDeviceUtilizationRate, (int32_t, aclrtUtilizationInfo*));
CALL(aclrtSetTsDevice, (aclrtTsId));
CALL(aclrtDeviceCanAccessPeer, (int32_t*, int32_t, int32_t));
CALL(aclrtDeviceEnablePeerAccess, (int32_t, uint32_t));
CALL(aclrtDeviceDisablePeerAccess, (int32_t));
CALL(aclrtCreateContext, (aclrtContext*, int32_t));
CALL(aclrtDestroyContext, (aclrtContext));
CALL(aclrtSetCurrentContext, (aclrtContext));
CALL(aclrtGetCurrentContext, (aclrtContext*));
CALL(aclrtCtxGetCurrentDefaultStream, (aclrtStream*));
CALL(aclrtGetPrimaryCtxState, (int32_t, uint32_t*, int32_t*));
CALL(aclrtCtxSetSysParamOpt, (aclSysParamOpt, int64_t));
CALL(aclrtCtxGetSysParamOpt, (aclSysParamOpt, int64_t*));
CALL(aclrtSetSysParamOpt, (aclSysParamOpt, int64_t));
CALL(aclrtGetSysParamOpt, (aclSysParamOpt, int64_t*));
CALL(aclrtCreateStream, (aclrtStream*));
CALL(aclrtCreateStreamWithConfig, (aclrtStream*, uint32_t, uint32_t));
FUNCTION(aclrtCreateStreamConfigHandle, aclrtStreamConfigHandle*, (void));
CALL(aclrtDestroyStreamConfigHandle, (aclrtStreamConfigHandle*));
CALL(aclrtCreateStreamV2, (aclrtStream*, const aclrtStreamConfigHandle*));
CALL(aclrtDestroyStream, (aclrtStream));
CALL(aclrtDestroyStreamForce, (aclrtStream));
CALL(aclrtSynchronizeStream, (aclrtStream));
CALL(aclrtSynchronizeStreamWithTimeout, (aclrtStream, int32_t));
CALL(aclrtStreamQuery, (aclrtStream, aclrtStreamStatus*));
CALL(aclrtStreamGetId, (aclrtStream, int32_t*));
CALL(aclrtGetStreamAvailableNum, (uint32_t*));
CALL(acldvppMalloc, (void**, size_t));
CALL(acldvppFree, (void*));
CALL(aclrtSetStreamFailureMode, (aclrtStream, uint64_t));
CALL(aclrtSetOpWaitTimeout, (uint32_t));
CALL(aclrtSetOpExecuteTimeOut, (uint32_t));
CALL(aclrtSetOpExecuteTimeOutWithMs, (uint32_t));
CALL(aclrtSetOpExecuteTimeOutV2, (uint64_t, uint64_t*));

// Events and callbacks.

CALL(aclrtCreateEvent, (aclrtEvent*));
CALL(aclrtCreateEventWithFlag, (aclrtEvent*, uint32_t));
CALL(aclrtCreateEventExWithFlag, (aclrtEvent*, uint32_t));
CALL(aclrtDestroyEvent, (aclrtEvent));
CALL(aclrtRecordEvent, (aclrtEvent, aclrtStream));
CALL(aclrtResetEvent, (aclrtEvent, aclrtStream));
CALL(aclrtStreamWaitEvent, (aclrtStream, aclrtEvent));
CALL(aclrtQueryEvent, (aclrtEvent, aclrtEventStatus*));
CALL(aclrtQueryEventStatus, (aclrtEvent, aclrtEventRecordedStatus*));
CALL(aclrtQueryEventWaitStatus, (aclrtEvent, aclrtEventWaitStatus*));
CALL(aclrtSynchronizeEvent, (aclrtEvent));
CALL(aclrtSynchronizeEventWithTimeout, (aclrtEvent, int32_t));
CALL(aclrtEventElapsedTime, (float*, aclrtEvent, aclrtEvent));
CALL(aclrtEventGetTimestamp, (aclrtEvent, uint64_t*));
CALL(aclrtSubscribeReport, (uint64_t, aclrtStream));
CALL(aclrtUnSubscribeReport, (uint64_t, aclrtStream));
CALL(aclrtLaunchCallback, (aclrtCallback, void*, aclrtCallbackBlockType, aclrtStream));
CALL(aclrtProcessReport, (int32_t));
CALL(aclrtLaunchHostFunc, (aclrtStream, aclrtHostFunc, void*));

// Memory.

CALL(aclrtMalloc, (void**, size_t, aclrtMemMallocPolicy));
CALL(aclrtMallocAlign32, (void**, size_t, aclrtMemMallocPolicy));
CALL(aclrtMallocCached, (void**, size_t, aclrtMemMallocPolicy));
CALL(aclrtMallocWithCfg, (void**, size_t, aclrtMemMallocPolicy, aclrtMallocConfig*));
CALL(aclrtFree, (void*));
CALL(aclrtFreeWithDevSync, (void*));
CALL(aclrtMallocHost, (void**, size_t));
CALL(aclrtFreeHost, (void*));
CALL(aclrtFreeHostWithDevSync, (void*));
CALL(aclrtMallocHostWithCfg, (void**, uint64_t, aclrtMallocConfig*));
CALL(aclrtPointerGetAttributes, (const void*, aclrtPtrAttributes*));
CALL(aclrtMemcpy, (void*, size_t, const void*, size_t, aclrtMemcpyKind));
CALL(aclrtMemcpyAsync, (void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream));
CALL(aclrtMemcpyAsyncWithCondition,
     (void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream));
CALL(aclrtMemset, (void*, size_t, int32_t, size_t));
CALL(aclrtMemsetAsync, (void*, size_t, int32_t, size_t, aclrtStream));
CALL(aclrtMemcpy2d, (void*, size_t, const void*, size_t, size_t, size_t, aclrtMemcpyKind));
CALL(aclrtMemcpy2dAsync,
     (void*, size_t, const void*, size_t, size_t, size_t, aclrtMemcpyKind, aclrtStream));
CALL(aclrtGetMemInfo, (aclrtMemAttr, size_t*, size_t*));
CALL(aclrtMemFlush, (void*, size_t));
CALL(aclrtMemInvalidate, (void*, size_t));
CALL(aclrtGetMemUsageInfo, (int32_t, aclrtMemUsageInfo*, size_t, size_t*));
CALL(aclrtHostRegister, (void*, uint64_t, int, void**));
CALL(aclrtHostUnregister, (void*));

// Data buffers, datasets and tensor descriptions.

FUNCTION(aclCreateDataBuffer, aclDataBuffer*, (void*, size_t));
CALL(aclDestroyDataBuffer, (const aclDataBuffer*));
CALL(aclUpdateDataBuffer, (aclDataBuffer*, void*, size_t));
FUNCTION(aclGetDataBufferAddr, void*, (const aclDataBuffer*));
FUNCTION(aclGetDataBufferSizeV2, size_t, (const aclDataBuffer*));
FUNCTION(aclGetDataBufferSize, uint32_t, (const aclDataBuffer*));
FUNCTION(aclmdlCreateDataset, aclmdlDataset*, (void));
CALL(aclmdlDestroyDataset, (const aclmdlDataset*));
CALL(aclmdlAddDatasetBuffer, (aclmdlDataset*, aclDataBuffer*));
FUNCTION(aclmdlGetDatasetNumBuffers, size_t, (const aclmdlDataset*));
FUNCTION(aclmdlGetDatasetBuffer, aclDataBuffer*, (const aclmdlDataset*, size_t));
CALL(aclmdlSetDatasetTensorDesc, (aclmdlDataset*, aclTensorDesc*, size_t));
FUNCTION(aclmdlGetDatasetTensorDesc, aclTensorDesc*, (const aclmdlDataset*, size_t));
FUNCTION(aclCreateTensorDesc, aclTensorDesc*, (aclDataType, int, const int64_t*, aclFormat));
FUNCTION(aclDestroyTensorDesc, void, (const aclTensorDesc*));
FUNCTION(aclGetTensorDescType, aclDataType, (const aclTensorDesc*));
FUNCTION(aclGetTensorDescFormat, aclFormat, (const aclTensorDesc*));
FUNCTION(aclGetTensorDescSize, size_t, (const aclTensorDesc*));
FUNCTION(aclGetTensorDescElementCount, size_t, (const aclTensorDesc*));
FUNCTION(aclGetTensorDescNumDims, size_t, (const aclTensorDesc*));
FUNCTION(aclGetTensorDescDim, int64_t, (const aclTensorDesc*, size_t));
CALL(aclGetTensorDescDimV2, (const aclTensorDesc*, size_t, int64_t*));
FUNCTION(aclGetTensorDescName, const char*, (aclTensorDesc*));
FUNCTION(aclSetTensorDescName, void, (aclTensorDesc*, const char*));
FUNCTION(aclGetTensorDescByIndex, aclTensorDesc*, (aclTensorDesc*, size_t));
FUNCTION(aclGetTensorDescAddress, void*, (const aclTensorDesc*));
FUNCTION(aclDataTypeSize, size_t, (aclDataType));
FUNCTION(aclFloat16ToFloat, float, (aclFloat16));
FUNCTION(aclFloatToFloat16, aclFloat16, (float));

// Load.

CALL(aclmdlLoadFromFile, (const char*, uint32_t*));
CALL(aclmdlLoadFromMem, (const void*, size_t, uint32_t*));
CALL(aclmdlLoadFromFileWithMem, (const char*, uint32_t*, void*, size_t, void*, size_t));
CALL(aclmdlLoadFromMemWithMem, (const void*, size_t, uint32_t*, void*, size_t, void*, size_t));
CALL(aclmdlQuerySize, (const char*, size_t*, size_t*));
CALL(aclmdlQuerySizeFromMem, (const void*, size_t, size_t*, size_t*));
FUNCTION(aclmdlCreateConfigHandle, aclmdlConfigHandle*, (void));
CALL(aclmdlDestroyConfigHandle, (aclmdlConfigHandle*));
CALL(aclmdlSetConfigOpt, (aclmdlConfigHandle*, aclmdlConfigAttr, const void*, size_t));
CALL(aclmdlLoadWithConfig, (const aclmdlConfigHandle*, uint32_t*));
CALL(aclmdlUnload, (uint32_t));

// Description.

FUNCTION(aclmdlCreateDesc, aclmdlDesc*, (void));
CALL(aclmdlDestroyDesc, (aclmdlDesc*));
CALL(aclmdlGetDesc, (aclmdlDesc*, uint32_t));
CALL(aclmdlGetDescFromFile, (aclmdlDesc*, const char*));
CALL(aclmdlGetDescFromMem, (aclmdlDesc*, const void*, size_t));
FUNCTION(aclmdlGetNumInputs, size_t, (aclmdlDesc*));
FUNCTION(aclmdlGetNumOutputs, size_t, (aclmdlDesc*));
FUNCTION(aclmdlGetInputSizeByIndex, size_t, (aclmdlDesc*, size_t));
FUNCTION(aclmdlGetOutputSizeByIndex, size_t, (aclmdlDesc*, size_t));
CALL(aclmdlGetInputDims, (const aclmdlDesc*, size_t, aclmdlIODims*));
CALL(aclmdlGetInputDimsV2, (const aclmdlDesc*, size_t, aclmdlIODims*));
CALL(aclmdlGetOutputDims, (const aclmdlDesc*, size_t, aclmdlIODims*));
CALL(aclmdlGetCurOutputDims, (const aclmdlDesc*, size_t, aclmdlIODims*));
CALL(aclmdlGetInputDimsRange, (const aclmdlDesc*, size_t, aclmdlIODimsRange*));
FUNCTION(aclmdlGetTensorRealName, const char*, (const aclmdlDesc*, const char*));
FUNCTION(aclmdlGetInputNameByIndex, const char*, (const aclmdlDesc*, size_t));
FUNCTION(aclmdlGetOutputNameByIndex, const char*, (const aclmdlDesc*, size_t));
FUNCTION(aclmdlGetInputFormat, aclFormat, (const aclmdlDesc*, size_t));
FUNCTION(aclmdlGetOutputFormat, aclFormat, (const aclmdlDesc*, size_t));
FUNCTION(aclmdlGetInputDataType, aclDataType, (const aclmdlDesc*, size_t));
FUNCTION(aclmdlGetOutputDataType, aclDataType, (const aclmdlDesc*, size_t));
CALL(aclmdlGetInputIndexByName, (const aclmdlDesc*, const char*, size_t*));
CALL(aclmdlGetOutputIndexByName, (const aclmdlDesc*, const char*, size_t*));
CALL(aclmdlGetDynamicBatch, (const aclmdlDesc*, aclmdlBatch*));
CALL(aclmdlGetDynamicHW, (const aclmdlDesc*, size_t, aclmdlHW*));
CALL(aclmdlGetInputDynamicGearCount, (const aclmdlDesc*, size_t, size_t*));
CALL(aclmdlGetInputDynamicDims, (const aclmdlDesc*, size_t, aclmdlIODims*, size_t));
CALL(aclmdlSetDynamicBatchSize, (uint32_t, aclmdlDataset*, size_t, uint64_t));
CALL(aclmdlSetDynamicHWSize, (uint32_t, aclmdlDataset*, size_t, uint64_t, uint64_t));
CALL(aclmdlSetInputDynamicDims, (uint32_t, aclmdlDataset*, size_t, const aclmdlIODims*));
FUNCTION(aclmdlGetOpAttr, const char*, (aclmdlDesc*, const char*, const char*));
CALL(aclmdlGetAippType, (uint32_t, size_t, aclmdlInputAippType*, size_t*));
CALL(aclmdlGetFirstAippInfo, (uint32_t, size_t, aclAippInfo*));
CALL(aclmdlCreateAndGetOpDesc,
     (uint32_t,
      uint32_t,
      uint32_t,
      char*,
      size_t,
      aclTensorDesc**,
      size_t*,
      aclTensorDesc**,
      size_t*));

// Execute.

CALL(aclmdlExecute, (uint32_t, const aclmdlDataset*, aclmdlDataset*));
CALL(aclmdlExecuteV2,
     (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream, const aclmdlExecConfigHandle*));
CALL(aclmdlExecuteAsync, (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream));
CALL(aclmdlExecuteAsyncV2,
     (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream, const aclmdlExecConfigHandle*));
FUNCTION(aclmdlCreateExecConfigHandle, aclmdlExecConfigHandle*, (void));
CALL(aclmdlDestroyExecConfigHandle, (const aclmdlExecConfigHandle*));
CALL(aclmdlSetExecConfigOpt,
     (aclmdlExecConfigHandle*, aclmdlExecConfigAttr, const void*, size_t));

// Error codes.
static int
error_codes_differ(void)
{
    CONSTANT(ACL_SUCCESS, int, 0)
    CONSTANT(ACL_ERROR_NONE, int, 0)
    CONSTANT(ACL_ERROR_INVALID_PARAM, int, 100000)
    CONSTANT(ACL_ERROR_UNINITIALIZE, int, 100001)
    CONSTANT(ACL_ERROR_REPEAT_INITIALIZE, int, 100002)
    CONSTANT(ACL_ERROR_INVALID_FILE, int, 100003)
    CONSTANT(ACL_ERROR_WRITE_FILE, int, 100004)
    CONSTANT(ACL_ERROR_INVALID_FILE_SIZE, int, 100005)
    CONSTANT(ACL_ERROR_PARSE_FILE, int, 100006)
    CONSTANT(ACL_ERROR_FILE_MISSING_ATTR, int, 100007)
    CONSTANT(ACL_ERROR_FILE_ATTR_INVALID, int, 100008)
    CONSTANT(ACL_ERROR_INVALID_DUMP_CONFIG, int, 100009)
    CONSTANT(ACL_ERROR_INVALID_PROFILING_CONFIG, int, 100010)
    CONSTANT(ACL_ERROR_INVALID_MODEL_ID, int, 100011)
    CONSTANT(ACL_ERROR_DESERIALIZE_MODEL, int, 100012)
    CONSTANT(ACL_ERROR_PARSE_MODEL, int, 100013)
    CONSTANT(ACL_ERROR_READ_MODEL_FAILURE, int, 100014)
    CONSTANT(ACL_ERROR_MODEL_SIZE_INVALID, int, 100015)
    CONSTANT(ACL_ERROR_MODEL_MISSING_ATTR, int, 100016)
    CONSTANT(ACL_ERROR_MODEL_INPUT_NOT_MATCH, int, 100017)
    CONSTANT(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, int, 100018)
    CONSTANT(ACL_ERROR_MODEL_NOT_DYNAMIC, int, 100019)
    CONSTANT(ACL_ERROR_OP_TYPE_NOT_MATCH, int, 100020)
    CONSTANT(ACL_ERROR_OP_INPUT_NOT_MATCH, int, 100021)
    CONSTANT(ACL_ERROR_OP_OUTPUT_NOT_MATCH, int, 100022)
    CONSTANT(ACL_ERROR_OP_ATTR_NOT_MATCH, int, 100023)
    CONSTANT(ACL_ERROR_OP_NOT_FOUND, int, 100024)
    CONSTANT(ACL_ERROR_OP_LOAD_FAILED, int, 100025)
    CONSTANT(ACL_ERROR_UNSUPPORTED_DATA_TYPE, int, 100026)
    CONSTANT(ACL_ERROR_FORMAT_NOT_MATCH, int, 100027)
    CONSTANT(ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED, int, 100028)
    CONSTANT(ACL_ERROR_KERNEL_NOT_FOUND, int, 100029)
    CONSTANT(ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED, int, 100030)
    CONSTANT(ACL_ERROR_KERNEL_ALREADY_REGISTERED, int, 100031)
    CONSTANT(ACL_ERROR_INVALID_QUEUE_ID, int, 100032)
    CONSTANT(ACL_ERROR_REPEAT_SUBSCRIBE, int, 100033)
    CONSTANT(ACL_ERROR_STREAM_NOT_SUBSCRIBE, int, 100034)
    CONSTANT(ACL_ERROR_THREAD_NOT_SUBSCRIBE, int, 100035)
    CONSTANT(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, int, 100036)
    CONSTANT(ACL_ERROR_REPEAT_FINALIZE, int, 100037)
    CONSTANT(ACL_ERROR_NOT_STATIC_AIPP, int, 100038)
    CONSTANT(ACL_ERROR_COMPILING_STUB_MODE, int, 100039)
    CONSTANT(ACL_ERROR_GROUP_NOT_SET, int, 100040)
    CONSTANT(ACL_ERROR_GROUP_NOT_CREATE, int, 100041)
    CONSTANT(ACL_ERROR_PROF_ALREADY_RUN, int, 100042)
    CONSTANT(ACL_ERROR_PROF_NOT_RUN, int, 100043)
    CONSTANT(ACL_ERROR_DUMP_ALREADY_RUN, int, 100044)
    CONSTANT(ACL_ERROR_DUMP_NOT_RUN, int, 100045)
    CONSTANT(ACL_ERROR_PROF_REPEAT_SUBSCRIBE, int, 148046)
    CONSTANT(ACL_ERROR_PROF_API_CONFLICT, int, 148047)
    CONSTANT(ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG, int, 148048)
    CONSTANT(ACL_ERROR_INVALID_OPP_PATH, int, 148049)
    CONSTANT(ACL_ERROR_OP_UNSUPPORTED_DYNAMIC, int, 148050)
    CONSTANT(ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED, int, 148051)
    CONSTANT(ACL_ERROR_UNSUPPORTED_JPEG, int, 148052)
    CONSTANT(ACL_ERROR_INVALID_BUNDLE_MODEL_ID, int, 148053)
    CONSTANT(ACL_ERROR_BAD_ALLOC, int, 200000)
    CONSTANT(ACL_ERROR_API_NOT_SUPPORT, int, 200001)
    CONSTANT(ACL_ERROR_INVALID_DEVICE, int, 200002)
    CONSTANT(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, int, 200003)
    CONSTANT(ACL_ERROR_RESOURCE_NOT_MATCH, int, 200004)
    CONSTANT(ACL_ERROR_INVALID_RESOURCE_HANDLE, int, 200005)
    CONSTANT(ACL_ERROR_FEATURE_UNSUPPORTED, int, 200006)
    CONSTANT(ACL_ERROR_PROF_MODULES_UNSUPPORTED, int, 200007)
    CONSTANT(ACL_ERROR_STORAGE_OVER_LIMIT, int, 300000)
    CONSTANT(ACL_ERROR_INTERNAL_ERROR, int, 500000)
    CONSTANT(ACL_ERROR_FAILURE, int, 500001)
    CONSTANT(ACL_ERROR_GE_FAILURE, int, 500002)
    CONSTANT(ACL_ERROR_RT_FAILURE, int, 500003)
    CONSTANT(ACL_ERROR_DRV_FAILURE, int, 500004)
    CONSTANT(ACL_ERROR_PROFILING_FAILURE, int, 500005)
    CONSTANT(ACL_ERROR_GE_PARAM_INVALID, uint32_t, 145000)
    CONSTANT(ACL_ERROR_GE_EXEC_NOT_INIT, uint32_t, 145001)
    CONSTANT(ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID, uint32_t, 145002)
    CONSTANT(ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, uint32_t, 145003)
    CONSTANT(ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID, uint32_t, 145006)
    CONSTANT(ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID, uint32_t, 145007)
    CONSTANT(ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID, uint32_t, 145008)
    CONSTANT(ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED, uint32_t, 145009)
    CONSTANT(ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID, uint32_t, 145011)
    CONSTANT(ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID, uint32_t, 145012)
    CONSTANT(ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID, uint32_t, 145013)
    CONSTANT(ACL_ERROR_GE_AIPP_BATCH_EMPTY, uint32_t, 145014)
    CONSTANT(ACL_ERROR_GE_AIPP_NOT_EXIST, uint32_t, 145015)
    CONSTANT(ACL_ERROR_GE_AIPP_MODE_INVALID, uint32_t, 145016)
    CONSTANT(ACL_ERROR_GE_FORMAT_INVALID, uint32_t, 145020)
    CONSTANT(ACL_ERROR_GE_SHAPE_INVALID, uint32_t, 145021)
    CONSTANT(ACL_ERROR_GE_DATATYPE_INVALID, uint32_t, 145022)
    CONSTANT(ACL_ERROR_GE_MEMORY_ALLOCATION, uint32_t, 245000)
    CONSTANT(ACL_ERROR_GE_MEMORY_OPERATE_FAILED, uint32_t, 245001)
    CONSTANT(ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED, uint32_t, 245002)
    CONSTANT(ACL_ERROR_GE_INTERNAL_ERROR, uint32_t, 545000)
    CONSTANT(ACL_ERROR_GE_LOAD_MODEL, uint32_t, 545001)
    CONSTANT(ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA, uint32_t, 545006)
    CONSTANT(ACL_ERROR_GE_UNLOAD_MODEL, uint32_t, 545009)
    CONSTANT(ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT, uint32_t, 545601)
    return 0;
}

static int
names_differ(void)
{
    if (strcmp(ACL_DYNAMIC_TENSOR_NAME, "ascend_mbatch_shape_data") != 0) { return 1; }
    if (strcmp(ACL_DYNAMIC_AIPP_NAME, "ascend_dynamic_aipp_data") != 0) { return 1; }
    if (strcmp(ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES, "_datadump_original_op_names") != 0)
    {
        return 1;
    }
    return 0;
}

int
main(void)
{
    // Both forms of the log macro.
    CHECK(sizeof((ACL_APP_LOG(ACL_INFO, "no argument"), 0)) == sizeof(int));
    CHECK(sizeof((ACL_APP_LOG(ACL_ERROR, "%s %d", "two", 2), 0)) == sizeof(int));
    return error_codes_differ() || names_differ();
}
