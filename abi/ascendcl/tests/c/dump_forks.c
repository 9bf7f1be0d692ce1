/* Forks while threads load, run and dump models. Each child does the same for itself.
 * dump_forks MODEL FORKS: a model of one picture. */
#include "models.h"

#include <sys/wait.h>

enum { THREADS = 2 };

static const char *path;
static aclrtContext context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int has_ended;

static int32_t taken(const acldumpChunk *chunk, int32_t length)
{
    CHECK(length == (int32_t)(4120 + chunk->bufLen));
    return 0;
}

static void run(void)
{
    uint32_t model;
    float image[64] = {0}, digits[10];
    aclmdlDataset *input = dataset_of(image, sizeof image), *output = dataset_of(digits, sizeof digits);
    OK(aclmdlLoadFromFile(path, &model));
    OK(aclmdlExecute(model, input, output));
    OK(aclmdlExecuteAsync(model, input, output, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclmdlUnload(model));
    destroy(input);
    destroy(output);
}

static void *busy(void *data)
{
    int ended = 0;
    OK(aclrtSetCurrentContext(context));
    while (!ended) {
        run();
        pthread_mutex_lock(&lock);
        ended = has_ended;
        pthread_mutex_unlock(&lock);
    }
    return data;
}

static void begin_dump(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclmdlInitDump());
    OK(acldumpRegCallback(taken, 0));
}

static void end_dump(void)
{
    acldumpUnregCallback();
    OK(aclmdlFinalizeDump());
    OK(aclFinalize());
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    CHECK(argc == 3);
    path = argv[1];
    begin_dump();
    OK(aclrtGetCurrentContext(&context));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, busy, NULL) == 0);
    for (int i = atoi(argv[2]); i > 0; i--) {
        int status = 0;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            end_dump();
            begin_dump();
            run();
            end_dump();
            exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    pthread_mutex_lock(&lock);
    has_ended = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    end_dump();
    puts("passed");
    return 0;
}
