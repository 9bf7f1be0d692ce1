// A client that resumes a run until it reaches certain operators: from a breakpoint before the first one, past one that
// it does not stop at, and no further than the next breakpoint. Then the run ends.
#include "image.h"

static struct image image;
static int          stopped, gone;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

static void drain(void)
{
    CUDBGEvent event;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
        switch (event.kind) {
        case CUDBG_EVENT_ELF_IMAGE_LOADED: image = read_image(&event); break;
        case CUDBG_EVENT_ALL_DEVICES_SUSPENDED: ++stopped; break;
        case CUDBG_EVENT_CTX_DESTROY: gone = 1; break;
        default: break;
        }
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
}

#define IS_AT(ADDRESS, BROKEN) is_at(ADDRESS, BROKEN, __LINE__)

static void is_at(uint64_t address, uint64_t broken, int line)
{
    uint64_t mask, pc;
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 1);
    ANSWERS(CUDBG_SUCCESS, api->readBrokenWarps(0, 0, &mask));
    if (mask != broken) {
        ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
        fprintf(stderr, "line %d: the mask of warps at breakpoints is %x at %llx\n", line, (unsigned)mask,
                (unsigned long long)pc);
        exit(1);
    }
    ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
    CHECK(pc == address);
}

int main(void)
{
    uint64_t mask;

    cudbgDebuggerCapabilities = CUDBG_DEBUGGER_CAPABILITY_SUSPEND_EVENTS | CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    while (!image.bytes) {
        wait_for_notification();
        drain();
    }
    const uint64_t scale = symbol(&image, "scale", STT_FUNC), log = symbol(&image, "log", STT_FUNC);
    const uint64_t sum = symbol(&image, "sum", STT_FUNC);
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, scale));
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->resumeWarpsUntilPC60(0, 0, 1, sum));
    printf("ready\n");
    fflush(stdout);
    while (!stopped) {
        wait_for_notification();
        drain();
    }
    IS_AT(scale, 1);

    ANSWERS(CUDBG_ERROR_INVALID_WARP_MASK, api->resumeWarpsUntilPC60(0, 0, 0, log));
    ANSWERS(CUDBG_ERROR_INVALID_WARP_MASK, api->resumeWarpsUntilPC60(0, 0, 3, log));
    ANSWERS(CUDBG_ERROR_WARP_RESUME_NOT_POSSIBLE, api->resumeWarpsUntilPC60(0, 0, 1, scale));
    ANSWERS(CUDBG_ERROR_WARP_RESUME_NOT_POSSIBLE, api->resumeWarpsUntilPC60(0, 0, 1, log + 1));
    ANSWERS(CUDBG_ERROR_WARP_RESUME_NOT_POSSIBLE, api->resumeWarpsUntilPC60(0, 0, 1, (uintptr_t)&api));
    ANSWERS(CUDBG_ERROR_NOT_SUPPORTED, api->resumeWarpsUntilPC(0, 0, 1, log, CUDBG_SINGLE_STEP_FLAGS_NON_BLOCKING));
    IS_AT(scale, 1);

    // It continues past the end of the first operator, which is a separate instruction.
    ANSWERS(CUDBG_SUCCESS, api->resumeWarpsUntilPC60(0, 0, 1, log));
    IS_AT(log, 0);
    // A breakpoint on the way.
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, sum));
    ANSWERS(CUDBG_SUCCESS, api->resumeWarpsUntilPC(0, 0, 1, sum + 16, CUDBG_SINGLE_STEP_FLAGS_NONE));
    IS_AT(sum, 1);
    ANSWERS(CUDBG_SUCCESS, api->resumeWarpsUntilPC(0, 0, 1, sum + 16, CUDBG_SINGLE_STEP_FLAGS_NONE));
    IS_AT(sum + 16, 0);
    // More steps than there are: the run ends.
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp65(0, 0, 0, 5, &mask));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 0 && stopped == 1);
    ANSWERS(CUDBG_SUCCESS, api->resumeAllDevices());
    while (!gone) {
        wait_for_notification();
        drain();
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
