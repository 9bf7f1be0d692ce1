/* Threads that use dumps in random ways at the same time. Nothing hangs, and what callbacks receive follows the
 * rules. dump_threads MODEL ROUNDS SEED: a model of one picture, whose dumps are written to the current directory. */
#include "models.h"

#include "acl/opscope.h"

enum { THREADS = 4 };

static const char *path;
static int rounds;
static unsigned seed;
static aclrtContext context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_inside;
static unsigned long called;

static void enter(const acldumpChunk *chunk, int32_t length)
{
    pthread_mutex_lock(&lock);
    CHECK(!is_inside);
    is_inside = 1;
    called++;
    pthread_mutex_unlock(&lock);
    CHECK(length == (int32_t)(4120 + chunk->bufLen) && chunk->bufLen > 0 && chunk->offset == -1);
}

static void leave(void)
{
    pthread_mutex_lock(&lock);
    is_inside = 0;
    pthread_mutex_unlock(&lock);
}

static int32_t taken(const acldumpChunk *chunk, int32_t length)
{
    enter(chunk, length);
    if (called % 37 == 0)
        acldumpUnregCallback();
    if (called % 101 == 0)
        aclmdlFinalizeDump();
    leave();
    return 0;
}

static int32_t subscribed(void *user, const acldumpChunk *chunk, int32_t length)
{
    /* It is on the stack of the thread that ends the subscription. */
    unsigned *calls = (unsigned *)user;
    enter(chunk, length);
    CHECK(*calls < 1000000);
    ++*calls;
    leave();
    return (int32_t)(*calls % 7 == 0);
}

static void run(unsigned *random)
{
    uint32_t model;
    float image[64] = {0}, digits[10];
    aclmdlDataset *input = dataset_of(image, sizeof image), *output = dataset_of(digits, sizeof digits);
    uint64_t subscription = 0;
    unsigned calls = 0;
    OK(aclmdlLoadFromFile(path, &model));
    if (rand_r(random) % 2 == 0)
        OK(opscope_acldump_subscribe(subscribed, &calls, &subscription));
    for (int i = rand_r(random) % 3; i >= 0; i--) {
        OK(aclmdlExecute(model, input, output));
        if (rand_r(random) % 4 == 0)
            OK(aclmdlExecuteAsync(model, input, output, NULL));
    }
    if (rand_r(random) % 2 == 0)
        OK(aclrtSynchronizeStream(NULL));
    if (subscription != 0) {
        OK(opscope_acldump_unsubscribe(subscription));
        calls = 1000000;
    }
    OK(aclmdlUnload(model));
    OK(aclrtSynchronizeStream(NULL));
    destroy(input);
    destroy(output);
}

static void *play(void *data)
{
    unsigned random = seed + (unsigned)(size_t)data;
    opscope_acldump_report report;
    OK(aclrtSetCurrentContext(context));
    for (int i = 0; i < rounds; i++) {
        switch (rand_r(&random) % 10) {
        case 0:
            aclmdlInitDump();
            break;
        case 1:
            aclmdlSetDump("acl.json");
            break;
        case 2:
            aclmdlFinalizeDump();
            break;
        case 3:
            OK(acldumpRegCallback(taken, 0));
            break;
        case 4:
            acldumpUnregCallback();
            break;
        case 5:
            acldumpGetPath(DATA_DUMP);
            report.size = sizeof report;
            OK(opscope_acldump_get_report(&report));
            break;
        case 6:
            opscope_acldump_set_piece_size(1u << rand_r(&random) % 20);
            opscope_acldump_set_queue_size(1u << rand_r(&random) % 20);
            break;
        case 7:
            CHECK(aclInit(NULL) == ACL_ERROR_REPEAT_INITIALIZE);
            break;
        default:
            run(&random);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    opscope_acldump_report report;
    CHECK(argc == 4);
    path = argv[1];
    rounds = atoi(argv[2]);
    seed = (unsigned)atoi(argv[3]);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&context));
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, play, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    acldumpUnregCallback();
    called = 0;
    aclmdlFinalizeDump();
    report.size = sizeof report;
    OK(opscope_acldump_get_report(&report));
    OK(aclFinalize());
    CHECK(called == 0 && !is_inside);
    return 0;
}
