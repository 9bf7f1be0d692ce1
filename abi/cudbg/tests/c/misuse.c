// Every misuse that has its own code, and the order in which several are noticed.
// usage: misuse REVISION: since 13.0 (a revision above 156) some codes are different. Prints "attached", and waits for
// the end of its input.
#include "check.h"

typedef CUDBGResult (*slot)(void);

static void before_the_session(void)
{
    CUDBGAPI same = NULL, other = NULL;
    uint32_t major = 0, minor = 0, revision = 0;
    CHECK(cudbgGetAPI(0, 0, 0, &same) == CUDBG_SUCCESS && same);
    CHECK(cudbgGetAPI(99, 0, 100, &other) == CUDBG_SUCCESS && other == same);
    CHECK(GetCUDADebuggerAPI(13, 4, 193, &other) == CUDBG_SUCCESS && other == same);
    other = NULL;
    CHECK(cudbgGetAPI(13, 4, 194, &other) == CUDBG_ERROR_INCOMPATIBLE_API && !other);
    CHECK(cudbgGetAPI(13, 4, 193, NULL) == CUDBG_ERROR_INVALID_ARGS);
    CHECK(cudbgGetAPIVersion(&major, &minor, &revision) == CUDBG_SUCCESS);
    CHECK(major == 13 && minor == 4 && revision == 193);
    CHECK(cudbgGetAPIVersion(&major, NULL, &revision) == CUDBG_ERROR_INVALID_ARGS);
    CHECK(GetCUDADebuggerAPIVersion(NULL, &minor, &revision) == CUDBG_ERROR_INVALID_ARGS);
    CHECK(cudbgInitiateDebuggerAttachProcedureFd == -1 && !cudbgDebuggerInitialized);
    CHECK(!cudbgAttachHandlerAvailable && InitializeInjection() == 1 && cudbgAttachHandlerAvailable == 1);
    cudbgReportedDriverInternalErrorCode = CUDBG_ERROR_ATTACH_NOT_POSSIBLE;
    CHECK(!cudbgResumeForAttachDetach);
    cudbgApiAttach();
    CHECK(cudbgResumeForAttachDetach == 1 && cudbgReportedDriverInternalErrorCode == CUDBG_SUCCESS);
    cudbgApiDetach();
    cudbgApiInit(0);
    cudbgPreInit();
    cudbgReportDriverApiError();
    cudbgReportDriverInternalError();
    cudbgReportAttachProcedureFinished();

    const slot* slots = (const slot*)(const void*)same;
    for (unsigned at = 0; at < 164; ++at) {
        CHECK(slots[at]);
    }
    CHECK(sizeof *same == 164 * sizeof *slots);
}

static void on_event31(void* data)
{
    (void)data;
}

static void is_uninitialized(void)
{
    CUDBGEvent event;
    uint32_t   count = 7, size = 7;
    char       text[8];
    memset(&event, 0xa5, sizeof event);
    const CUDBGEvent untouched = event;
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getNextEvent((CUDBGEventQueueType)9, &event));
    CHECK(memcmp(&event, &untouched, sizeof event) == 0);
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getNextEvent30(NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getNextSyncEvent55(NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->acknowledgeEvent30(NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->acknowledgeEvents42());
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->acknowledgeSyncEvents());
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getNumDevices(&count));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->suspendDevice(0));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->resumeDevice(0));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->suspendAllDevices(0));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->setBreakpoint(0, 1));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->readGlobalMemory(1, text, 1));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->clearAttachState());
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->requestCleanupOnDetach(1));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->singleStepWarp41(0, 0, 0, NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->singleStepWarp65(0, 0, 0, 1, NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->singleStepWarp(0, 0, 0, ~0u, 1, CUDBG_SINGLE_STEP_FLAGS_NON_BLOCKING, NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->resumeWarpsUntilPC(0, 0, 1, 0, CUDBG_SINGLE_STEP_FLAGS_NON_BLOCKING));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->consumeCudaLogs(NULL, 0, NULL));
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->finalize());
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->readRegister(0, 0, 0, 0, 0, &count));
    CHECK(count == 7);
    (void)size;
}

static void without_a_session(void)
{
    uint32_t capabilities = 0, size = 7;
    char     text[8];
    ANSWERS(CUDBG_ERROR_UNINITIALIZED, api->getErrorStringEx(text, sizeof text, &size));
    is_uninitialized();
    ANSWERS(CUDBG_SUCCESS, api->initializeAttachStub());
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(on_event31, NULL));
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(NULL, NULL));
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback40(NULL));
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback41(NULL));
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(NULL, NULL));
    ANSWERS(CUDBG_SUCCESS, api->getSupportedDebuggerCapabilities((CUDBGCapabilityFlags*)&capabilities));
    CHECK(capabilities & CUDBG_DEBUGGER_CAPABILITY_SUSPEND_EVENTS);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getSupportedDebuggerCapabilities(NULL));
}

// Why a session is not opened.
static void refused(void)
{
    char  text[512];
    char* target = strdup(getenv("OPSCOPE_DEBUG_TARGET"));
    setenv("OPSCOPE_DEBUG_TARGET", "a model", 1);
    ANSWERS(CUDBG_ERROR_INVALID_ENVVAR_ARGS, api->initialize());
    setenv("OPSCOPE_DEBUG_TARGET", "/nowhere/model.sock", 1);
    ANSWERS(CUDBG_ERROR_NO_DEVICE_AVAILABLE, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(text, sizeof text, NULL));
    CHECK(strstr(text, "/nowhere/model.sock"));
    // Texts are ASCII, whatever is in them.
    setenv("OPSCOPE_DEBUG_TARGET", "/nowhere/gr\xc3\xb6\xc3\x9f" "e.sock", 1);
    ANSWERS(CUDBG_ERROR_NO_DEVICE_AVAILABLE, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(text, sizeof text, NULL));
    CHECK(strstr(text, "/nowhere/gr\\u{f6}\\u{df}e.sock"));
    for (const char* sign = text; *sign; ++sign) {
        CHECK((unsigned char)*sign < 0x80);
    }
    setenv("OPSCOPE_DEBUG_TARGET", "4194305", 1);
    ANSWERS(CUDBG_ERROR_NO_DEVICE_AVAILABLE, api->initialize());
    unsetenv("OPSCOPE_DEBUG_TARGET");
    ANSWERS(CUDBG_ERROR_NO_DEVICE_AVAILABLE, api->initialize()); // this process has no debug server
    setenv("OPSCOPE_DEBUG_TARGET", target, 1);
    free(target);
}

static void arguments(int is_13)
{
    const CUDBGResult device = is_13 ? CUDBG_ERROR_INVALID_ARGS : CUDBG_ERROR_INVALID_DEVICE;
    const CUDBGResult sm     = is_13 ? CUDBG_ERROR_INVALID_ARGS : CUDBG_ERROR_INVALID_SM;
    const CUDBGResult lane   = is_13 ? CUDBG_ERROR_INVALID_ARGS : CUDBG_ERROR_INVALID_LANE;
    uint64_t          mask, words[3];
    uint32_t          count;
    char              text[16];
    CUDBGEvent        event;

    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextEvent((CUDBGEventQueueType)2, &event));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextEvent((CUDBGEventQueueType)2, NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextEvent30(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextEvent32(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextEvent42(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextSyncEvent50(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextAsyncEvent50(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextSyncEvent55(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNextAsyncEvent55(NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->setKernelLaunchNotificationMode((CUDBGKernelLaunchNotifyMode)2));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNumDevices(NULL));
    // Debuggers that do not exist, and one without a traced process.
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, cudbgMain(0, 0, 0, 0, 0, -1, -1, 0, 0));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, cudbgMain(-1, 0, 0, 0, 0, -1, -1, 0, 0));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, cudbgMain(1, 193, 1, 0, 0, -1, -1, 0, 0));

    // The shape of the device.
    ANSWERS(CUDBG_SUCCESS, api->getNumDevices(&count));
    CHECK(count == 1);
    ANSWERS(CUDBG_SUCCESS, api->getNumSMs(0, &count));
    CHECK(count == 1);
    ANSWERS(CUDBG_SUCCESS, api->getNumWarps(0, &count));
    CHECK(count == 1);
    ANSWERS(CUDBG_SUCCESS, api->getNumLanes(0, &count));
    CHECK(count == 32);
    ANSWERS(CUDBG_SUCCESS, api->getNumRegisters(0, &count));
    CHECK(count == 256);
    ANSWERS(CUDBG_SUCCESS, api->getSmType(0, text, sizeof text));
    CHECK(strcmp(text, "sm_75") == 0);
    ANSWERS(CUDBG_ERROR_BUFFER_TOO_SMALL, api->getSmType(0, text, 5));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getSmType(0, NULL, 5));
    ANSWERS(CUDBG_SUCCESS, api->getDeviceType(0, text, sizeof text));
    ANSWERS(CUDBG_SUCCESS, api->getDeviceName(0, text, sizeof text));
    CHECK(strncmp(text, "opscope", 7) == 0);
    ANSWERS(device, api->getNumSMs(1, &count));
    ANSWERS(device, api->suspendDevice(1));
    ANSWERS(device, api->setBreakpoint(1, 1));
    ANSWERS(CUDBG_SUCCESS, api->getManagedMemoryRegionInfo(0, NULL, 0, &count));
    CHECK(count == 0);

    // A running device, then a suspended one on which nothing runs.
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->readValidWarps(0, 0, &mask));
    ANSWERS(CUDBG_SUCCESS, api->suspendDevice(0));
    ANSWERS(CUDBG_ERROR_SUSPENDED_DEVICE, api->suspendDevice(0));
    ANSWERS(CUDBG_ERROR_SUSPENDED_DEVICE, api->suspendAllDevices(0));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 0);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readValidWarps(0, 0, NULL));
    ANSWERS(sm, api->readValidWarps(0, 1, &mask));
    ANSWERS(sm, api->readGridId(0, 1, 0, &mask));
    ANSWERS(lane, api->readVirtualPC(0, 0, 0, 32, &mask));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readVirtualPC(0, 0, 0, 31, &mask));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readRegister(0, 0, 0, 0, 0, &count));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readVirtualPC(0, 0, 0, 0, &mask));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readGridId(0, 0, 63, &mask));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readCallDepth(0, 0, 0, 0, &count));
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->singleStepWarp40(0, 0, 0));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->singleStepWarp65(0, 0, 0, 0, &mask));
    ANSWERS(CUDBG_ERROR_NOT_SUPPORTED, api->singleStepWarp(0, 0, 0, ~0u, 1, CUDBG_SINGLE_STEP_FLAGS_NON_BLOCKING, &mask));
    ANSWERS(CUDBG_SUCCESS, api->readDeviceExceptionState80(0, &mask));
    CHECK(mask == 0);
    words[2] = 5;
    ANSWERS(CUDBG_SUCCESS, api->readDeviceExceptionState(0, words, 2));
    CHECK(words[0] == 0 && words[1] == 0 && words[2] == 5);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readDeviceExceptionState(0, words, 0));
    // Numbers that no client can mean.
    CUDBGAttributeValuePair pair = {CUDBG_ATTR_GRID_LAUNCH_BLOCKING, 0};
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readDeviceExceptionState(0, words, ~0u));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getGridAttributes(0, 0, 0, &pair, ~0u));
    CHECK(words[0] == 0 && words[1] == 0 && words[2] == 5);
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->resumeAllDevices());

    // Grids, images, memory, and breakpoints that do not exist.
    CUDBGGridInfo   info;
    CUDBGGridStatus status = CUDBG_GRID_STATUS_ACTIVE;
    ANSWERS(CUDBG_ERROR_INVALID_GRID, api->getGridInfo(0, 1234, &info));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getGridInfo(0, 1234, NULL));
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, 0, &status));
    CHECK(status == CUDBG_GRID_STATUS_INVALID);
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus50(0, 1234, &status));
    CHECK(status == CUDBG_GRID_STATUS_INVALID);
    ANSWERS(CUDBG_ERROR_INVALID_MODULE,
            api->getElfImageByHandle(0, 1234, CUDBG_ELF_IMAGE_TYPE_RELOCATED, text, sizeof text));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getElfImageByHandle(0, 1234, CUDBG_ELF_IMAGE_TYPE_RELOCATED, NULL, 0));
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(1, NULL, 0));
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->setBreakpoint(0, 1));
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->setBreakpoint31(1));
    ANSWERS(CUDBG_SUCCESS, api->unsetBreakpoint(0, 1));
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->insertBreakpoint(0, 1, &mask));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->removeBreakpoint(0));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->enableBreakpoint(CUDBG_BREAKPOINT_HANDLE_BREAK_ON_LAUNCH)); // not asked for
}

// Texts of failures.
static void texts(void)
{
    char     text[256], guarded[4] = {1, 2, 3, 4};
    uint32_t size = 0, count;
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getNumSMs(0, NULL));
    ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(NULL, 0, &size));
    CHECK(size > 1 && size <= sizeof text);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getErrorStringEx(NULL, 0, NULL));
    ANSWERS(CUDBG_ERROR_BUFFER_TOO_SMALL, api->getErrorStringEx(guarded, 3, NULL));
    CHECK(guarded[3] == 4);
    // None of these calls has changed it.
    uint32_t again = 0;
    ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(text, size, &again));
    CHECK(again == size && strlen(text) == size - 1);
    ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(text, sizeof text, NULL));
    // A call that succeeds empties it.
    ANSWERS(CUDBG_SUCCESS, api->getNumSMs(0, &count));
    ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(text, sizeof text, &size));
    CHECK(size == 1 && text[0] == 0);
}

// Functions that have nothing to do here.
static void unsupported(void)
{
    static const unsigned numbers[] = {14,  17,  18,  19,  25,  26,  27,  28,  40,  49,  58,  59,
                                       64,  71,  75,  78,  106, 107, 109, 110, 115, 116, 118, 119,
                                       127, 128, 131, 136, 142, 144, 145, 148, 159, 160, 161, 162, 163};
    const slot*           slots     = (const slot*)(const void*)api;
    char                  text[256];
    for (unsigned at = 0; at < sizeof numbers / sizeof *numbers; ++at) {
        CHECK(slots[numbers[at]]() == CUDBG_ERROR_NOT_SUPPORTED);
        ANSWERS(CUDBG_SUCCESS, api->getErrorStringEx(text, sizeof text, NULL));
        CHECK(strstr(text, "is not supported"));
    }
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    const uint32_t revision = (uint32_t)atoi(argv[1]);
    before_the_session();
    get_table(1, 2, revision);
    without_a_session();
    refused();
    is_uninitialized();
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    CHECK(cudbgDebuggerInitialized == 1);
    printf("attached\n");
    fflush(stdout);
    // Nothing was read, so nothing is acknowledged, and that is no error.
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeEvents42());
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeEvent30(NULL));
    arguments(revision > 156);
    texts();
    unsupported();
    CHECK(getchar() == EOF);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    CHECK(cudbgDebuggerInitialized == 0);
    is_uninitialized();
    // A session can be opened again.
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
