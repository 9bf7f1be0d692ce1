// Which calls are allowed inside the callback: none before 13.0, and since then those that take and acknowledge events.
// The callback is always called on one thread, and a simultaneous call on another thread is not a call inside the
// callback.
// usage: callback FLAVOUR REVISION
#include "check.h"

static int       is_13, has_ended, is_over, calls;
static pthread_t caller;
static int       was_called_once;

static pthread_mutex_t lock    = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  changed = PTHREAD_COND_INITIALIZER;
static int             inside, answered;

// Takes all events, and acknowledges them.
static void drain(void)
{
    CUDBGEvent  event;
    CUDBGResult result;
    while ((result = api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event)) == CUDBG_SUCCESS) {
        has_ended |= event.kind == CUDBG_EVENT_CTX_DESTROY;
    }
    CHECK(result == CUDBG_ERROR_NO_EVENT_AVAILABLE);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
}

static void on_any_event(void)
{
    pthread_mutex_lock(&lock);
    CHECK(!was_called_once || pthread_equal(caller, pthread_self()));
    caller          = pthread_self();
    was_called_once = 1;
    // The main thread makes a call while this function has not returned.
    if (calls++ == 0) {
        inside = 1;
        pthread_cond_broadcast(&changed);
        while (!answered) {
            pthread_cond_wait(&changed, &lock);
        }
    }
    pthread_mutex_unlock(&lock);

    uint32_t   count;
    CUDBGEvent event;
    char       text[16];
    CHECK(api->getNumDevices(&count) == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->getNumDevices(NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->initialize() == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->finalize() == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->suspendDevice(0) == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->setNotifyNewEventCallback(NULL, NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->getErrorStringEx(text, sizeof text, NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
    CHECK(api->readRegister(0, 0, 0, 0, 0, &count) == CUDBG_ERROR_RECURSIVE_API_CALL);
    if (is_13) {
        CHECK(api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, NULL) == CUDBG_ERROR_INVALID_ARGS);
        CUDBGResult result = api->getNextSyncEvent55(NULL);
        CHECK(result == CUDBG_ERROR_INVALID_ARGS);
        drain();
        CHECK(api->consumeCudaLogs(NULL, 0, &count) == CUDBG_ERROR_NOT_SUPPORTED);
        CHECK(api->acknowledgeEvents42() == CUDBG_SUCCESS && api->acknowledgeEvent30(NULL) == CUDBG_SUCCESS);
    } else {
        CHECK(api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->getNextEvent30(NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->getNextAsyncEvent50(NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->acknowledgeSyncEvents() == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->consumeCudaLogs(NULL, 0, &count) == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->acknowledgeEvents42() == CUDBG_ERROR_RECURSIVE_API_CALL);
        CHECK(api->acknowledgeEvent30(NULL) == CUDBG_ERROR_RECURSIVE_API_CALL);
    }
    // The main thread closes the session then, and no call of this function may follow.
    if (is_13) {
        pthread_mutex_lock(&lock);
        is_over = has_ended;
        pthread_mutex_unlock(&lock);
    }
    notify();
}

static void on_event31(void* data)
{
    CHECK(data == &is_13);
    on_any_event();
}

static void on_event40(CUDBGEventCallbackData40* data)
{
    CHECK(data);
    on_any_event();
}

static void on_event41(CUDBGEventCallbackData41* data)
{
    CHECK(data && (!is_13 || !data->timeout));
    on_any_event();
}

static void on_event(CUDBGEventCallbackData* data)
{
    CHECK(data->userData == &is_13);
    on_any_event();
}

// A function that is replaced before it is called.
static void never(CUDBGEventCallbackData40* data)
{
    (void)data;
    CHECK(!"it was replaced");
}

int main(int argc, char** argv)
{
    CHECK(argc == 3);
    const uint32_t revision = (uint32_t)atoi(argv[2]);
    is_13                   = revision > 156;
    get_table(revision > 156 ? 13 : 12, 0, revision);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback40(never));
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback40(NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    // The events of attaching wait already, and a function that is set now is called for them.
    switch (atoi(argv[1])) {
    case 31: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(on_event31, &is_13)); break;
    case 40: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback40(on_event40)); break;
    case 41: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback41(on_event41)); break;
    default: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, &is_13));
    }
    pthread_mutex_lock(&lock);
    while (!inside) {
        pthread_cond_wait(&changed, &lock);
    }
    uint32_t count;
    ANSWERS(CUDBG_SUCCESS, api->getNumDevices(&count));
    answered = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    printf("attached\n");
    fflush(stdout);
    while (!is_over) {
        wait_for_notification();
        if (!is_13) {
            drain();
            is_over = has_ended;
        }
    }
    CHECK(!pthread_equal(caller, pthread_self()));
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
