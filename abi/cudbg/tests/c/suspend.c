// A client that stops the device whenever it likes, and that stops at every launch.
// usage: suspend running|launch
#include "image.h"

static struct image image;
static int          suspensions, is_over;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

static void drain(void)
{
    CUDBGEvent event;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
        if (event.kind == CUDBG_EVENT_ELF_IMAGE_LOADED) {
            image = read_image(&event);
        }
        suspensions += event.kind == CUDBG_EVENT_ALL_DEVICES_SUSPENDED;
        is_over |= event.kind == CUDBG_EVENT_CTX_DESTROY;
        CHECK(event.kind != CUDBG_EVENT_CTX_PUSH && event.kind != CUDBG_EVENT_CTX_POP);
        CHECK(event.kind != CUDBG_EVENT_KERNEL_READY);
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
}

// A program that runs without end is stopped between operators, steps through a run, and continues.
static void running(void)
{
    uint64_t warps, pc, before;
    for (int times = 0; times < 20; ++times) {
        ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
        drain();
        ANSWERS(CUDBG_SUCCESS, api->readBrokenWarps(0, 0, &warps));
        CHECK(warps == 0);
        // The run may have ended meanwhile, and the next one not have begun.
        ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &warps));
        if (warps) {
            CHECK(warps == 1);
            ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
            CHECK(pc % 32 == 0);
            before = pc;
            ANSWERS(CUDBG_SUCCESS, api->singleStepWarp65(0, 0, 0, 1, &warps));
            ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
            CHECK(pc == before + 16);
        }
        ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    }
    // Without waiting: an event says when it is done.
    const int before_it = suspensions;
    ANSWERS(CUDBG_SUCCESS, api->suspendAllDevices(1));
    while (suspensions == before_it) {
        wait_for_notification();
        drain();
    }
    ANSWERS(CUDBG_ERROR_SUSPENDED_DEVICE, api->suspendAllDevices(1));
    ANSWERS(CUDBG_SUCCESS, api->resumeAllDevices());
    printf("done\n");
    fflush(stdout);
}

// Every operator stops before it is executed.
static void launch(void)
{
    const char* const names[] = {"scale", "log", "sum"};
    uint32_t          enabled;
    ANSWERS(CUDBG_SUCCESS, api->isBreakpointEnabled(CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH, &enabled));
    CHECK(!enabled);
    ANSWERS(CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT, api->disableBreakpoint(CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH));
    ANSWERS(CUDBG_SUCCESS, api->enableBreakpoint(CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH));
    ANSWERS(CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT, api->enableBreakpoint(CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH));
    printf("ready\n");
    fflush(stdout);
    for (unsigned at = 0; at < 3; ++at) {
        while (suspensions <= (int)at) {
            wait_for_notification();
            drain();
        }
        uint64_t pc, handle;
        ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
        CHECK(pc == symbol(&image, names[at], STT_FUNC));
        ANSWERS(CUDBG_SUCCESS, api->getWarpHitBreakpoint(0, 0, 0, &handle));
        CHECK(handle == CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH);
        if (at == 2) {
            ANSWERS(CUDBG_SUCCESS, api->disableBreakpoint(CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH));
        }
        ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    }
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    cudbgDebuggerCapabilities = CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS |
                                CUDBG_DEBUGGER_CAPABILITY_SUSPEND_EVENTS | CUDBG_DEBUGGER_CAPABILITY_BREAK_ON_LAUNCH;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    while (!image.bytes) {
        wait_for_notification();
        drain();
    }
    if (strcmp(argv[1], "launch") == 0) {
        launch();
    } else {
        running();
    }
    while (!is_over) {
        wait_for_notification();
        drain();
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
