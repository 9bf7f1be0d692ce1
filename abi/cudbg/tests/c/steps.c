// A client that receives every launch as an event, and steps from instruction to instruction. A step brings a run to
// its next operator even before the launch there is acknowledged. The launch is reported once. When the device runs
// again, the run waits until the launch is acknowledged.
#include "check.h"

static uint64_t entry;
static unsigned launches;

static void on_event(void* data)
{
    (void)data;
    notify();
}

// Takes all events.
static void take(void)
{
    CUDBGEvent event;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
        if (event.kind == CUDBG_EVENT_KERNEL_READY) {
            entry = event.cases.kernelReady.functionEntry;
            CHECK(event.cases.kernelReady.gridId == ++launches);
        }
    }
}

static void is_at(uint64_t grid, uint64_t expected)
{
    uint64_t        pc = 0, id = 0, mask = 0;
    CUDBGGridStatus status;
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 1);
    ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
    CHECK(pc == expected);
    ANSWERS(CUDBG_SUCCESS, api->readGridId(0, 0, 0, &id));
    CHECK(id == grid);
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, grid, &status));
    CHECK(status == CUDBG_GRID_STATUS_ACTIVE);
}

int main(void)
{
    uint64_t mask = 0, pc;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    printf("attached\n");
    fflush(stdout);

    // The launch of the first operator is not acknowledged: its run is in no warp.
    while (!launches) {
        wait_for_notification();
        take();
        if (!launches) {
            ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
        }
    }
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 0);
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->singleStepWarp41(0, 0, 0, &mask));
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    const uint64_t first = entry;
    is_at(1, first);

    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp41(0, 0, 0, &mask));
    CHECK(mask == 1);
    is_at(1, first + 16);
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp41(0, 0, 0, &mask));
    is_at(2, first + 32);
    // Two at once, to the third operator. Nothing was read meanwhile, and nothing is lost.
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp65(0, 0, 0, 2, &mask));
    is_at(3, first + 64);
    take();
    CHECK(launches == 3 && entry == first + 64);

    // The run waits for the acknowledgement of the third launch, not for the device alone.
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    is_at(3, first + 64);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    is_at(3, first + 64);
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp41(0, 0, 0, &mask));
    is_at(3, first + 80);
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp41(0, 0, 0, &mask));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readVirtualPC(0, 0, 0, 0, &pc));
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
