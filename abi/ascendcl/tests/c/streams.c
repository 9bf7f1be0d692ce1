#include "check.h"

#define MANY 1000

static int seen[MANY];
static int count;

static void note(void *data)
{
    seen[count++] = (int)(size_t)data;
}

static int codes[4];
static aclrtStream own, free_one;

/* A host function. Waiting for its own stream, or for all streams, is refused. */
static void waits(void *data)
{
    int32_t device = 7;
    (void)data;
    codes[0] = aclrtSynchronizeStream(own);
    codes[1] = aclrtSynchronizeDevice();
    codes[2] = aclrtDestroyStream(own);
    codes[3] = aclrtResetDeviceForce(0);
    CHECK(aclrtGetDevice(&device) == 0 && device == 0);
    CHECK(aclrtSynchronizeStream(free_one) == 0);
}

static void *many_from_a_thread(void *data)
{
    aclrtStream stream;
    int i;
    OK(aclrtSetCurrentContext(data));
    for (i = 0; i < 20; i++) {
        void *memory;
        OK(aclrtCreateStream(&stream));
        OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
        OK(aclrtMemsetAsync(memory, 64, i, 64, stream));
        if (i % 2) {
            OK(aclrtSynchronizeStream(stream));
            CHECK(((char *)memory)[63] == i);
        }
        OK(aclrtDestroyStream(stream));
        CHECK(((char *)memory)[63] == i);
        OK(aclrtFree(memory));
    }
    return NULL;
}

int main(void)
{
    aclrtStream streams[2], other;
    aclrtStreamStatus status;
    aclrtContext context;
    pthread_t threads[4];
    gate held, again;
    int32_t ids[3];
    uint64_t actual;
    uint32_t left;
    double start;
    size_t i;

    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&context));
    for (i = 0; i < 2; i++) {
        OK(aclrtCreateStream(&streams[i]));
        OK(aclrtStreamGetId(streams[i], &ids[i]));
    }
    OK(aclrtStreamGetId(NULL, &ids[2]));
    CHECK(ids[0] != ids[1] && ids[0] != ids[2] && ids[2] > 0);
    OK(aclrtSynchronizeStream(streams[0]));
    OK(aclrtSynchronizeStream(NULL));

    /* In order, also in the default stream. */
    for (i = 0; i < MANY; i++) {
        OK(aclrtLaunchHostFunc(i < MANY / 2 ? streams[0] : NULL, note, (void *)i));
        if (i + 1 == MANY / 2) {
            OK(aclrtSynchronizeStream(streams[0]));
        }
    }
    OK(aclrtSynchronizeDevice());
    CHECK(count == MANY);
    for (i = 0; i < MANY; i++) {
        CHECK(seen[i] == (int)i);
    }

    /* Streams do not wait for each other. Waits have timeouts. */
    gate_init(&held);
    OK(aclrtLaunchHostFunc(streams[0], gate_wait, &held));
    OK(aclrtLaunchHostFunc(streams[1], note, NULL));
    OK(aclrtSynchronizeStream(streams[1]));
    OK(aclrtStreamQuery(streams[0], &status));
    CHECK(status == ACL_STREAM_STATUS_NOT_READY);
    OK(aclrtStreamQuery(streams[1], &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    start = seconds();
    IS(aclrtSynchronizeStreamWithTimeout(streams[0], 30), 507046);
    CHECK(seconds() - start >= 0.03);
    IS(aclrtSynchronizeStreamWithTimeout(streams[0], 0), 507046);
    IS(aclrtSynchronizeStreamWithTimeout(streams[0], -2), 107000);
    IS(aclrtSynchronizeDeviceWithTimeout(10), 507046);
    IS(aclrtSynchronizeDeviceWithTimeout(0), 107000);
    IS(aclrtSynchronizeDeviceWithTimeout(-2), 107000);
    gate_open(&held);
    OK(aclrtSynchronizeStreamWithTimeout(streams[0], -1));
    OK(aclrtSynchronizeStreamWithTimeout(streams[0], 5000));
    OK(aclrtSynchronizeDeviceWithTimeout(-1));
    CHECK(held.passed == 1);

    /* Work cannot wait for streams. */
    own = streams[0];
    free_one = streams[1];
    OK(aclrtLaunchHostFunc(own, waits, NULL));
    OK(aclrtSynchronizeStream(own));
    for (i = 0; i < 4; i++) {
        CHECK(codes[i] == 207000);
    }

    /* Force drops work that has not begun. */
    gate_init(&held);
    gate_init(&again);
    again.is_open = 1;
    OK(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    OK(aclrtLaunchHostFunc(other, gate_wait, &held));
    rest(50);
    OK(aclrtLaunchHostFunc(other, gate_wait, &again));
    OK(aclrtDestroyStreamForce(other));
    IS(aclrtDestroyStreamForce(other), 107000);
    gate_open(&held);
    rest(50);
    CHECK(again.passed == 0);

    /* Without force, it is waited for. */
    OK(aclrtCreateStream(&other));
    for (i = 0; i < 100; i++) {
        OK(aclrtLaunchHostFunc(other, gate_wait, &again));
    }
    OK(aclrtDestroyStream(other));
    CHECK(again.passed == 100);

    IS(aclrtCreateStream(NULL), 100000);
    IS(aclrtCreateStreamWithConfig(NULL, 0, 0), 100000);
    IS(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_PERSISTENT), 200006);
    IS(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_CPU_SCHEDULE), 200006);
    IS(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_DEVICE_USE_ONLY), 200006);
    IS(aclrtDestroyStream(NULL), 100000);
    IS(aclrtDestroyStreamForce(NULL), 100000);
    IS(aclrtDestroyStream(GARBAGE), 107000);
    IS(aclrtSynchronizeStream(GARBAGE), 107000);
    IS(aclrtStreamQuery(streams[0], NULL), 100000);
    IS(aclrtStreamQuery(GARBAGE, &status), 107000);
    IS(aclrtStreamGetId(streams[0], NULL), 100000);
    IS(aclrtStreamGetId(GARBAGE, &ids[0]), 107000);
    IS(aclrtGetStreamAvailableNum(NULL), 100000);
    OK(aclrtGetStreamAvailableNum(&left));
    CHECK(left > 0 && left < 2048);
    OK(aclrtSetOpWaitTimeout(5));
    OK(aclrtSetOpExecuteTimeOut(5));
    OK(aclrtSetOpExecuteTimeOutWithMs(5));
    OK(aclrtSetOpExecuteTimeOutV2(77, &actual));
    CHECK(actual == 77);
    OK(aclrtSetOpExecuteTimeOutV2(0, &actual));
    IS(aclrtSetOpExecuteTimeOutV2(77, NULL), 100000);

    for (i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, many_from_a_thread, context) == 0);
    }
    for (i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    OK(aclrtResetDevice(0));
    puts("passed");
    return 0;
}
