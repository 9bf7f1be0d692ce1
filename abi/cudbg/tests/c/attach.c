// Attaching, models that come and go meanwhile, and detaching.
#include "image.h"

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
    return event;
}

// Takes an event of a kind. Nothing else waits behind it: its thread waits for the acknowledgement.
static CUDBGEvent only(CUDBGEventKind kind)
{
    CUDBGEvent event = next(), none;
    if (event.kind != kind) {
        fprintf(stderr, "%s, not %s\n", name_of(event.kind), name_of(kind));
        exit(1);
    }
    ANSWERS(CUDBG_ERROR_NO_EVENT_AVAILABLE, api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &none));
    return event;
}

static void functions_are_loaded(const struct image* image, unsigned count)
{
    CUDBGLoadedFunctionInfo functions[8];
    const Elf64_Ehdr*       header   = (const Elf64_Ehdr*)image->bytes;
    const Elf64_Shdr*       sections = (const Elf64_Shdr*)(image->bytes + header->e_shoff);
    CHECK(count <= 8);
    ANSWERS(CUDBG_SUCCESS, api->getLoadedFunctionInfo118(0, image->handle, functions, count));
    for (unsigned at = 0; at < count; ++at) {
        CHECK(functions[at].sectionIndex < header->e_shnum);
        CHECK(sections[functions[at].sectionIndex].sh_addr == functions[at].address);
    }
    CUDBGLoadedFunctionInfo last;
    ANSWERS(CUDBG_SUCCESS, api->getLoadedFunctionInfo(0, image->handle, &last, count - 1, 1));
    CHECK(last.address == functions[count - 1].address && last.address == symbol(image, "sum", STT_FUNC));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getLoadedFunctionInfo(0, image->handle, functions, 1, count));
}

int main(void)
{
    cudbgDebuggerCapabilities = CUDBG_DEBUGGER_CAPABILITY_LAZY_FUNCTION_LOADING;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    // There was no model before.
    CHECK(only(CUDBG_EVENT_ATTACH_COMPLETE).kind == CUDBG_EVENT_ATTACH_COMPLETE);
    printf("attached\n");
    fflush(stdout);

    // A model is loaded: its thread waits at one event after the other.
    CUDBGEvent create = only(CUDBG_EVENT_CTX_CREATE);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    CUDBGEvent   loaded = only(CUDBG_EVENT_ELF_IMAGE_LOADED);
    struct image image  = read_image(&loaded);
    CHECK(create.cases.contextCreate.context == loaded.cases.elfImageLoaded.context && create.cases.contextCreate.tid);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getElfImageByHandle(0, image.handle, CUDBG_ELF_IMAGE_TYPE_RELOCATED,
                                                              image.bytes, image.size - 1));
    char* other = (char*)malloc(image.size);
    ANSWERS(CUDBG_SUCCESS, api->getElfImageByHandle(0, image.handle, CUDBG_ELF_IMAGE_TYPE_NONRELOCATED, other, image.size));
    CHECK(memcmp(other, image.bytes, image.size) != 0);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getElfImageByHandle(0, image.handle, (CUDBGElfImageType)2, other, image.size));
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    CUDBGEvent functions = only(CUDBG_EVENT_FUNCTIONS_LOADED);
    CHECK(functions.cases.functionsLoaded.module == loaded.cases.elfImageLoaded.module);
    functions_are_loaded(&image, functions.cases.functionsLoaded.count);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());

    // The model runs, and one operator is reported. Then the client detaches.
    CHECK(only(CUDBG_EVENT_CTX_PUSH).cases.contextPush.context == create.cases.contextCreate.context);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    only(CUDBG_EVENT_KERNEL_READY);
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, symbol(&image, "sum", STT_FUNC)));
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->clearAttachState());
    ANSWERS(CUDBG_SUCCESS, api->requestCleanupOnDetach(1));
    only(CUDBG_EVENT_DETACH_COMPLETE);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    float    read;
    uint64_t mask;
    ANSWERS(CUDBG_ERROR_COMMUNICATION_FAILURE, api->setBreakpoint(0, symbol(&image, "sum", STT_FUNC)));
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->readGlobalMemory(symbol(&image, "a", STT_OBJECT), &read, 4));
    // The calls that a debugger makes at the end succeed until finalize, because they have no effect any more.
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 0);
    ANSWERS(CUDBG_SUCCESS, api->unsetBreakpoint(0, symbol(&image, "sum", STT_FUNC)));
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->suspendAllDevices(1));
    ANSWERS(CUDBG_SUCCESS, api->resumeAllDevices());
    ANSWERS(CUDBG_SUCCESS, api->requestCleanupOnDetach(1));
    CHECK(getchar() == EOF);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
