// A client that reads an event, and never acknowledges it.
// usage: forgetful REVISION: before 13.0 it is notified again, and receives timeouts
#include "check.h"

static int reminded;

static void on_event(CUDBGEventCallbackData41* data)
{
    reminded |= data->timeout != 0;
    notify();
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    const uint32_t revision = (uint32_t)atoi(argv[1]);
    get_table(revision > 156 ? 13 : 12, 0, revision);
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback41(on_event));
    for (;;) {
        wait_for_notification();
        CUDBGEvent event;
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
            if (event.kind == CUDBG_EVENT_ATTACH_COMPLETE) {
                printf("attached\n");
                fflush(stdout);
            }
            if (event.kind == CUDBG_EVENT_KERNEL_READY) {
                goto holds;
            }
            if (event.kind == CUDBG_EVENT_CTX_PUSH) {
                ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
            }
        }
    }
holds:
    printf("holds\n");
    fflush(stdout);
    if (revision <= 156) {
        while (!reminded) {
            wait_for_notification();
        }
        CUDBGEvent event;
        do {
            ANSWERS(CUDBG_SUCCESS, api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_ASYNC, &event));
        } while (event.kind != CUDBG_EVENT_TIMEOUT);
        printf("reminded\n");
        fflush(stdout);
    }
    CHECK(getchar() == EOF);
    CUDBGEvent event;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_ASYNC, &event) == CUDBG_SUCCESS) {
        CHECK(revision <= 156 || event.kind == CUDBG_EVENT_KERNEL_FINISHED);
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
