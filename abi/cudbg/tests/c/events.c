// The seed's event loop in each generation: events are taken until there is none, and acknowledged. The structure of
// each call lies between bytes that must stay as they are.
// usage: events GENERATION KERNELS: ends when the context is destroyed, or after this many kernels if the generation
// has no such event
#include "check.h"

#define GUARD 64
#define FILL  0xa5

static int      generation;
static unsigned kernels, ready;
static int      is_over;
static char     late[1 << 16];

static void on_event31(void* data)
{
    CHECK(data == &generation);
    notify();
}

static void on_event40(CUDBGEventCallbackData40* data)
{
    CHECK(data);
    notify();
}

static void on_event41(CUDBGEventCallbackData41* data)
{
    CHECK(data && data->timeout <= 1);
    notify();
}

static void on_event(CUDBGEventCallbackData* data)
{
    CHECK(data && data->userData == &generation);
    notify();
}

// The parts that are the same in all generations: the counts, and the lines. Asynchronous events are printed at the
// end.
static void line(CUDBGEventKind kind, int is_async, const char* more)
{
    if (kind == CUDBG_EVENT_TIMEOUT) {
        return;
    }
    ready += kind == CUDBG_EVENT_KERNEL_READY;
    is_over |= kind == CUDBG_EVENT_CTX_DESTROY || (generation == 30 && ready == kernels);
    if (is_async) {
        size_t used = strlen(late);
        snprintf(late + used, sizeof late - used, "async %s%s\n", name_of(kind), more);
    } else {
        printf("%s%s\n", name_of(kind), more);
        fflush(stdout);
    }
}

static void check_guard(const unsigned char* bytes, size_t from, size_t to)
{
    for (size_t at = from; at < to; ++at) {
        CHECK(bytes[at] == FILL);
    }
}

// Takes all events of a queue into structures of one generation. MORE describes what a structure has besides its kind.
#define DRAIN(TYPE, TAKE, IS_ASYNC, MORE) \
    for (;;) { \
        struct { \
            unsigned char before[GUARD]; \
            TYPE          event; \
            unsigned char behind[GUARD]; \
        } place; \
        memset(&place, FILL, sizeof place); \
        CUDBGResult result = TAKE(&place.event); \
        check_guard(place.before, 0, GUARD); \
        check_guard(place.behind, 0, GUARD); \
        if (result != CUDBG_SUCCESS) { \
            CHECK(result == CUDBG_ERROR_NO_EVENT_AVAILABLE); \
            CHECK(place.event.kind == CUDBG_EVENT_INVALID); \
            check_guard((const unsigned char*)&place.event, sizeof place.event.kind, sizeof place.event); \
            break; \
        } \
        char more[128] = ""; \
        MORE(more, place.event); \
        line(place.event.kind, IS_ASYNC, more); \
    }

#define PRINT(TO, ...) snprintf(TO, sizeof(TO), __VA_ARGS__)

static const char* is_image(const void* bytes, uint64_t size)
{
    return size > 64 && memcmp(bytes, "\177ELF", 4) == 0 ? "an image" : "no image";
}

// The types of ELF files: an executable one, which is relocated, and another one.
static int are_two(const char* relocated, const char* other)
{
    return relocated[16] == 2 && other[16] == 1;
}

#define MORE30(TO, E) \
    switch (E.kind) { \
    case CUDBG_EVENT_ELF_IMAGE_LOADED: \
        PRINT(TO, " %s", is_image(E.cases.elfImageLoaded.relocatedElfImage, E.cases.elfImageLoaded.size)); \
        CHECK(are_two(E.cases.elfImageLoaded.relocatedElfImage, E.cases.elfImageLoaded.nonRelocatedElfImage)); \
        break; \
    case CUDBG_EVENT_KERNEL_READY: \
        PRINT(TO, " grid %u", E.cases.kernelReady.gridId); \
        CHECK(E.cases.kernelReady.dev == 0 && E.cases.kernelReady.tid); \
        break; \
    case CUDBG_EVENT_KERNEL_FINISHED: PRINT(TO, " grid %u", E.cases.kernelFinished.gridId); break; \
    default: break; \
    }

#define CONTEXT(TO, E, MEMBER) \
    PRINT(TO, " context %u", (unsigned)E.cases.MEMBER.context); \
    CHECK(E.cases.MEMBER.dev == 0)

#define MORE32(TO, E) \
    switch (E.kind) { \
    case CUDBG_EVENT_ELF_IMAGE_LOADED: \
        PRINT(TO, " %s of module %u", \
              is_image(E.cases.elfImageLoaded.nonRelocatedElfImage, E.cases.elfImageLoaded.size), \
              (unsigned)E.cases.elfImageLoaded.module); \
        CHECK(are_two(E.cases.elfImageLoaded.relocatedElfImage, E.cases.elfImageLoaded.nonRelocatedElfImage)); \
        break; \
    case CUDBG_EVENT_KERNEL_READY: \
        PRINT(TO, " grid %u", E.cases.kernelReady.gridId); \
        CHECK(E.cases.kernelReady.functionEntry && E.cases.kernelReady.context && E.cases.kernelReady.module); \
        break; \
    case CUDBG_EVENT_KERNEL_FINISHED: \
        PRINT(TO, " grid %u", E.cases.kernelFinished.gridId); \
        CHECK(E.cases.kernelFinished.functionEntry); \
        break; \
    case CUDBG_EVENT_CTX_PUSH: CONTEXT(TO, E, contextPush); CHECK(E.cases.contextPush.tid); break; \
    case CUDBG_EVENT_CTX_POP: CONTEXT(TO, E, contextPop); break; \
    case CUDBG_EVENT_CTX_CREATE: CONTEXT(TO, E, contextCreate); break; \
    case CUDBG_EVENT_CTX_DESTROY: CONTEXT(TO, E, contextDestroy); break; \
    default: break; \
    }

#define MORE42(TO, E) \
    MORE32(TO, E) \
    if (E.kind == CUDBG_EVENT_KERNEL_READY) { \
        CHECK(E.cases.kernelReady.gridDim.x == 1 && E.cases.kernelReady.gridDim.y == 1 && \
              E.cases.kernelReady.gridDim.z == 1 && E.cases.kernelReady.blockDim.x == 1); \
        CHECK(E.cases.kernelReady.type == CUDBG_KNL_TYPE_APPLICATION); \
    }

#define MORE55(TO, E) \
    MORE42(TO, E) \
    if (E.kind == CUDBG_EVENT_KERNEL_READY) { \
        CHECK(E.cases.kernelReady.gridId64 == E.cases.kernelReady.gridId && E.cases.kernelReady.reserved0 == 0); \
        CHECK(E.cases.kernelReady.origin == CUDBG_KNL_ORIGIN_CPU); \
    } \
    if (E.kind == CUDBG_EVENT_KERNEL_FINISHED) { \
        CHECK(E.cases.kernelFinished.gridId64 == E.cases.kernelFinished.gridId); \
    }

#define MORE60(TO, E) \
    switch (E.kind) { \
    case CUDBG_EVENT_ELF_IMAGE_LOADED: { \
        char* image = (char*)malloc(E.cases.elfImageLoaded.size); \
        ANSWERS(CUDBG_SUCCESS, api->getElfImageByHandle(0, E.cases.elfImageLoaded.handle, CUDBG_ELF_IMAGE_TYPE_RELOCATED, \
                                                        image, E.cases.elfImageLoaded.size)); \
        PRINT(TO, " %s of module %u", is_image(image, E.cases.elfImageLoaded.size), \
              (unsigned)E.cases.elfImageLoaded.module); \
        free(image); \
        CHECK(E.cases.elfImageLoaded.handle == E.cases.elfImageLoaded.module && !E.cases.elfImageLoaded.properties); \
        break; \
    } \
    case CUDBG_EVENT_ELF_IMAGE_UNLOADED: \
        PRINT(TO, " module %u", (unsigned)E.cases.elfImageUnloaded.handle); \
        CHECK(E.cases.elfImageUnloaded.size > 64); \
        break; \
    case CUDBG_EVENT_KERNEL_READY: \
        PRINT(TO, " grid %u", (unsigned)E.cases.kernelReady.gridId); \
        CHECK(E.cases.kernelReady.gridDim.x == 1 && E.cases.kernelReady.blockDim.z == 1); \
        CHECK(E.cases.kernelReady.type == CUDBG_KNL_TYPE_APPLICATION && E.cases.kernelReady.functionEntry); \
        break; \
    case CUDBG_EVENT_KERNEL_FINISHED: \
        PRINT(TO, " grid %u", (unsigned)E.cases.kernelFinished.gridId); \
        break; \
    case CUDBG_EVENT_CTX_PUSH: CONTEXT(TO, E, contextPush); CHECK(E.cases.contextPush.tid); break; \
    case CUDBG_EVENT_CTX_POP: CONTEXT(TO, E, contextPop); break; \
    case CUDBG_EVENT_CTX_CREATE: CONTEXT(TO, E, contextCreate); break; \
    case CUDBG_EVENT_CTX_DESTROY: CONTEXT(TO, E, contextDestroy); break; \
    default: break; \
    }

static CUDBGResult next_sync(CUDBGEvent* event)
{
    return api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, event);
}

static CUDBGResult next_async(CUDBGEvent* event)
{
    return api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_ASYNC, event);
}

static void drain(void)
{
    switch (generation) {
    case 30:
        DRAIN(CUDBGEvent30, api->getNextEvent30, 0, MORE30)
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeEvent30(NULL));
        break;
    case 32:
        DRAIN(CUDBGEvent32, api->getNextEvent32, 0, MORE32)
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeEvents42());
        break;
    case 42:
        DRAIN(CUDBGEvent42, api->getNextEvent42, 0, MORE42)
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeEvents42());
        break;
    case 50:
        DRAIN(CUDBGEvent50, api->getNextAsyncEvent50, 1, MORE42)
        DRAIN(CUDBGEvent50, api->getNextSyncEvent50, 0, MORE42)
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
        break;
    case 55:
        DRAIN(CUDBGEvent55, api->getNextAsyncEvent55, 1, MORE55)
        DRAIN(CUDBGEvent55, api->getNextSyncEvent55, 0, MORE55)
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
        break;
    default:
        DRAIN(CUDBGEvent, next_async, 1, MORE60)
        DRAIN(CUDBGEvent, next_sync, 0, MORE60)
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
}

int main(int argc, char** argv)
{
    CHECK(argc == 3);
    generation = atoi(argv[1]);
    kernels    = (unsigned)atoi(argv[2]);
    get_table((uint32_t)generation / 10, (uint32_t)generation % 10, generation == 60 ? 193 : (uint32_t)generation);
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    switch (generation) {
    case 30:
    case 32: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(on_event31, &generation)); break;
    case 42: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback40(on_event40)); break;
    case 50:
    case 55: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback41(on_event41)); break;
    default: ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, &generation));
    }
    printf("attached\n");
    fflush(stdout);
    while (!is_over) {
        wait_for_notification();
        drain();
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    fputs(late, stdout);
    return 0;
}
