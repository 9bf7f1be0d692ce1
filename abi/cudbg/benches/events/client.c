// The other process of the benchmark.
// usage: client echo SOCKET: answers messages.
// client debug: debugs OPSCOPE_DEBUG_TARGET, and prints for each kernel when its callback was called and when it called
// acknowledgeSyncEvents, in nanoseconds of the monotonic clock.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cudadebugger.h"

static CUDBGAPI api;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Since 13.0 events are taken and acknowledged inside of the callback.
static void on_event(CUDBGEventCallbackData* data)
{
    const uint64_t called = now();
    (void)data;
    CUDBGEvent event;
    int        kernels = 0;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
        kernels += event.kind == CUDBG_EVENT_KERNEL_READY;
    }
    const uint64_t acknowledges = now();
    api->acknowledgeSyncEvents();
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_ASYNC, &event) == CUDBG_SUCCESS) {
    }
    if (kernels) {
        printf("%" PRIu64 " %" PRIu64 "\n", called, acknowledges);
        fflush(stdout);
    }
}

static int debug(void)
{
    cudbgDebuggerCapabilities = CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS;
    if (cudbgGetAPI(13, 4, 193, &api) || api->setNotifyNewEventCallback(on_event, NULL) || api->initialize()) {
        return 1;
    }
    printf("attached\n");
    fflush(stdout);
    // Until the other side has enough.
    while (getchar() != EOF) {
    }
    return (int)api->finalize();
}

static int echo(const char* path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char               message[64];
    const int          peer = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(peer, (const struct sockaddr*)&address, sizeof address)) {
        return 1;
    }
    while (recv(peer, message, sizeof message, MSG_WAITALL) == sizeof message) {
        if (send(peer, message, sizeof message, 0) != sizeof message) {
            return 1;
        }
    }
    return 0;
}

int main(int argc, char** argv)
{
    if (argc == 3 && strcmp(argv[1], "echo") == 0) {
        return echo(argv[2]);
    }
    return debug();
}
