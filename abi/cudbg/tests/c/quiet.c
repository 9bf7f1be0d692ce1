// A client that did not ask for events of suspensions receives none, whatever it does.
#include "check.h"

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

static int is_attached(void)
{
    CUDBGEvent event;
    int        attached = 0;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
        CHECK(event.kind != CUDBG_EVENT_ALL_DEVICES_SUSPENDED && event.kind != CUDBG_EVENT_FUNCTIONS_LOADED);
        attached |= event.kind == CUDBG_EVENT_ATTACH_COMPLETE;
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    return attached;
}

int main(void)
{
    uint64_t warps;

    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    do {
        wait_for_notification();
    } while (!is_attached());
    ANSWERS(CUDBG_SUCCESS, api->suspendAllDevices(1));
    // This call waits until the device is suspended.
    ANSWERS(CUDBG_ERROR_SUSPENDED_DEVICE, api->suspendAllDevices(0));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &warps));
    is_attached();
    ANSWERS(CUDBG_SUCCESS, api->resumeAllDevices());
    is_attached();
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
