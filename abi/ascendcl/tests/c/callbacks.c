#include "check.h"

static pthread_t ran_in;
static int calls, order[200], codes[2];
static aclrtStream own;

static void note(void *data)
{
    ran_in = pthread_self();
    order[calls++] = (int)(size_t)data;
}

static void slow(void *data)
{
    rest(30);
    note(data);
}

static void waits(void *data)
{
    (void)data;
    codes[0] = aclrtSynchronizeStream(own);
    codes[1] = aclrtSynchronizeDevice();
}

static volatile int stop;

static void *loop(void *context)
{
    OK(aclrtSetCurrentContext(context));
    while (!stop) {
        int code = aclrtProcessReport(100);
        CHECK(code == 0 || code == 507012 || code == 107012);
        if (code == 107012) {
            rest(1);
        }
    }
    return NULL;
}

static volatile int subscribed;

static void *subscribed_for_ever(void *data)
{
    while (!subscribed) {
        rest(1);
    }
    *(int *)data = aclrtProcessReport(-1);
    return NULL;
}

int main(void)
{
    aclrtContext context;
    aclrtStream a, b;
    pthread_t thread;
    uint64_t id, me = (uint64_t)pthread_self();
    int code = 0;
    double start;
    size_t i;

    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&context));
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));

    /* No thread is subscribed. */
    IS(aclrtProcessReport(10), 107012);
    IS(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, a), 107015);
    IS(aclrtUnSubscribeReport(me, a), 107012);

    CHECK(pthread_create(&thread, NULL, loop, context) == 0);
    id = (uint64_t)thread;
    OK(aclrtSubscribeReport(id, a));
    IS(aclrtSubscribeReport(id, a), 107011);
    IS(aclrtSubscribeReport(me, a), 107011);
    IS(aclrtSubscribeReport(id, GARBAGE), 107000);
    IS(aclrtUnSubscribeReport(id, b), 107011);
    IS(aclrtUnSubscribeReport(me, a), 107012);
    IS(aclrtLaunchCallback(NULL, NULL, ACL_CALLBACK_BLOCK, a), 100000);
    IS(aclrtLaunchCallback(note, NULL, (aclrtCallbackBlockType)2, a), 100000);
    IS(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, GARBAGE), 107000);
    IS(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, b), 107015);
    IS(aclrtProcessReport(0), 107000);
    IS(aclrtProcessReport(-2), 107000);

    /* With BLOCK the stream waits for the callback, in the subscribed thread. */
    OK(aclrtLaunchCallback(slow, (void *)1, ACL_CALLBACK_BLOCK, a));
    OK(aclrtLaunchHostFunc(a, note, (void *)2));
    OK(aclrtSynchronizeStream(a));
    CHECK(calls == 2 && order[0] == 1 && order[1] == 2 && !pthread_equal(ran_in, thread));
    OK(aclrtLaunchCallback(note, (void *)3, ACL_CALLBACK_BLOCK, a));
    OK(aclrtSynchronizeStream(a));
    CHECK(pthread_equal(ran_in, thread));

    /* One thread, two streams; many callbacks in order. */
    OK(aclrtSubscribeReport(id, b));
    OK(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, b));
    OK(aclrtSynchronizeStream(b));
    OK(aclrtUnSubscribeReport(id, b));
    calls = 0;
    for (i = 0; i < 200; i++) {
        OK(aclrtLaunchCallback(note, (void *)i, i % 2 ? ACL_CALLBACK_NO_BLOCK : ACL_CALLBACK_BLOCK, a));
    }
    OK(aclrtLaunchCallback(waits, NULL, ACL_CALLBACK_BLOCK, a));
    OK(aclrtSynchronizeStream(a));
    CHECK(calls == 200);
    for (i = 0; i < 200; i++) {
        CHECK(order[i] == (int)i);
    }

    /* A callback cannot wait for its own stream. */
    own = a;
    OK(aclrtLaunchCallback(waits, NULL, ACL_CALLBACK_BLOCK, a));
    OK(aclrtSynchronizeStream(a));
    CHECK(codes[0] == 207000 && codes[1] == 207000);

    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    OK(aclrtUnSubscribeReport(id, a));
    IS(aclrtUnSubscribeReport(id, a), 107012);

    /* This thread runs the callbacks itself. The stream names those that it does not run. */
    OK(aclrtSubscribeReport(me, a));
    IS(aclrtProcessReport(10), 507012);
    calls = 0;
    OK(aclrtLaunchCallback(note, (void *)7, ACL_CALLBACK_BLOCK, a));
    rest(30);
    IS(aclrtSynchronizeStream(a), 207000);
    OK(aclrtProcessReport(-1));
    OK(aclrtSynchronizeStream(a));
    CHECK(calls == 1 && order[0] == 7);
    OK(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, a));
    OK(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_NO_BLOCK, a));
    rest(30);
    OK(aclrtUnSubscribeReport(me, a));
    IS(aclrtSynchronizeStream(a), 107015);
    OK(aclrtSynchronizeStream(a));
    CHECK(calls == 1);

    /* A waiting thread is notified that it is no longer subscribed. */
    OK(aclrtSubscribeReport(me, b));
    CHECK(pthread_create(&thread, NULL, subscribed_for_ever, &code) == 0);
    OK(aclrtSubscribeReport((uint64_t)thread, a));
    subscribed = 1;
    rest(50);
    OK(aclrtUnSubscribeReport((uint64_t)thread, a));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(code == 107012);

    /* A stream ends although no thread runs its callback. */
    OK(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, b));
    start = seconds();
    OK(aclrtDestroyStream(b));
    CHECK(seconds() - start < 10);
    IS(aclrtProcessReport(10), calls == 1 ? 0 : 1);
    CHECK(calls == 1);
    IS(aclrtProcessReport(10), 107012);

    /* So does the device, even if another stream waits for that one. */
    {
        aclrtEvent event;
        OK(aclrtCreateEvent(&event));
        OK(aclrtCreateStream(&b));
        OK(aclrtSubscribeReport(me, b));
        OK(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, b));
        OK(aclrtRecordEvent(event, b));
        OK(aclrtStreamWaitEvent(a, event));
        OK(aclrtResetDevice(0));
        OK(aclrtDestroyEvent(event));
    }
    CHECK(calls == 1);
    puts("passed");
    return 0;
}
