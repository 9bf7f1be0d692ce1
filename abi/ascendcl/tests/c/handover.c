/* A callback that is registered and removed while models run in other threads. Every file is passed to it or written
 * to the disk, and none is lost or damaged. The argument is a model whose inputs have a size. Prints how many files
 * are expected, and how many the callback received. */
#include "models.h"

#define THREADS 2
#define RUNS 60

static long whole, calls;
static int broken, gone;

static int32_t take(const acldumpChunk *chunk, int32_t length)
{
    (void)length;
    whole += chunk->isLastChunk;
    calls++;
    if (gone)
        broken = 1;
    return 0;
}

static uint32_t model;
static int running = THREADS;

static void *run(void *context)
{
    float image[64] = {0}, probabilities[10];
    OK(aclrtSetCurrentContext(context));
    aclmdlDataset *input = dataset_of(image, sizeof image), *output = dataset_of(probabilities, sizeof probabilities);
    for (int i = 0; i < RUNS; i++)
        OK(aclmdlExecute(model, input, output));
    destroy(input);
    destroy(output);
    __sync_sub_and_fetch(&running, 1);
    return NULL;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    pthread_t threads[THREADS];
    OK(aclInit("acl.json"));
    OK(aclrtSetDevice(0));
    aclrtContext context;
    OK(aclrtCreateContext(&context, 0));
    OK(aclmdlLoadFromFile(arguments[1], &model));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run, context) == 0);
    while (__sync_fetch_and_add(&running, 0) > 0) {
        gone = 0;
        OK(acldumpRegCallback(take, 0));
        acldumpUnregCallback();
        gone = 1;
        rest(1);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(!broken);
    OK(aclmdlUnload(model));
    OK(aclrtDestroyContext(context));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    printf("%d %ld\n", THREADS * RUNS * 16, whole);
    return 0;
}
