// Callbacks that throw: the exceptions end in the library, which reports them, and calls the function again.
#include <stdexcept>
#include <string>

#include "check.h"

static int calls;

static void on_event(CUDBGEventCallbackData*)
{
    const std::string kept = "something with a destructor";
    notify();
    if (++calls % 2)
        throw std::runtime_error(kept);
    throw 42;
}

int main()
{
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, nullptr));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    for (bool is_over = false; !is_over;) {
        wait_for_notification();
        CUDBGEvent event;
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
            if (event.kind == CUDBG_EVENT_ATTACH_COMPLETE) {
                printf("attached\n");
                fflush(stdout);
            }
            is_over |= event.kind == CUDBG_EVENT_CTX_DESTROY;
        }
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
    CHECK(calls > 3);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
