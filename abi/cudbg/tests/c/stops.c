// A client that stops a run at a breakpoint, looks at it, reads and changes tensors, steps, and lets it continue.
// usage: stops classic|events: without SUSPEND_EVENTS the queue stays empty at a breakpoint, and with it there is an
// event
#include "image.h"

static int          has_events, suspensions, contexts, gone;
static struct image image;

static void on_event(CUDBGEventCallbackData* data)
{
    (void)data;
    notify();
}

// Takes and acknowledges all events that wait.
static void drain(void)
{
    CUDBGEvent  event;
    CUDBGResult result;
    while ((result = api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event)) == CUDBG_SUCCESS) {
        switch (event.kind) {
        case CUDBG_EVENT_ELF_IMAGE_LOADED: image = read_image(&event); break;
        case CUDBG_EVENT_CTX_PUSH: ++contexts; break;
        case CUDBG_EVENT_CTX_POP: --contexts; break;
        case CUDBG_EVENT_ALL_DEVICES_SUSPENDED:
            CHECK(event.cases.allDevicesSuspended.brokenDevicesMask == 1);
            CHECK(event.cases.allDevicesSuspended.faultedDevicesMask == 0);
            ++suspensions;
            break;
        case CUDBG_EVENT_CTX_DESTROY: gone = 1; break;
        case CUDBG_EVENT_CTX_CREATE:
        case CUDBG_EVENT_ATTACH_COMPLETE:
        case CUDBG_EVENT_ELF_IMAGE_UNLOADED: break;
        default: fprintf(stderr, "nobody asked for %s\n", name_of(event.kind)); exit(1);
        }
    }
    CHECK(result == CUDBG_ERROR_NO_EVENT_AVAILABLE);
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
}

// Waits until the device is stopped, and returns the mask of warps at breakpoints.
static uint64_t wait_for_stop(void)
{
    for (;;) {
        uint64_t    broken = 0;
        CUDBGResult result = api->readBrokenWarps(0, 0, &broken);
        if (result == CUDBG_SUCCESS && broken) {
            drain();
            return broken;
        }
        CHECK(result == CUDBG_SUCCESS || result == CUDBG_ERROR_RUNNING_DEVICE);
        wait_for_notification();
        drain();
    }
}

static void registers_are_zero(void)
{
    uint32_t count, value = 7, values[5] = {7, 7, 7, 7, 7};
    ANSWERS(CUDBG_SUCCESS, api->getNumRegisters(0, &count));
    CHECK(count == 256);
    for (uint32_t number = 0; number < count; ++number) {
        ANSWERS(CUDBG_SUCCESS, api->readRegister(0, 0, 0, 0, number, &value));
        CHECK(value == 0);
        value = 7;
    }
    ANSWERS(CUDBG_SUCCESS, api->readRegisterRange60(0, 0, 0, 0, 1, 2, values));
    CHECK(values[0] == 0 && values[1] == 0 && values[2] == 7);
    ANSWERS(CUDBG_SUCCESS, api->readRegisterRange(0, 0, 0, 0, 0, 4, values, &value));
    CHECK(value == 4 && values[3] == 0 && values[4] == 7);
    ANSWERS(CUDBG_SUCCESS, api->readRegisterRange(0, 0, 0, 0, 0, 4, values, NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readRegister(0, 0, 0, 0, 256, &value));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readRegisterRange60(0, 0, 0, 0, 255, 2, values));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readRegisterRange(0, 0, 0, 0, ~0u, ~0u, values, NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readRegister(0, 0, 0, 0, 0, NULL));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readRegisterRange60(0, 0, 0, 0, 0, 1, NULL));
}

static void is_at(uint64_t function, uint64_t offset, int broken)
{
    uint64_t mask, pc, grid;
    uint32_t lanes, tid;
    bool     error;
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 1);
    ANSWERS(CUDBG_SUCCESS, api->readBrokenWarps(0, 0, &mask));
    CHECK(mask == (uint64_t)broken);
    ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
    CHECK(pc == function + offset);
    ANSWERS(CUDBG_SUCCESS, api->readPC(0, 0, 0, 0, &pc));
    CHECK(pc == offset);
    ANSWERS(CUDBG_SUCCESS, api->readValidLanes(0, 0, 0, &lanes));
    CHECK(lanes == 1);
    ANSWERS(CUDBG_SUCCESS, api->readActiveLanes(0, 0, 0, &lanes));
    CHECK(lanes == 1);
    ANSWERS(CUDBG_SUCCESS, api->readLaneStatus(0, 0, 0, 0, &error));
    CHECK(!error);
    ANSWERS(CUDBG_SUCCESS, api->getTID(0, 0, 0, &tid));
    CHECK(tid);
    // Of 32 lanes, the first one has work.
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readVirtualPC(0, 0, 0, 1, &pc));
    registers_are_zero();

    ANSWERS(CUDBG_SUCCESS, api->readGridId(0, 0, 0, &grid));
    CUDBGGridInfo   info;
    CUDBGGridStatus status;
    ANSWERS(CUDBG_SUCCESS, api->getGridInfo(0, grid, &info));
    CHECK(info.gridId64 == grid && info.functionEntry == function && info.tid == tid && info.module == image.handle);
    ANSWERS(CUDBG_SUCCESS, api->getGridStatus(0, grid, &status));
    CHECK(status == CUDBG_GRID_STATUS_ACTIVE);

    CUDBGWarpState state;
    ANSWERS(CUDBG_SUCCESS, api->readWarpState(0, 0, 0, &state));
    CHECK(state.gridId == grid && state.validLanes == 1 && !state.errorPCValid);
    CHECK(state.lane[0].virtualPC == function + offset && state.lane[0].exception == CUDBG_EXCEPTION_NONE);
}

// An instruction is text, and has the size that every one has.
static void is_disassembled(uint64_t pc, const char* expected)
{
    char     text[32] = "";
    uint32_t size     = 0;
    ANSWERS(CUDBG_SUCCESS, api->disassemble(0, pc, &size, text, sizeof text));
    CHECK(size == 16 && strcmp(text, expected) == 0);
    ANSWERS(CUDBG_SUCCESS, api->disassemble(0, pc, &size, text, 4));
    CHECK(strlen(text) == 3 && strncmp(text, expected, 3) == 0);
    size = 0;
    ANSWERS(CUDBG_SUCCESS, api->disassemble(0, pc, &size, NULL, 0));
    CHECK(size == 16);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->disassemble(0, pc, NULL, text, sizeof text));
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->disassemble(0, 1, &size, text, sizeof text));
}

// The whole state of the device in one piece says the same.
static void is_described(uint64_t pc, uint64_t handle)
{
    CUDBGDeviceInfoSizes sizes;
    ANSWERS(CUDBG_SUCCESS, api->getDeviceInfoSizes(0, &sizes));
    CHECK(sizes.requiredBufferSize >= 180 && sizes.deviceInfoAttributeSizes[CUDBG_DEVICE_ATTRIBUTE_SM_ACTIVE_MASK] == 8);
    unsigned char* buffer  = (unsigned char*)malloc(sizes.requiredBufferSize);
    uint32_t       written = 0;
    ANSWERS(CUDBG_SUCCESS,
            api->getDeviceInfo(0, CUDBG_RESPONSE_TYPE_FULL, buffer, sizes.requiredBufferSize, &written));
    size_t          at = 0;
    CUDBGDeviceInfo device;
    memcpy(&device, buffer, sizeof device);
    at += sizeof device;
    for (unsigned bit = 0; bit < CUDBG_DEVICE_ATTRIBUTE_COUNT; ++bit) {
        if (device.deviceAttributeFlags & 1u << bit) {
            at += sizes.deviceInfoAttributeSizes[bit];
        }
    }
    CUDBGSMInfo sm;
    memcpy(&sm, buffer + at, sizeof sm);
    at += sizeof sm;
    CHECK(sm.warpValidMask == 1 && sm.warpBrokenMask == 1 && !sm.smAttributeFlags);
    CUDBGWarpInfo warp;
    memcpy(&warp, buffer + at, sizeof warp);
    at += sizeof warp;
    CHECK(warp.warpAttributeFlags == 1u << CUDBG_WARP_ATTRIBUTE_HIT_BREAKPOINT_HANDLE && warp.validLanes == 1);
    uint64_t hit;
    memcpy(&hit, buffer + at, sizeof hit);
    at += sizeof hit;
    CUDBGLaneInfo lane;
    memcpy(&lane, buffer + at, sizeof lane);
    at += sizeof lane;
    CHECK(hit == handle && lane.virtualPC == pc && at == written);
    ANSWERS(CUDBG_ERROR_BUFFER_TOO_SMALL, api->getDeviceInfo(0, CUDBG_RESPONSE_TYPE_FULL, buffer, written - 1, &written));
    free(buffer);
}

static void tensor_is(uint64_t address, const float* expected)
{
    float read[4];
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(address, read, sizeof read));
    CHECK(memcmp(read, expected, sizeof read) == 0);
    ANSWERS(CUDBG_SUCCESS, api->readGenericMemory(0, 0, 0, 0, address, read, sizeof read));
    CHECK(memcmp(read, expected, sizeof read) == 0);
    // One byte in the middle, and a range that begins and ends inside of elements.
    unsigned char bytes[16];
    memcpy(bytes, expected, sizeof bytes);
    unsigned char part[9];
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(address + 7, part, 1));
    CHECK(part[0] == bytes[7]);
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(address + 3, part, sizeof part));
    CHECK(memcmp(part, bytes + 3, sizeof part) == 0);
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    has_events = strcmp(argv[1], "events") == 0;
    cudbgDebuggerCapabilities =
        has_events ? CUDBG_DEBUGGER_CAPABILITY_SUSPEND_EVENTS | CUDBG_DEBUGGER_CAPABILITY_NO_CONTEXT_PUSH_POP_EVENTS : 0;
    get_table(13, 4, 193);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    while (!image.bytes) {
        wait_for_notification();
        drain();
    }
    const uint64_t log = symbol(&image, "log", STT_FUNC), sum = symbol(&image, "sum", STT_FUNC);
    const uint64_t a = symbol(&image, "a", STT_OBJECT), b = symbol(&image, "b", STT_OBJECT);
    const uint64_t y = symbol(&image, "y", STT_OBJECT), w = symbol(&image, "w", STT_OBJECT);

    // Breakpoints at addresses.
    uint64_t address;
    bool     is_code;
    ANSWERS(CUDBG_SUCCESS, api->isDeviceCodeAddress(log + 5, &is_code));
    CHECK(is_code);
    ANSWERS(CUDBG_SUCCESS, api->isDeviceCodeAddress(a, &is_code));
    CHECK(!is_code);
    ANSWERS(CUDBG_SUCCESS, api->lookupDeviceCodeSymbol((char*)"log", &is_code, (uintptr_t*)&address));
    CHECK(is_code && address == log);
    ANSWERS(CUDBG_SUCCESS, api->getAdjustedCodeAddress(0, log + 5, &address, CUDBG_ADJ_CURRENT_ADDRESS));
    CHECK(address == log);
    ANSWERS(CUDBG_SUCCESS, api->getAdjustedCodeAddress(0, log, &address, CUDBG_ADJ_NEXT_ADDRESS));
    CHECK(address == log + 16);
    ANSWERS(CUDBG_SUCCESS, api->getAdjustedCodeAddress(0, log, &address, CUDBG_ADJ_PREVIOUS_ADDRESS));
    CHECK(address == log - 16);
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->getAdjustedCodeAddress(0, (uintptr_t)&api, &address, CUDBG_ADJ_NEXT_ADDRESS));
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->setBreakpoint(0, (uintptr_t)&api));
    ANSWERS(CUDBG_ERROR_INVALID_ADDRESS, api->setBreakpoint(0, log + 5));
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, log));
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, log));
    uint64_t handle;
    ANSWERS(CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT, api->insertBreakpoint(0, log, &handle));

    // Nothing of a running device is read or written.
    float value = 1;
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->readGlobalMemory(a, &value, sizeof value));
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->writeGlobalMemory(a, &value, sizeof value));
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->readVirtualPC(0, 0, 0, 0, &address));
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->singleStepWarp40(0, 0, 0));
    printf("ready\n");
    fflush(stdout);

    CHECK(wait_for_stop() == 1);
    CHECK(suspensions == has_events && contexts == !has_events);
    is_at(log, 0, 1);
    is_disassembled(log, "before Log log");
    is_disassembled(log + 16, "after Log log");
    is_described(log, CUDBG_BREAKPOINT_HANDLE_LEGACY);
    ANSWERS(CUDBG_SUCCESS, api->getWarpHitBreakpoint(0, 0, 0, &handle));
    CHECK(handle == CUDBG_BREAKPOINT_HANDLE_LEGACY);

    // Tensors.
    const float doubled[4] = {2, 4, 6, 8};
    tensor_is(a, doubled);
    const float weight[4] = {2, 2, 2, 2};
    tensor_is(w, weight);
    float read[5];
    ANSWERS(CUDBG_ERROR_INVALID_MEMORY_ACCESS, api->readGlobalMemory(a, read, 17));
    ANSWERS(CUDBG_ERROR_INVALID_MEMORY_ACCESS, api->readGlobalMemory(a + 16, read, 1));
    ANSWERS(CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM, api->readGlobalMemory((uintptr_t)&read, read, 4));
    ANSWERS(CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM, api->readGlobalMemory(log, read, 4));
    ANSWERS(CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM, api->readGlobalMemory(y, read, 4));
    ANSWERS(CUDBG_ERROR_INVALID_MEMORY_ACCESS, api->writeGlobalMemory(w, &value, sizeof value));
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(a, NULL, 0));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->readGlobalMemory(a, NULL, 4));
    ANSWERS(CUDBG_SUCCESS, api->writeGlobalMemory(a + 4, &value, sizeof value));
    const float changed[4] = {2, 1, 6, 8};
    tensor_is(a, changed);

    // To the end of the operator: its output exists, and is changed.
    uint64_t mask = 0;
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp(0, 0, 0, ~0u, 1, 0, &mask));
    CHECK(mask == 1);
    is_at(log, 16, 0);
    ANSWERS(CUDBG_SUCCESS, api->getWarpHitBreakpoint(0, 0, 0, &handle));
    CHECK(handle == CUDBG_BREAKPOINT_HANDLE_INTERNAL);
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(b + 4, read, sizeof *read));
    CHECK(read[0] == 0); // the logarithm of what was written
    value = 100;
    ANSWERS(CUDBG_SUCCESS, api->writeGlobalMemory(b, &value, sizeof value));

    // To the next operator.
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp40(0, 0, 0));
    is_at(sum, 0, 0);
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(b, read, sizeof *read));
    CHECK(read[0] == 100);
    CHECK(suspensions == has_events);

    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    ANSWERS(CUDBG_ERROR_RUNNING_DEVICE, api->readValidWarps(0, 0, &mask));
    printf("resumed\n");
    fflush(stdout);

    // The breakpoint is hit in the next run, too. Then it is removed.
    CHECK(wait_for_stop() == 1);
    is_at(log, 0, 1);
    ANSWERS(CUDBG_SUCCESS, api->unsetBreakpoint(0, log));
    ANSWERS(CUDBG_SUCCESS, api->unsetBreakpoint(0, log));

    // One with a handle.
    ANSWERS(CUDBG_SUCCESS, api->insertBreakpoint(0, sum + 16, &handle));
    CHECK(handle && handle < UINT64_C(1) << 63);
    uint64_t other;
    uint32_t enabled;
    ANSWERS(CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT, api->insertBreakpoint(0, sum + 16, &other));
    ANSWERS(CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT, api->enableBreakpoint(handle));
    ANSWERS(CUDBG_SUCCESS, api->disableBreakpoint(handle));
    ANSWERS(CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT, api->disableBreakpoint(handle));
    ANSWERS(CUDBG_SUCCESS, api->isBreakpointEnabled(handle, &enabled));
    CHECK(enabled == 0);
    ANSWERS(CUDBG_SUCCESS, api->enableBreakpoint(CUDBG_BREAKPOINT_HANDLE_ALL_USER));
    ANSWERS(CUDBG_SUCCESS, api->isBreakpointEnabled(handle, &enabled));
    CHECK(enabled == 1);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->removeBreakpoint(handle + 1));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->enableBreakpoint(CUDBG_BREAKPOINT_HANDLE_TRAP));
    ANSWERS(CUDBG_SUCCESS, api->resumeAllDevices());
    CHECK(wait_for_stop() == 1);
    is_at(sum, 16, 1);
    ANSWERS(CUDBG_SUCCESS, api->getWarpHitBreakpoint(0, 0, 0, &other));
    CHECK(other == handle);
    is_described(sum + 16, handle);
    ANSWERS(CUDBG_SUCCESS, api->removeBreakpoint(CUDBG_BREAKPOINT_HANDLE_ALL_USER));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->isBreakpointEnabled(handle, &enabled));

    // A step beyond the last operator: the run ends, and there is no warp any more.
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp41(0, 0, 0, &mask));
    ANSWERS(CUDBG_SUCCESS, api->readValidWarps(0, 0, &mask));
    CHECK(mask == 0);
    ANSWERS(CUDBG_ERROR_INVALID_WARP, api->readVirtualPC(0, 0, 0, 0, &address));
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    while (!gone) {
        wait_for_notification();
        drain();
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
