/* A program that runs a model: sessions LIBRARY SOURCE MODEL INPUT INPUT.npy SHAPE OUTPUT THREADS RUNS
   SOURCE is file, memory, weights (of a file, with a container of weights), serve or late. THREADS threads run the session RUNS times each,
   and the bits of each output are printed as a number. `serve` runs until its input ends, and prints a number when it changes.
   `late` does so, too, as soon as the model's file is there. Runs are
   those of Run; with BOUND of RunWithBinding, and with ASYNC of RunAsync. With IN_PLACE the output is written over the input. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "check.h"

static Opened made;
static const char *input_name, *output_name;
static float *data;
static int64_t shape[8];
static size_t count, rank;
static OrtValue *input;
static long run_count;

#ifdef BOUND
/* Runs once with bound values. The program does not keep the handle of the input, and fills it after it is bound. Returns whether the
   library refuses that. */
static int runs(OrtValue **output)
{
    OrtBinding *binding = NULL;
    OrtMemoryInfo *memory = NULL;
    OrtAllocator *allocator = NULL;
    OrtValue **outputs = NULL;
    size_t output_count = 0;
#ifdef IN_PLACE
    float *filled = data;
#else
    float *filled = (float *)calloc(count, sizeof(float));
#endif
    OrtValue *bound = tensor(filled, count, shape, rank);
    must(ORT(api, CreateIoBinding, OrtStatus *, (OrtSession *, OrtBinding **))(made.session, &binding));
    OrtStatus *status = ORT(api, BindInput, OrtStatus *, (OrtBinding *, const char *, const OrtValue *))(binding, input_name, bound);
    release(bound);
    if (status == NULL) {
        ORT(api, ClearBoundInputs, void, (OrtBinding *))(binding);
        bound = tensor(filled, count, shape, rank);
        status = ORT(api, BindInput, OrtStatus *, (OrtBinding *, const char *, const OrtValue *))(binding, input_name, bound);
        release(bound);
    }
    if (filled != data)
        memcpy(filled, data, count * sizeof(float));
    must(ORT(api, CreateCpuMemoryInfo, OrtStatus *, (int, int, OrtMemoryInfo **))(1, 0, &memory));
    if (status == NULL)
        status = *output == NULL
            ? ORT(api, BindOutputToDevice, OrtStatus *, (OrtBinding *, const char *, const OrtMemoryInfo *))(binding, output_name, memory)
            : ORT(api, BindOutput, OrtStatus *, (OrtBinding *, const char *, const OrtValue *))(binding, output_name, *output);
    ORT(api, ReleaseMemoryInfo, void, (OrtMemoryInfo *))(memory);
    if (status == NULL)
        status = ORT(api, RunWithBinding, OrtStatus *, (OrtSession *, const void *, const OrtBinding *))(made.session, NULL, binding);
    int is_refused = failed(status);
    if (!is_refused && *output == NULL) {
        must(ORT(api, GetAllocatorWithDefaultOptions, OrtStatus *, (OrtAllocator **))(&allocator));
        must(ORT(api, GetBoundOutputValues, OrtStatus *, (const OrtBinding *, OrtAllocator *, OrtValue ***, size_t *))(
            binding, allocator, &outputs, &output_count));
        *output = outputs[0];
        must(ORT(api, AllocatorFree, OrtStatus *, (OrtAllocator *, void *))(allocator, outputs));
    }
    ORT(api, ReleaseIoBinding, void, (OrtBinding *))(binding);
    if (filled != data)
        free(filled);
    return is_refused;
}
#elif defined ASYNC
typedef struct {
    OrtValue **output;
    OrtStatus *status;
    sem_t ended;
} Call;

static void is_over(void *user, OrtValue **outputs, size_t output_count, OrtStatus *status)
{
    Call *call = (Call *)user;
    if (status == NULL && (output_count != 1 || outputs != call->output))
        printf("other outputs are given\n");
    call->status = status;
    sem_post(&call->ended);
}

/* Runs once, and waits until the library says that it has ended. Returns whether the library refuses that. */
static int runs(OrtValue **output)
{
    const OrtValue *inputs[1] = {input};
    Call call = {output, NULL, {{0}}};
    sem_init(&call.ended, 0, 0);
    OrtStatus *status = ORT(
        api, RunAsync, OrtStatus *,
        (OrtSession *, const void *, const char *const *, const OrtValue *const *, size_t, const char *const *, size_t, OrtValue **,
         void (*)(void *, OrtValue **, size_t, OrtStatus *), void *))(made.session, NULL, &input_name, inputs, 1, &output_name, 1, output,
                                                                      is_over, &call);
    if (status == NULL) {
        while (sem_wait(&call.ended) != 0)
            continue;
        status = call.status;
    }
    sem_destroy(&call.ended);
    return failed(status);
}
#else
/* Runs once. Returns whether the library refuses that. */
static int runs(OrtValue **output)
{
    const OrtValue *inputs[1] = {input};
    return failed(run(made.session, &input_name, inputs, 1, &output_name, 1, output));
}
#endif

/* Runs once. Returns 0 if the library refuses that, which is printed. */
static uint64_t once(int is_room_made)
{
#ifdef IN_PLACE
    (void)is_room_made;
    OrtValue *output = tensor(data, count, shape, rank);
#else
    float room[80];
    int64_t room_shape[2] = {8, 10};
    OrtValue *output = is_room_made ? tensor(room, 80, room_shape, 2) : NULL;
#endif
    if (runs(&output)) {
#ifndef IN_PLACE
        if (!is_room_made && output != NULL)
            printf("there is an output nevertheless\n");
#endif
        return 0;
    }
    uint64_t hash = hash_of(output);
    release(output);
    return hash;
}

static void *work(void *place)
{
    uint64_t first = once(0);
    for (long done = 1; done < run_count && first != 0; done++)
        if (once(0) != first)
            first = 1;
    *(uint64_t *)place = first;
    return NULL;
}

static void serve(void)
{
    uint64_t last = 0;
    long done = 0;
    struct pollfd end = {STDIN_FILENO, POLLIN, 0};
    while (poll(&end, 1, 0) == 0) {
        uint64_t hash = once(done % 2 == 1);
        if (hash != last) {
            printf("%016llx\n", (unsigned long long)hash);
            fflush(stdout);
        }
        last = hash;
        done++;
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    if (argc != 10)
        return 2;
    made = opened(argv[1], 2);
    OrtSessionOptions *copied = NULL;
    OrtWeights *weights = NULL;
    OrtStatus *status;
    size_t size = 0;
    must(ORT(api, CloneSessionOptions, OrtStatus *, (const OrtSessionOptions *, OrtSessionOptions **))(made.options, &copied));
    ORT(api, ReleaseSessionOptions, void, (OrtSessionOptions *))(made.options);
    made.options = copied;
    if (strcmp(argv[2], "memory") == 0) {
        char *bytes = contents(argv[3], &size);
        status = ORT(api, CreateSessionFromArray, OrtStatus *,
                     (const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtSession **))(made.env, bytes, size, copied,
                                                                                                       &made.session);
        memset(bytes, 0, size);
        free(bytes);
    } else if (strcmp(argv[2], "weights") == 0) {
        must(ORT(api, CreatePrepackedWeightsContainer, OrtStatus *, (OrtWeights **))(&weights));
        status = ORT(api, CreateSessionWithPrepackedWeightsContainer, OrtStatus *,
                     (const OrtEnv *, const char *, const OrtSessionOptions *, OrtWeights *, OrtSession **))(made.env, argv[3], copied,
                                                                                                             weights, &made.session);
    } else {
        while (strcmp(argv[2], "late") == 0 && access(argv[3], R_OK) != 0)
            usleep(1000);
        status = load(&made, argv[3]);
    }
    if (failed(status))
        return 0;

    data = numbers(argv[5], &count);
    for (char *rest = argv[6]; *rest != 0 && rank < 8; rank++) {
        shape[rank] = strtol(rest, &rest, 10);
        rest += *rest == ',';
    }
    input = tensor(data, count, shape, rank);
    input_name = argv[4];
    output_name = argv[7];
    run_count = strtol(argv[9], NULL, 10);
    if (strcmp(argv[2], "serve") == 0 || strcmp(argv[2], "late") == 0) {
        serve();
    } else {
        pthread_t threads[16];
        uint64_t hashes[16];
        long thread_count = strtol(argv[8], NULL, 10);
        for (long thread = 0; thread < thread_count; thread++)
            pthread_create(&threads[thread], NULL, work, &hashes[thread]);
        for (long thread = 0; thread < thread_count; thread++) {
            pthread_join(threads[thread], NULL);
            printf("%016llx\n", (unsigned long long)hashes[thread]);
        }
    }
    release(input);
    closed(&made);
    if (weights != NULL)
        ORT(api, ReleasePrepackedWeightsContainer, void, (OrtWeights *))(weights);
    free(data);
    return 0;
}
