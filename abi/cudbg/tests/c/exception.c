// A run that fails is stopped as if by an exception. An engine that panics is an internal error, and so is a program
// that has ended.
// usage: exception failure|infinity|panic|gone
#include "image.h"

static struct image image;
static int          error = -1, is_infinity;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

static void drain(void)
{
    CUDBGEvent event;
    while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
        if (event.kind == CUDBG_EVENT_ELF_IMAGE_LOADED) {
            image = read_image(&event);
        }
        if (event.kind == CUDBG_EVENT_INTERNAL_ERROR) {
            error = (int)event.cases.internalError.errorType;
        }
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
}

static void look(void)
{
    uint64_t    mask, pc;
    uint32_t    size = 0;
    CUDBGResult result;
    while ((result = api->readDeviceExceptionState80(0, &mask)) != CUDBG_SUCCESS) {
        CHECK(result == CUDBG_ERROR_RUNNING_DEVICE);
        wait_for_notification();
        drain();
    }
    CHECK(mask == 1);
    CUDBGException_t exception;
    bool             is_error;
    // A failure is known when the operator has begun, and a result when it has ended.
    const uint64_t log = symbol(&image, "log", STT_FUNC) + (is_infinity ? 16 : 0);
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 1);
    ANSWERS(CUDBG_SUCCESS, api->readBrokenWarps(0, 0, &mask));
    CHECK(mask == 0);
    ANSWERS(CUDBG_SUCCESS, api->readLaneException(0, 0, 0, 0, &exception));
    CHECK(exception == CUDBG_EXCEPTION_WARP_ASSERT);
    ANSWERS(CUDBG_SUCCESS, api->readLaneStatus(0, 0, 0, 0, &is_error));
    CHECK(is_error);
    ANSWERS(CUDBG_SUCCESS, api->readErrorPC(0, 0, 0, &pc, &is_error));
    CHECK(is_error && pc == log);
    ANSWERS(CUDBG_SUCCESS, api->readSmException(0, 0, &exception, &pc, &is_error));
    CHECK(is_error && pc == log && exception == CUDBG_EXCEPTION_WARP_ASSERT);
    CUDBGWarpState state;
    ANSWERS(CUDBG_SUCCESS, api->readWarpState(0, 0, 0, &state));
    CHECK(state.errorPCValid && state.errorPC == log && state.lane[0].exception == CUDBG_EXCEPTION_WARP_ASSERT);
    unsigned char blob[256];
    uint32_t      written;
    ANSWERS(CUDBG_SUCCESS, api->getDeviceInfo(0, CUDBG_RESPONSE_TYPE_UPDATE, blob, sizeof blob, &written));
    CHECK(written == 8 + 16 + 20 + 44 + 12 + 8);
    ANSWERS(CUDBG_SUCCESS, api->getCudaExceptionString(0, 0, 0, 0, NULL, 0, &size));
    char* text = (char*)malloc(size);
    ANSWERS(CUDBG_ERROR_BUFFER_TOO_SMALL, api->getCudaExceptionString(0, 0, 0, 0, text, size - 1, NULL));
    ANSWERS(CUDBG_SUCCESS, api->getCudaExceptionString(0, 0, 0, 0, text, size, NULL));
    CHECK(strlen(text) + 1 == size && strstr(text, is_infinity ? "infinite" : "it was made to fail") && strstr(text, "log"));
    // The tensors of a run that has failed no longer exist; what was computed can be read.
    float read;
    if (is_infinity) {
        ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(symbol(&image, "b", STT_OBJECT) + 4, &read, 4));
        CHECK(read < -1e38f);
    } else {
        ANSWERS(CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM, api->readGlobalMemory(symbol(&image, "a", STT_OBJECT), &read, 4));
    }
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    cudbgDebuggerCapabilities = CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    while (!image.bytes) {
        wait_for_notification();
        drain();
    }
    printf("attached\n");
    fflush(stdout);
    is_infinity = strcmp(argv[1], "infinity") == 0;
    if (is_infinity || strcmp(argv[1], "failure") == 0) {
        look();
        printf("seen\n");
        fflush(stdout);
        CHECK(getchar() == EOF);
    } else {
        while (error < 0) {
            wait_for_notification();
            drain();
        }
        CHECK(error == (strcmp(argv[1], "panic") == 0 ? CUDBG_ERROR_INTERNAL : CUDBG_ERROR_COMMUNICATION_FAILURE));
    }
    if (strcmp(argv[1], "gone") == 0) {
        ANSWERS(CUDBG_ERROR_COMMUNICATION_FAILURE, api->suspendDevice(0));
        ANSWERS(CUDBG_ERROR_COMMUNICATION_FAILURE, api->setBreakpoint(0, symbol(&image, "/conv1/Conv", STT_FUNC)));
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
