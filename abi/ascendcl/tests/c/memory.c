#include "check.h"

static void allocations(void)
{
    aclrtMallocConfig config = {NULL, 0};
    size_t left, all, less;
    void *memory = NULL, *host, *others[3];
    int i;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &left, &all));
    CHECK(all > 0 && left == all);
    OK(aclrtMalloc(&memory, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK((size_t)memory % 64 == 0);
    memset(memory, 1, 1024 + 32);
    OK(aclrtGetMemInfo(ACL_DDR_MEM, &less, &all));
    CHECK(left - less == 1024 + 32);
    OK(aclrtGetMemInfo(ACL_HBM_MEM_P2P_HUGE1G, &less, &all));
    CHECK(less == 0 && all == 0);
    IS(aclrtGetMemInfo((aclrtMemAttr)99, &less, &all), 100000);
    IS(aclrtGetMemInfo(ACL_HBM_MEM, NULL, &all), 100000);
    IS(aclrtGetMemInfo(ACL_HBM_MEM, &less, NULL), 100000);
    OK(aclrtMallocAlign32(&others[0], 33, (aclrtMemMallocPolicy)12345));
    OK(aclrtMallocCached(&others[1], 33, ACL_MEM_MALLOC_NORMAL_ONLY));
    OK(aclrtMallocWithCfg(&others[2], 33, ACL_MEM_MALLOC_NORMAL_ONLY, &config));
    for (i = 0; i < 3; i++) {
        CHECK((size_t)others[i] % 64 == 0);
        memset(others[i], 1, 64);
        OK(aclrtFree(others[i]));
    }
    OK(aclrtMallocWithCfg(&others[0], 33, ACL_MEM_MALLOC_NORMAL_ONLY, NULL));
    OK(aclrtFreeWithDevSync(others[0]));
    config.numAttrs = 1;
    IS(aclrtMallocWithCfg(&others[0], 33, ACL_MEM_MALLOC_NORMAL_ONLY, &config), 100000);
    IS(aclrtMalloc(NULL, 1, ACL_MEM_MALLOC_NORMAL_ONLY), 100000);
    IS(aclrtMalloc(&others[0], 0, ACL_MEM_MALLOC_NORMAL_ONLY), 100000);
    IS(aclrtMalloc(&others[0], (size_t)1 << 60, ACL_MEM_MALLOC_NORMAL_ONLY), 207001);
    IS(aclrtMalloc(&others[0], ~(size_t)0, ACL_MEM_MALLOC_NORMAL_ONLY), 207001);
    IS(aclrtMallocAlign32(NULL, 1, ACL_MEM_MALLOC_NORMAL_ONLY), 100000);
    IS(aclrtMallocCached(&others[0], 0, ACL_MEM_MALLOC_NORMAL_ONLY), 100000);
    OK(aclrtMallocHost(&host, 5));
    CHECK((size_t)host % 64 == 0);
    IS(aclrtMallocHost(NULL, 5), 100000);
    IS(aclrtMallocHost(&others[0], 0), 100000);
    IS(aclrtMallocHost(&others[0], ~(size_t)0), 207001);
    IS(aclrtFree(host), 107000);
    IS(aclrtFreeHost(memory), 107000);
    IS(aclrtFree(NULL), 100000);
    IS(aclrtFreeHost(NULL), 100000);
    IS(aclrtFreeWithDevSync(NULL), 100000);
    IS(aclrtFreeHostWithDevSync(NULL), 100000);
    IS(aclrtFree(GARBAGE), 107000);
    IS(aclrtFree((char *)memory + 64), 107000);
    IS(aclrtFreeWithDevSync(GARBAGE), 107000);
    OK(aclrtFree(memory));
    IS(aclrtFree(memory), 107000);
    OK(aclrtFreeHostWithDevSync(host));
    IS(aclrtFreeHost(host), 107000);
    /* Memory of the host does not count as the device's. Nothing of this is touched, so no page is taken. */
    OK(aclrtMalloc(&memory, left - 1024, ACL_MEM_MALLOC_NORMAL_ONLY));
    IS(aclrtMalloc(&others[0], 4096, ACL_MEM_MALLOC_NORMAL_ONLY), 207001);
    OK(aclrtMallocHost(&host, 4096));
    OK(aclrtFreeHost(host));
    OK(aclrtFree(memory));
    OK(aclrtMemFlush(NULL, 0));
    OK(aclrtMemInvalidate(memory, 5));
    OK(aclrtGetMemInfo(ACL_MEM_NORMAL, &less, &all));
    CHECK(less == left);
}

static void copies(aclrtStream stream)
{
    char plain[64], other[64];
    char *device, *host;
    int i, kind;
    OK(aclrtMalloc((void **)&device, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    OK(aclrtMallocHost((void **)&host, 64));
    for (i = 0; i < 64; i++) {
        plain[i] = (char)i;
    }
    /* The kind is a hint. */
    for (kind = 0; kind <= 5; kind++) {
        OK(aclrtMemset(device, 96, 0x1FF, 64));
        CHECK(device[0] == (char)0xFF && device[63] == (char)0xFF);
        OK(aclrtMemcpy(device, 64, plain, 64, (aclrtMemcpyKind)kind));
        OK(aclrtMemcpy(host, 64, device, 64, (aclrtMemcpyKind)kind));
        OK(aclrtMemcpy(other, 64, host, 64, (aclrtMemcpyKind)kind));
        CHECK(memcmp(other, plain, 64) == 0);
    }
    OK(aclrtMemcpy(device + 1, 63, device, 63, ACL_MEMCPY_DEVICE_TO_DEVICE));
    CHECK(device[63] == 62 && device[1] == 0);
    OK(aclrtMemcpy(NULL, 0, NULL, 0, (aclrtMemcpyKind)77));
    OK(aclrtMemcpy(device, 1, device, 1, ACL_MEMCPY_DEVICE_TO_DEVICE));
    IS(aclrtMemcpy(NULL, 1, plain, 1, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    IS(aclrtMemcpy(device, 1, NULL, 1, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    IS(aclrtMemcpy(device, 1, plain, 1, (aclrtMemcpyKind)6), 100000);
    IS(aclrtMemcpy(device, 1, plain, 1, (aclrtMemcpyKind)-1), 100000);
    IS(aclrtMemcpy(device, 3, plain, 4, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    /* It ends after the end of the allocation, which has 96 bytes. */
    IS(aclrtMemcpy(device + 64, 64, plain, 33, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    IS(aclrtMemcpy(plain, 64, host + 32, 33, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    IS(aclrtMemset(NULL, 1, 1, 1), 100000);
    IS(aclrtMemset(device, 3, 1, 4), 107000);
    IS(aclrtMemset(device, 200, 1, 200), 107000);

    /* Copies in order, from memory that may change immediately, and from memory that may not. */
    memset(plain, 5, 64);
    OK(aclrtMemcpyAsync(device, 64, plain, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    memset(plain, 6, 64);
    OK(aclrtMemcpyAsync(host, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtMemsetAsync(device, 64, 7, 64, stream));
    OK(aclrtMemcpyAsync(plain, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, NULL));
    OK(aclrtSynchronizeStream(stream));
    CHECK(host[0] == 5 && host[63] == 5 && device[0] == 7);
    IS(aclrtMemcpyAsync(device, 64, plain, 64, ACL_MEMCPY_HOST_TO_HOST, stream), 207000);
    IS(aclrtMemcpyAsync(NULL, 64, plain, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream), 100000);
    IS(aclrtMemcpyAsync(device, 64, NULL, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream), 100000);
    IS(aclrtMemcpyAsync(device, 6, plain, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    IS(aclrtMemcpyAsync(device, 64, plain, 64, (aclrtMemcpyKind)8, stream), 100000);
    IS(aclrtMemcpyAsync(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, GARBAGE), 107000);
    IS(aclrtMemsetAsync(NULL, 64, 7, 64, stream), 100000);
    IS(aclrtMemsetAsync(device, 6, 7, 64, stream), 107000);
    OK(aclrtFree(device));
    OK(aclrtFreeHost(host));
}

static void rows(aclrtStream stream)
{
    char from[6][8], to[6][10];
    int i, j;
    for (i = 0; i < 6; i++) {
        for (j = 0; j < 8; j++) {
            from[i][j] = (char)(8 * i + j);
        }
    }
    memset(to, 99, sizeof to);
    OK(aclrtMemcpy2d(to, 10, from, 8, 5, 6, ACL_MEMCPY_HOST_TO_DEVICE));
    for (i = 0; i < 6; i++) {
        for (j = 0; j < 10; j++) {
            CHECK(to[i][j] == (j < 5 ? from[i][j] : 99));
        }
    }
    memset(to, 99, sizeof to);
    OK(aclrtMemcpy2dAsync(to, 10, from, 8, 8, 2, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(to[1][7] == 15 && to[1][8] == 99 && to[2][0] == 99);
    OK(aclrtMemcpy2d(NULL, 0, NULL, 0, 0, 6, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy2dAsync(NULL, 0, NULL, 0, 1, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    IS(aclrtMemcpy2d(NULL, 10, from, 8, 5, 6, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    IS(aclrtMemcpy2d(to, 10, NULL, 8, 5, 6, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    IS(aclrtMemcpy2d(to, 10, from, 8, 9, 6, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    IS(aclrtMemcpy2d(to, 4, from, 8, 5, 6, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    IS(aclrtMemcpy2d(to, 10, from, 8, 5, 6, ACL_MEMCPY_HOST_TO_HOST), 100000);
    IS(aclrtMemcpy2dAsync(to, 10, from, 8, 5, 6, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 100000);
    IS(aclrtMemcpy2dAsync(to, 10, from, 8, 5, 6, ACL_MEMCPY_HOST_TO_DEVICE, GARBAGE), 107000);
    IS(aclrtMemcpy2d(to, (size_t)1 << 62, from, 8, 5, 6, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
}

/* Memory that is freed before its stream reaches it is not accessed. */
static void freed_too_early(aclrtStream stream)
{
    gate held;
    void *memory, *host;
    gate_init(&held);
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    OK(aclrtMallocHost(&host, 64));
    OK(aclrtLaunchHostFunc(stream, gate_wait, &held));
    OK(aclrtMemsetAsync(memory, 64, 1, 64, stream));
    OK(aclrtMemcpyAsync(host, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtFree(memory));
    gate_open(&held);
    IS(aclrtSynchronizeStream(stream), 107000);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtFreeHost(host));
}

int main(void)
{
    aclrtStream stream;
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    allocations();
    copies(stream);
    rows(stream);
    freed_too_early(stream);
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    puts("passed");
    return 0;
}
