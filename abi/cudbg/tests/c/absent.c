// A client that sets a breakpoint, and does not look when it is hit.
#include "image.h"

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

int main(void)
{
    struct image image = {0, 0, NULL};
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    int is_over = 0;
    while (!is_over) {
        CUDBGEvent event;
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
            if (event.kind == CUDBG_EVENT_ELF_IMAGE_LOADED) {
                image = read_image(&event);
                ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, symbol(&image, "scale", STT_FUNC)));
                printf("ready\n");
                fflush(stdout);
            }
            is_over |= event.kind == CUDBG_EVENT_CTX_DESTROY;
        }
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
        if (!is_over) {
            wait_for_notification();
        }
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
