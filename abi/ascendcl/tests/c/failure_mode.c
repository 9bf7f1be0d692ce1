/* Streams whose work fails. Later work is executed, or skipped. The argument is a model. */
#include "models.h"

static int calls;

static void count(void *data)
{
    (void)data;
    calls++;
}

/* Queues a copy that fails, because its memory is freed before the stream reaches it. After it, queues a function, a
 * fill and an event. */
static void queue(aclrtStream stream, void *filled, aclrtEvent event)
{
    void *from = device(NULL, 64), *to = device(NULL, 64);
    gate held;
    gate_init(&held);
    OK(aclrtLaunchHostFunc(stream, gate_wait, &held));
    OK(aclrtMemcpyAsync(to, 64, from, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    OK(aclrtLaunchHostFunc(stream, count, NULL));
    OK(aclrtMemsetAsync(filled, 64, 7, 64, stream));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtFree(from));
    gate_open(&held);
    /* A wait for a skipped event does not last for ever. */
    OK(aclrtSynchronizeEvent(event));
    IS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(held.passed == 1);
    OK(aclrtFree(to));
}

static void modes(aclrtStream stream)
{
    char *filled = (char *)device(NULL, 64);
    aclrtEvent before, event;
    float milliseconds;
    OK(aclrtCreateEvent(&before));
    OK(aclrtCreateEvent(&event));
    OK(aclrtRecordEvent(before, stream));
    OK(aclrtSynchronizeStream(stream));

    /* This is the mode at the beginning, and after it is set explicitly. */
    for (int i = 0; i < 2; i++) {
        calls = 0;
        memset(filled, 0, 64);
        queue(stream, filled, event);
        CHECK(calls == 1 && filled[0] == 7 && filled[63] == 7);
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtEventElapsedTime(&milliseconds, before, event));
        OK(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    }

    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    /* As long as nothing fails, there is no difference. */
    OK(aclrtLaunchHostFunc(stream, count, NULL));
    OK(aclrtSynchronizeStream(stream));
    CHECK(calls == 2);
    calls = 0;
    memset(filled, 0, 64);
    queue(stream, filled, event);
    CHECK(calls == 0 && filled[0] == 0 && filled[63] == 0);
    IS(aclrtEventElapsedTime(&milliseconds, before, event), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    /* Later work is skipped, too, and each synchronization reports the reason. */
    OK(aclrtLaunchHostFunc(stream, count, NULL));
    IS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    IS(aclrtSynchronizeStreamWithTimeout(stream, 1000), ACL_ERROR_RT_PARAM_INVALID);
    IS(aclrtSynchronizeDevice(), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(calls == 0);

    OK(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    OK(aclrtLaunchHostFunc(stream, count, NULL));
    IS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtSynchronizeStream(stream));
    CHECK(calls == 1);
    OK(aclrtDestroyEvent(before));
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(filled));
}

/* Runs of a model after work that failed. */
static void runs(const char *path)
{
    uint32_t model;
    float image[64] = {0}, out[10], untouched[10];
    int64_t dims[4] = {1, 1, 8, 8};
    void *filled = device(NULL, 64);
    aclrtStream stream;
    aclrtEvent event;
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_FLOAT, 4, dims, ACL_FORMAT_NCHW);
    aclmdlExecConfigHandle *handle = aclmdlCreateExecConfigHandle();
    OK(aclmdlLoadFromFile(path, &model));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    aclmdlDataset *input = dataset_of(image, sizeof image), *output = dataset_of(out, sizeof out);
    OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    memset(out, 7, sizeof out);
    memset(untouched, 7, sizeof untouched);

    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    queue(stream, filled, event);
    OK(aclmdlExecuteAsync(model, input, output, stream));
    IS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    IS(aclmdlExecuteV2(model, input, output, stream, handle), ACL_ERROR_RT_MODEL_EXECUTE);
    CHECK(memcmp(out, untouched, sizeof out) == 0);
    OK(aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    OK(aclmdlExecuteV2(model, input, output, stream, handle));
    CHECK(memcmp(out, untouched, sizeof out) != 0);

    /* A stream that stopped is ended as any other. */
    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    queue(stream, filled, event);
    OK(aclrtLaunchHostFunc(stream, count, NULL));
    OK(aclrtDestroyStream(stream));
    IS(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID);
    aclDestroyTensorDesc(shape);
    OK(aclmdlDestroyExecConfigHandle(handle));
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(filled));
    destroy(input);
    destroy(output);
    OK(aclmdlUnload(model));
}

int main(int argc, char **argv)
{
    aclrtStream stream;
    CHECK(argc == 2);
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    modes(stream);
    modes(NULL);
    IS(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID);
    IS(aclrtSetStreamFailureMode(GARBAGE, ACL_STOP_ON_FAILURE), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtDestroyStream(stream));
    runs(argv[1]);
    OK(aclrtResetDevice(0));
    puts("passed");
    return 0;
}
