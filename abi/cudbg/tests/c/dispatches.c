// A client that prints the dispatches of a run, and where it stops.
// usage: dispatches [OPERATOR OFFSET]...: stops at these instructions
#include "image.h"

static struct image image;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

static void print_stop(int count, char** breakpoints)
{
    uint64_t        grid, pc, hit;
    CUDBGGridStatus status;
    ANSWERS(CUDBG_SUCCESS, api->readGridId(0, 0, 0, &grid));
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, grid, &status));
    ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
    ANSWERS(CUDBG_SUCCESS, api->getWarpHitBreakpoint(0, 0, 0, &hit));
    CHECK(hit == CUDBG_BREAKPOINT_HANDLE_LEGACY);
    for (int at = 0; at + 1 < count; at += 2) {
        if (symbol(&image, breakpoints[at], STT_FUNC) + (uint64_t)atoi(breakpoints[at + 1]) == pc) {
            printf("stopped at %s+%s, grid %u, status %u\n", breakpoints[at], breakpoints[at + 1], (unsigned)grid, status);
            return;
        }
    }
    printf("stopped at no breakpoint, but %llx\n", (unsigned long long)pc);
}

int main(int argc, char** argv)
{
    CUDBGEvent event;
    int        attached = 0, gone = 0;

    cudbgDebuggerCapabilities = CUDBG_DEBUGGER_CAPABILITY_SUSPEND_EVENTS | CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    while (!gone) {
        int stopped = 0;
        wait_for_notification();
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
            switch (event.kind) {
            case CUDBG_EVENT_ELF_IMAGE_LOADED: image = read_image(&event); break;
            case CUDBG_EVENT_KERNEL_READY: printf("ready %u\n", (unsigned)event.cases.kernelReady.gridId); break;
            case CUDBG_EVENT_ALL_DEVICES_SUSPENDED: stopped = 1; break;
            case CUDBG_EVENT_CTX_DESTROY: gone = 1; break;
            case CUDBG_EVENT_ATTACH_COMPLETE: attached = 1; break;
            default: break;
            }
        }
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_ASYNC, &event) == CUDBG_SUCCESS) {
            CHECK(event.kind == CUDBG_EVENT_KERNEL_FINISHED);
            printf("finished %u\n", (unsigned)event.cases.kernelFinished.gridId);
        }
        if (attached == 1) {
            for (int at = 1; at + 1 < argc; at += 2) {
                uint64_t address = symbol(&image, argv[at], STT_FUNC) + (uint64_t)atoi(argv[at + 1]);
                ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, address));
            }
            printf("attached\n");
            attached = 2;
        }
        if (stopped) {
            print_stop(argc - 1, argv + 1);
            ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
        }
        fflush(stdout);
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
