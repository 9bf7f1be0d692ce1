#include "check.h"

static int order[3];
static int count;

static void note(void *data)
{
    order[count++] = (int)(size_t)data;
}

static int code_in_callback;
static aclrtEvent later;

static void waits(void *data)
{
    (void)data;
    code_in_callback = aclrtSynchronizeEvent(later);
}

int main(void)
{
    aclrtStream a, b, c;
    aclrtEvent event, other, flagged;
    aclrtEventStatus status;
    aclrtEventRecordedStatus recorded;
    aclrtEventWaitStatus waited;
    gate held, dropped;
    float ms = -1;
    uint64_t first, second;
    double start;

    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateEventWithFlag(&other, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventExWithFlag(&flagged, ACL_EVENT_CAPTURE_STREAM_PROGRESS));
    OK(aclrtDestroyEvent(flagged));

    /* Never recorded: complete, without a time. */
    OK(aclrtQueryEvent(event, &status));
    CHECK(status == ACL_EVENT_STATUS_COMPLETE);
    OK(aclrtQueryEventStatus(event, &recorded));
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtQueryEventWaitStatus(event, &waited));
    CHECK(waited == ACL_EVENT_WAIT_STATUS_COMPLETE);
    OK(aclrtSynchronizeEvent(event));
    OK(aclrtStreamWaitEvent(a, event));
    IS(aclrtEventGetTimestamp(event, &first), 107006);
    IS(aclrtEventElapsedTime(&ms, event, other), 107006);

    /* b waits for a. */
    gate_init(&held);
    OK(aclrtLaunchHostFunc(a, gate_wait, &held));
    OK(aclrtLaunchHostFunc(a, note, (void *)1));
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtLaunchHostFunc(b, note, (void *)2));
    OK(aclrtRecordEvent(other, b));
    OK(aclrtQueryEvent(event, &status));
    CHECK(status == ACL_EVENT_STATUS_NOT_READY);
    OK(aclrtQueryEventStatus(event, &recorded));
    CHECK(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtQueryEventWaitStatus(event, &waited));
    CHECK(waited == ACL_EVENT_WAIT_STATUS_NOT_READY);
    IS(aclrtEventGetTimestamp(event, &first), 107006);
    start = seconds();
    IS(aclrtSynchronizeEventWithTimeout(event, 20), 507047);
    CHECK(seconds() - start >= 0.02);
    IS(aclrtSynchronizeEventWithTimeout(event, 0), 507047);
    IS(aclrtSynchronizeEventWithTimeout(event, -2), 107000);
    CHECK(count == 0);
    gate_open(&held);
    OK(aclrtSynchronizeEventWithTimeout(other, 10000));
    OK(aclrtSynchronizeEventWithTimeout(event, -1));
    CHECK(count == 2 && order[0] == 1 && order[1] == 2);
    OK(aclrtSynchronizeDevice());
    OK(aclrtQueryEventWaitStatus(event, &waited));
    CHECK(waited == ACL_EVENT_WAIT_STATUS_COMPLETE);

    /* Times. */
    OK(aclrtEventGetTimestamp(event, &first));
    OK(aclrtEventGetTimestamp(other, &second));
    CHECK(first > 0 && second >= first);
    OK(aclrtEventElapsedTime(&ms, event, other));
    CHECK(ms >= 0 && ms < 60000);
    rest(5);
    OK(aclrtRecordEvent(event, NULL));
    OK(aclrtSynchronizeEvent(event));
    IS(aclrtEventElapsedTime(&ms, event, other), 107007);
    OK(aclrtEventElapsedTime(&ms, other, event));
    CHECK(ms >= 4);

    /* The event is reset in the order of the stream, but a later record is not. */
    OK(aclrtResetEvent(event, NULL));
    OK(aclrtSynchronizeStream(NULL));
    IS(aclrtEventGetTimestamp(event, &first), 107006);
    OK(aclrtQueryEvent(event, &status));
    CHECK(status == ACL_EVENT_STATUS_COMPLETE);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtResetEvent(event, a));
    OK(aclrtRecordEvent(event, a));
    OK(aclrtSynchronizeStream(a));
    OK(aclrtEventGetTimestamp(event, &first));

    /* An event is destroyed while a stream waits for it. A stream that is ended by force releases those that wait for
     * it. */
    gate_init(&dropped);
    OK(aclrtCreateStream(&c));
    OK(aclrtLaunchHostFunc(c, gate_wait, &dropped));
    rest(30);
    OK(aclrtRecordEvent(event, c));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtDestroyEvent(event));
    IS(aclrtDestroyEvent(event), 107000);
    IS(aclrtRecordEvent(event, a), 107000);
    OK(aclrtLaunchHostFunc(b, note, (void *)3));
    OK(aclrtDestroyStreamForce(c));
    OK(aclrtSynchronizeStream(b));
    CHECK(count == 3);
    /* The thread of c may still be at this gate, so it is not used again. */
    gate_open(&dropped);

    /* Work cannot wait for an event that is recorded after it in the same stream. */
    OK(aclrtCreateEvent(&later));
    gate_init(&held);
    OK(aclrtLaunchHostFunc(a, gate_wait, &held));
    OK(aclrtLaunchHostFunc(a, waits, NULL));
    OK(aclrtRecordEvent(later, a));
    gate_open(&held);
    OK(aclrtSynchronizeStream(a));
    CHECK(code_in_callback == 207000);

    IS(aclrtCreateEvent(NULL), 100000);
    IS(aclrtCreateEventWithFlag(NULL, ACL_EVENT_SYNC), 100000);
    IS(aclrtCreateEventWithFlag(&event, ACL_EVENT_DEVICE_USE_ONLY), 200006);
    IS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL), 200006);
    IS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC), 200006);
    IS(aclrtDestroyEvent(NULL), 100000);
    IS(aclrtDestroyEvent(GARBAGE), 107000);
    IS(aclrtRecordEvent(NULL, a), 100000);
    IS(aclrtRecordEvent(later, GARBAGE), 107000);
    IS(aclrtRecordEvent(a, a), 107000);
    IS(aclrtResetEvent(NULL, a), 100000);
    IS(aclrtStreamWaitEvent(a, NULL), 100000);
    IS(aclrtStreamWaitEvent(GARBAGE, later), 107000);
    IS(aclrtQueryEvent(NULL, &status), 100000);
    IS(aclrtQueryEvent(later, NULL), 100000);
    IS(aclrtQueryEventStatus(NULL, &recorded), 100000);
    IS(aclrtQueryEventWaitStatus(NULL, &waited), 100000);
    IS(aclrtSynchronizeEvent(NULL), 100000);
    IS(aclrtSynchronizeEvent(GARBAGE), 107000);
    IS(aclrtSynchronizeEventWithTimeout(NULL, 1), 100000);
    IS(aclrtEventElapsedTime(NULL, later, other), 100000);
    IS(aclrtEventElapsedTime(&ms, NULL, other), 100000);
    IS(aclrtEventElapsedTime(&ms, later, NULL), 100000);
    IS(aclrtEventGetTimestamp(NULL, &first), 100000);
    IS(aclrtEventGetTimestamp(later, NULL), 100000);
    OK(aclrtDestroyEvent(later));
    OK(aclrtDestroyEvent(other));
    OK(aclrtResetDevice(0));
    puts("passed");
    return 0;
}
