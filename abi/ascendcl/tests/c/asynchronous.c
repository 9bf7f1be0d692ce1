/* Classifies pictures of digits in a stream, with callbacks that count the correct results, like the vendor's
 * samples. asynchronous MODEL IMAGES LABELS */
#include "models.h"

enum { DIGITS = 360, AT_ONCE = 24 };

static aclrtContext context;
static volatile int ends;
static int64_t *labels;
static int right;

struct picture {
    int digit;
    void *input, *output;
    aclmdlDataset *inputs, *outputs;
};

static void *reports(void *unused)
{
    (void)unused;
    OK(aclrtSetCurrentContext(context));
    while (!ends)
        (void)aclrtProcessReport(100);
    return NULL;
}

static void counted(void *data)
{
    struct picture *pictures = (struct picture *)data;
    for (int i = 0; i < AT_ONCE; i++)
        right += largest((const float *)pictures[i].output, 10) == labels[pictures[i].digit];
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    float *images = (float *)elements(argv[2], DIGITS * DIGIT);
    labels = (int64_t *)elements(argv[3], DIGITS * sizeof(int64_t));
    context = begin();
    aclrtStream stream = NULL;
    OK(aclrtCreateStream(&stream));
    uint32_t model = 0;
    OK(aclmdlLoadFromFile(argv[1], &model));

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, reports, NULL) == 0);
    OK(aclrtSubscribeReport((uint64_t)thread, stream));

    struct picture pictures[DIGITS];
    for (int digit = 0; digit < DIGITS; digit++) {
        struct picture *picture = &pictures[digit];
        picture->digit = digit;
        picture->input = device(NULL, DIGIT);
        picture->output = device(NULL, 10 * sizeof(float));
        picture->inputs = dataset_of(picture->input, DIGIT);
        picture->outputs = dataset_of(picture->output, 10 * sizeof(float));
        /* A run uses the values that the memory has when the run begins. */
        OK(aclrtMemcpyAsync(picture->input, DIGIT, images + digit * 64, DIGIT, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        OK(aclmdlExecuteAsync(model, picture->inputs, picture->outputs, stream));
        if (digit % AT_ONCE == AT_ONCE - 1)
            OK(aclrtLaunchCallback(counted, &pictures[digit - AT_ONCE + 1], ACL_CALLBACK_BLOCK, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    printf("%d of %d digits are right\n", right, DIGITS);
    ends = 1;
    OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    CHECK(pthread_join(thread, NULL) == 0);

    /* Queued runs are executed, even if the model is unloaded meanwhile. */
    for (int digit = 0; digit < DIGITS; digit++)
        OK(aclmdlExecuteAsync(model, pictures[digit].inputs, pictures[digit].outputs, stream));
    OK(aclmdlUnload(model));
    IS(aclmdlExecuteAsync(model, pictures[0].inputs, pictures[0].outputs, stream), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    OK(aclrtSynchronizeStream(stream));

    /* Two streams for one model, in order by an event. */
    OK(aclmdlLoadFromFile(argv[1], &model));
    CHECK(model == 2);
    aclrtStream other = NULL;
    aclrtEvent event = NULL;
    OK(aclrtCreateStream(&other));
    OK(aclrtCreateEvent(&event));
    OK(aclmdlExecuteAsync(model, pictures[0].inputs, pictures[0].outputs, other));
    OK(aclrtRecordEvent(event, other));
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclmdlExecuteAsync(model, pictures[0].inputs, pictures[0].outputs, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclmdlUnload(model));

    for (int digit = 0; digit < DIGITS; digit++) {
        OK(aclrtFree(pictures[digit].input));
        OK(aclrtFree(pictures[digit].output));
        destroy(pictures[digit].inputs);
        destroy(pictures[digit].outputs);
    }
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(other));
    OK(aclrtDestroyStream(stream));
    end(context);
    free(images);
    free(labels);
    return 0;
}
