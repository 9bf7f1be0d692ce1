// Only what was read is acknowledged. Two threads of the program begin runs; each waits for its own events.
#include "image.h"

static struct image image;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

static CUDBGEvent next(void)
{
    CUDBGEvent  event;
    CUDBGResult result;
    while ((result = api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event)) != CUDBG_SUCCESS) {
        CHECK(result == CUDBG_ERROR_NO_EVENT_AVAILABLE);
        wait_for_notification();
    }
    if (event.kind == CUDBG_EVENT_ELF_IMAGE_LOADED) {
        image = read_image(&event);
    }
    return event;
}

int main(void)
{
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    while (next().kind != CUDBG_EVENT_ATTACH_COMPLETE) {
    }
    printf("attached\n");
    fflush(stdout);

    // Both threads wait at the beginning of a run. One event is read.
    CUDBGEvent first = next();
    CHECK(first.kind == CUDBG_EVENT_CTX_PUSH);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    // The other event was not acknowledged. It is still there, and its thread waits. Meanwhile the first one's thread
    // reaches its first operator.
    CUDBGEvent second = next(), kernel = next();
    if (second.kind == CUDBG_EVENT_KERNEL_READY) {
        CUDBGEvent swapped = kernel;
        kernel             = second;
        second             = swapped;
    }
    CHECK(second.kind == CUDBG_EVENT_CTX_PUSH && second.cases.contextPush.tid != first.cases.contextPush.tid);
    CHECK(kernel.kind == CUDBG_EVENT_KERNEL_READY && kernel.cases.kernelReady.tid == first.cases.contextPush.tid);
    CHECK(kernel.cases.kernelReady.gridId == 1);
    // A dispatch whose launch is not acknowledged has not begun.
    CUDBGGridStatus status;
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, 1, &status));
    CHECK(status == CUDBG_GRID_STATUS_PENDING);
    uint64_t warps;
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &warps));
    CHECK(warps == 0);
    // One call acknowledges both that were read.
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    // The device is suspended: the dispatch waits on it now.
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, 1, &status));
    CHECK(status == CUDBG_GRID_STATUS_ACTIVE);
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &warps));
    CHECK(warps == 1);
    kernel = next();
    CHECK(kernel.kind == CUDBG_EVENT_KERNEL_READY && kernel.cases.kernelReady.tid == second.cases.contextPush.tid);
    CHECK(kernel.cases.kernelReady.gridId == 2);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    // Each stopped run is a warp.
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &warps));
    CHECK(warps == 3);
    uint32_t count, tids[2];
    ANSWERS(CUDBG_SUCCESS, api->getNumWarps(0, &count));
    CHECK(count == 2);
    ANSWERS(CUDBG_SUCCESS, api->getTID(0, 0, 0, &tids[0]));
    ANSWERS(CUDBG_SUCCESS, api->getTID(0, 0, 1, &tids[1]));
    CHECK(tids[0] == first.cases.contextPush.tid && tids[1] == second.cases.contextPush.tid);
    // Both have the tensor. It is read as one of them sees it; a weight is the same for both.
    float          read[4];
    const uint64_t x = symbol(&image, "x", STT_OBJECT), w = symbol(&image, "w", STT_OBJECT);
    ANSWERS(CUDBG_ERROR_AMBIGUOUS_MEMORY_ADDRESS, api->readGlobalMemory(x, read, sizeof read));
    ANSWERS(CUDBG_ERROR_AMBIGUOUS_MEMORY_ADDRESS, api->writeGlobalMemory(x, read, sizeof read));
    for (uint32_t warp = 0; warp < 2; ++warp) {
        ANSWERS(CUDBG_SUCCESS, api->readGenericMemory(0, 0, warp, 0, x, read, sizeof read));
        CHECK(read[0] == 1 && read[3] == 4);
    }
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(w, read, sizeof read));
    CHECK(read[0] == 2);
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));

    // Launches are no longer reported, but the ends of the two runs are. An earlier notification may still be waiting.
    for (int left = 2; left;) {
        CUDBGEvent event = next();
        left -= event.kind == CUDBG_EVENT_CTX_POP;
        CHECK(event.kind == CUDBG_EVENT_CTX_POP || event.kind == CUDBG_EVENT_KERNEL_READY);
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, 1, &status));
    CHECK(status == CUDBG_GRID_STATUS_TERMINATED);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
