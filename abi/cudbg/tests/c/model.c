// A breakpoint session on a real model, the digits: the input of the softmax is changed, and its output is as expected
// from the change.
#include "image.h"

static struct image image;

static void on_event31(void* data)
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
    }
    ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
}

static uint64_t stopped_at(void)
{
    uint64_t    broken, pc;
    CUDBGResult result;
    while ((result = api->readBrokenWarps(0, 0, &broken)) != CUDBG_SUCCESS || !broken) {
        CHECK(result == CUDBG_SUCCESS || result == CUDBG_ERROR_RUNNING_DEVICE);
        wait_for_notification();
        drain();
    }
    CHECK(broken == 1);
    ANSWERS(CUDBG_SUCCESS, api->readVirtualPC(0, 0, 0, 0, &pc));
    return pc;
}

int main(void)
{
    get_table(12, 9, 156);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(on_event31, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    ANSWERS(CUDBG_SUCCESS, api->setKernelLaunchNotificationMode(CUDBG_KNL_LAUNCH_NOTIFY_DEFER));
    while (!image.bytes) {
        wait_for_notification();
        drain();
    }
    const uint64_t softmax       = symbol(&image, "/Softmax", STT_FUNC);
    const uint64_t scores        = symbol(&image, "/fc2/Gemm_output_0", STT_OBJECT);
    const uint64_t probabilities = symbol(&image, "probabilities", STT_OBJECT);
    const uint64_t weights       = symbol(&image, "conv1.weight", STT_OBJECT);
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, softmax));
    CHECK(stopped_at() == softmax);

    float read[72], changed[10] = {0};
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(scores, read, 40));
    ANSWERS(CUDBG_ERROR_INVALID_MEMORY_ACCESS, api->readGlobalMemory(scores, read, 41));
    ANSWERS(CUDBG_ERROR_ADDRESS_NOT_IN_DEVICE_MEM, api->readGlobalMemory(probabilities, read, 40));
    changed[7] = 50;
    ANSWERS(CUDBG_SUCCESS, api->writeGlobalMemory(scores, changed, sizeof changed));
    uint64_t mask;
    ANSWERS(CUDBG_SUCCESS, api->singleStepWarp41(0, 0, 0, &mask));
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(probabilities, read, 40));
    for (int digit = 0; digit < 10; ++digit) {
        CHECK(digit == 7 ? read[digit] > 0.999f : read[digit] < 0.001f && read[digit] >= 0);
    }
    // Weights are in the file.
    ANSWERS(CUDBG_SUCCESS, api->readGlobalMemory(weights, read, sizeof read));
    ANSWERS(CUDBG_ERROR_INVALID_MEMORY_ACCESS, api->writeGlobalMemory(weights, read, 4));
    for (int index = 0; index < 72; ++index) {
        CHECK(read[index] > -2 && read[index] < 2);
    }
    CHECK(read[0] != read[1]);

    // An operator that is a part of another one's kernel stops there, at its own address.
    const uint64_t normalization = symbol(&image, "/bn2/BatchNormalization", STT_FUNC);
    ANSWERS(CUDBG_SUCCESS, api->unsetBreakpoint(0, softmax));
    ANSWERS(CUDBG_SUCCESS, api->setBreakpoint(0, normalization));
    ANSWERS(CUDBG_SUCCESS, api->resumeDevice(0));
    CHECK(stopped_at() == normalization);
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
