#include "check.h"

static aclrtContext shared;
static aclrtStream foreign;

static void *without_context(void *data)
{
    aclrtContext context;
    aclrtStream stream;
    aclrtEvent event;
    int32_t device;
    int64_t value;
    size_t left, all;
    void *memory;
    char bytes[2] = {1, 2};
    (void)data;
    IS(aclrtGetCurrentContext(&context), 107002);
    IS(aclrtGetDevice(&device), 107002);
    IS(aclrtCreateStream(&stream), 107002);
    IS(aclrtCreateEvent(&event), 107002);
    IS(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    IS(aclrtMemcpy(bytes, 1, bytes + 1, 1, ACL_MEMCPY_HOST_TO_DEVICE), 107002);
    IS(aclrtMemset(bytes, 1, 1, 1), 107002);
    IS(aclrtGetMemInfo(ACL_HBM_MEM, &left, &all), 107002);
    IS(aclrtSynchronizeDevice(), 107002);
    IS(aclrtSynchronizeStream(NULL), 107002);
    IS(aclrtSynchronizeStream(foreign), 107002);
    IS(aclrtCtxGetCurrentDefaultStream(&stream), 107002);
    IS(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), 107002);
    IS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 107002);
    OK(aclrtMallocHost(&memory, 8));
    OK(aclrtFreeHost(memory));

    OK(aclrtSetCurrentContext(shared));
    OK(aclrtGetCurrentContext(&context));
    CHECK(context == shared);
    OK(aclrtSynchronizeStream(foreign));
    return NULL;
}

static void errors_of_a_thread(void)
{
    int32_t device;
    OK(aclrtGetLastError(ACL_RT_THREAD_LEVEL));
    IS(aclrtGetDevice(&device), 107002);
    IS(aclrtSetDevice(7), 107001);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 107001);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 107001);
    OK(aclrtGetLastError(ACL_RT_THREAD_LEVEL));
    OK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    IS(aclrtGetLastError((aclrtLastErrLevel)1), 100000);
    IS(aclrtPeekAtLastError((aclrtLastErrLevel)-1), 100000);
}

static void device(void)
{
    uint32_t count, flags = 7;
    int32_t number = 7, active = 7, can = 7;
    int64_t value;
    aclrtRunMode mode;
    aclrtDeviceStatus status;
    aclrtUtilizationInfo use;

    OK(aclrtGetDeviceCount(&count));
    CHECK(count == 1);
    IS(aclrtGetDeviceCount(NULL), 100000);
    OK(aclrtGetRunMode(&mode));
    CHECK(mode == ACL_HOST);
    IS(aclrtGetRunMode(NULL), 100000);
    OK(aclrtQueryDeviceStatus(0, &status));
    CHECK(status == ACL_RT_DEVICE_STATUS_NORMAL);
    IS(aclrtQueryDeviceStatus(1, &status), 107001);
    IS(aclrtQueryDeviceStatus(0, NULL), 100000);
    memset(&use, 0, sizeof use);
    OK(aclrtGetDeviceUtilizationRate(0, &use));
    CHECK(use.cubeUtilization == -1 && use.vectorUtilization == -1 && use.aicpuUtilization == -1 && use.memoryUtilization == -1);
    IS(aclrtGetDeviceUtilizationRate(-1, &use), 107001);
    IS(aclrtGetDeviceUtilizationRate(0, NULL), 100000);
    OK(aclrtDeviceCanAccessPeer(&can, 0, 0));
    CHECK(can == 0);
    IS(aclrtDeviceCanAccessPeer(&can, 0, 1), 107001);
    IS(aclrtDeviceCanAccessPeer(&can, 1, 0), 107001);
    IS(aclrtDeviceCanAccessPeer(NULL, 0, 0), 100000);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
    CHECK(value > 0);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
    IS(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value), 200006);
    IS(aclGetDeviceCapability(1, ACL_DEVICE_INFO_AI_CORE_NUM, &value), 107001);
    IS(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, NULL), 100000);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &value));
    CHECK(value > 0);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
    CHECK(value > 1 << 20);
    IS(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &value), 200006);
    IS(aclrtGetDeviceInfo(0xFFFFFFFFu, ACL_DEV_ATTR_AICORE_CORE_NUM, &value), 107001);
    IS(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, NULL), 100000);

    OK(aclrtGetPrimaryCtxState(0, &flags, &active));
    CHECK(flags == 0 && active == 0);
    IS(aclrtResetDevice(0), 107002);
    IS(aclrtResetDeviceForce(0), 107002);
    IS(aclrtSetDevice(1), 107001);
    IS(aclrtSetDevice(-1), 107001);
    IS(aclrtResetDevice(1), 107001);
    IS(aclrtResetDeviceForce(1), 107001);
    OK(aclrtSetDevice(0));
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    CHECK(active == 1);
    IS(aclrtGetPrimaryCtxState(1, NULL, &active), 107001);
    IS(aclrtGetPrimaryCtxState(0, NULL, NULL), 100000);
    OK(aclrtGetDevice(&number));
    CHECK(number == 0);
    IS(aclrtGetDevice(NULL), 100000);
    OK(aclrtResetDevice(0));
}

/* Does the same twice: nothing remains of the first time. */
static void runs(void)
{
    aclrtContext contexts[2], context;
    aclrtStream streams[2], other;
    aclrtEvent event;
    void *memory;
    int run;
    for (run = 0; run < 2; run++) {
        OK(aclrtSetDevice(0));
        OK(aclrtSetDevice(0));
        OK(aclrtGetCurrentContext(&contexts[run]));
        OK(aclrtCreateStream(&streams[run]));
        OK(aclrtCreateEvent(&event));
        OK(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_NORMAL_ONLY));
        OK(aclrtMemsetAsync(memory, 100, 3, 100, streams[run]));
        OK(aclrtRecordEvent(event, streams[run]));
        IS(aclrtDestroyContext(contexts[run]), 107000);
        OK(aclrtResetDevice(0));
        OK(aclrtSynchronizeStream(streams[run]));
        OK(aclrtResetDevice(0));
        OK(aclrtDestroyEvent(event));
        IS(aclrtDestroyEvent(event), 107000);
        IS(aclrtResetDevice(0), 107002);
        IS(aclrtFree(memory), 107000);
        IS(aclrtDestroyStream(streams[run]), 107000);
        IS(aclrtSynchronizeStream(streams[run]), 107000);
        IS(aclrtGetCurrentContext(&context), 107002);
        IS(aclrtSetCurrentContext(contexts[run]), 107000);
    }
    CHECK(contexts[0] != contexts[1] && streams[0] != streams[1]);
    OK(aclrtSetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtResetDeviceForce(0));
    IS(aclrtResetDeviceForce(0), 107002);
    OK(aclrtSetDevice(0));
    IS(aclrtSynchronizeStream(streams[1]), 107000);
    OK(aclrtCtxGetCurrentDefaultStream(&other));
    IS(aclrtDestroyStream(other), 107000);
    OK(aclrtResetDevice(0));
}

static void options(void)
{
    int64_t value = 0;
    aclrtContext context;
    IS(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 107021);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK(value == 1);
    IS(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL), 100000);
    IS(aclrtSetSysParamOpt((aclSysParamOpt)9, 1), 107000);
    OK(aclrtCreateContext(&context, 0));
    IS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 107021);
    OK(aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 5));
    OK(aclrtCtxGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value));
    CHECK(value == 5);
    OK(aclrtDestroyContext(context));
}

int main(void)
{
    aclrtContext context, current;
    aclrtStream stream, other, standard;
    uint32_t before, after;

    errors_of_a_thread();
    device();
    runs();
    options();

    IS(aclrtCreateContext(NULL, 0), 100000);
    IS(aclrtCreateContext(&context, 3), 107001);
    OK(aclrtCreateContext(&shared, 0));
    OK(aclrtCreateStream(&foreign));
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtGetCurrentContext(&current));
    CHECK(current == context);
    IS(aclrtSynchronizeStream(foreign), 107003);
    IS(aclrtDestroyStream(foreign), 107003);
    IS(aclrtSetCurrentContext(NULL), 100000);
    IS(aclrtSetCurrentContext(GARBAGE), 107000);
    IS(aclrtGetCurrentContext(NULL), 100000);
    IS(aclrtDestroyContext(NULL), 100000);
    IS(aclrtDestroyContext(GARBAGE), 107000);
    IS(aclrtDestroyContext(foreign), 107000);
    IS(aclrtSynchronizeStream(shared), 107000);
    OK(aclrtGetStreamAvailableNum(&before));
    OK(aclrtCreateStream(&stream));
    OK(aclrtGetStreamAvailableNum(&after));
    CHECK(after + 1 == before);
    OK(aclrtCtxGetCurrentDefaultStream(&standard));
    CHECK(standard != NULL && standard != stream);
    OK(aclrtSynchronizeStream(standard));
    in_thread(without_context, NULL);
    OK(aclrtDestroyContext(context));
    IS(aclrtDestroyContext(context), 107000);
    IS(aclrtSynchronizeStream(stream), 107000);
    IS(aclrtGetCurrentContext(&current), 107002);
    IS(aclrtCreateStream(&other), 107002);
    OK(aclrtSetCurrentContext(shared));
    OK(aclrtDestroyStream(foreign));
    IS(aclrtDestroyStream(foreign), 107000);
    OK(aclrtDestroyContext(shared));
    puts("passed");
    return 0;
}
