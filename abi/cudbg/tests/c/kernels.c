// A client that is linked with the library, or opens it under the name in its argument. It receives the first kernels
// of a model in the seed's loop, asks for a capability in the variable of the library, and ends.
// usage: kernels [NAME]
#include "check.h"

#ifdef OPENED
#include <dlfcn.h>
#endif

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

int main(int argc, char** argv)
{
    uint32_t* capabilities = NULL;
    CHECK(argc == 1 || argc == 2);
#ifdef OPENED
    CHECK(argc == 2);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    CUDBGResult (*get)(uint32_t, uint32_t, uint32_t, CUDBGAPI*) = NULL;
    *(void**)&get                                               = dlsym(library, "cudbgGetAPI");
    CHECK(get && get(13, 4, 193, &api) == CUDBG_SUCCESS);
    capabilities = (uint32_t*)dlsym(library, "cudbgDebuggerCapabilities");
    CHECK(capabilities);
#else
    (void)argv;
    get_table(13, 4, 193);
    capabilities = &cudbgDebuggerCapabilities;
#endif
    // Then no event reports the beginning and the end of a run.
    *capabilities = CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS;
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    unsigned kernels = 0, images = 0;
    uint64_t last    = 0;
    while (kernels < 100) {
        wait_for_notification();
        CUDBGEvent  event;
        CUDBGResult result;
        for (result = api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event);
             result == CUDBG_SUCCESS && event.kind != CUDBG_EVENT_INVALID;
             result = api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event)) {
            switch (event.kind) {
            case CUDBG_EVENT_ELF_IMAGE_LOADED: ++images; break;
            case CUDBG_EVENT_KERNEL_READY:
                CHECK(event.cases.kernelReady.gridId > last);
                last = event.cases.kernelReady.gridId;
                ++kernels;
                break;
            case CUDBG_EVENT_CTX_CREATE:
            case CUDBG_EVENT_ATTACH_COMPLETE: break;
            default: fprintf(stderr, "nobody asked for %s\n", name_of(event.kind)); return 1;
            }
        }
        CHECK(result == CUDBG_ERROR_NO_EVENT_AVAILABLE);
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
    CHECK(images == 1);
    // Finished kernels are reported in the other queue, in their order.
    CUDBGEvent event;
    uint64_t   finished = 0;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_ASYNC, &event) == CUDBG_SUCCESS) {
        CHECK(event.kind == CUDBG_EVENT_KERNEL_FINISHED && event.cases.kernelFinished.gridId > finished);
        finished = event.cases.kernelFinished.gridId;
    }
    CHECK(finished >= 90);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
