// A client whose callback has not returned when the program ends, so the library has not noticed the end yet. Nothing
// is left to suspend, which is no failure.
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool     is_closed;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    if (atomic_load(&is_closed)) {
        notify();
        pthread_mutex_lock(&gate);
        pthread_mutex_unlock(&gate);
    }
}

int main(void)
{
    CUDBGEvent event;

    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    pthread_mutex_lock(&gate);
    atomic_store(&is_closed, true);
    printf("attached\n");
    fflush(stdout);
    wait_for_notification();
    printf("notified\n");
    fflush(stdout);
    // The input ends when the program has ended.
    while (getchar() != EOF) {
    }
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    pthread_mutex_unlock(&gate);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
