// A client that takes its events inside the callback, which is called even before initialize has returned. The session
// exists by then.
#include "check.h"

static int was_called;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    if (__atomic_exchange_n(&was_called, 1, __ATOMIC_SEQ_CST)) {
        return;
    }
    CUDBGEvent event;
    ANSWERS(CUDBG_SUCCESS, api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event));
    CHECK(event.kind == CUDBG_EVENT_CTX_CREATE);
    notify();
}

int main(void)
{
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    for (int times = 0; times < 100; ++times) {
        __atomic_store_n(&was_called, 0, __ATOMIC_SEQ_CST);
        ANSWERS(CUDBG_SUCCESS, api->initialize());
        wait_for_notification();
        ANSWERS(CUDBG_SUCCESS, api->finalize());
    }
    return 0;
}
