/* A program that runs a model by RunWithBinding and by RunAsync: binding LIBRARY MODEL INPUT.npy */
#include <semaphore.h>

#include "check.h"

static sem_t ended;

static void end(void *user, OrtValue **outputs, size_t count, OrtStatus *status)
{
    must(status);
    printf("%zu output, %s\n", count, outputs[0] == *(OrtValue **)user ? "the program's" : "another");
    sem_post(&ended);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    api = library(argv[1])->GetApi(ORT_INTERFACE);
    OrtEnv *env = NULL;
    OrtSessionOptions *options = NULL;
    OrtSession *session = NULL;
    OrtBinding *binding = NULL;
    OrtMemoryInfo *memory = NULL;
    must(ORT(api, CreateEnv, OrtStatus *, (int, const char *, OrtEnv **))(3, "binding", &env));
    must(ORT(api, CreateSessionOptions, OrtStatus *, (OrtSessionOptions **))(&options));
    must(ORT(api, SetIntraOpNumThreads, OrtStatus *, (OrtSessionOptions *, int))(options, 2));
    must(ORT(api, CreateSession, OrtStatus *, (const OrtEnv *, const char *, const OrtSessionOptions *, OrtSession **))(
        env, argv[2], options, &session));
    size_t count;
    float *data = numbers(argv[3], &count);
    int64_t shape[4] = {8, 1, 8, 8};
    OrtValue *input = tensor(data, count, shape, 4);
    must(ORT(api, CreateIoBinding, OrtStatus *, (OrtSession *, OrtBinding **))(session, &binding));
    must(ORT(api, BindInput, OrtStatus *, (OrtBinding *, const char *, const OrtValue *))(binding, "image", input));
    must(ORT(api, CreateCpuMemoryInfo, OrtStatus *, (int, int, OrtMemoryInfo **))(1, 0, &memory));
    must(ORT(api, BindOutputToDevice, OrtStatus *, (OrtBinding *, const char *, const OrtMemoryInfo *))(binding, "probabilities",
                                                                                                    memory));
    for (int done = 0; done < 2; done++)
        must(ORT(api, RunWithBinding, OrtStatus *, (OrtSession *, const void *, const OrtBinding *))(session, NULL, binding));
    printf("bound\n");

    sem_init(&ended, 0, 0);
    const char *input_name = "image", *output_name = "probabilities";
    float room[80];
    int64_t output_shape[2] = {8, 10};
    const OrtValue *inputs[1] = {input};
    OrtValue *output = tensor(room, 80, output_shape, 2);
    must(ORT(api, RunAsync, OrtStatus *,
             (OrtSession *, const void *, const char *const *, const OrtValue *const *, size_t, const char *const *, size_t, OrtValue **,
              void (*)(void *, OrtValue **, size_t, OrtStatus *), void *))(session, NULL, &input_name, inputs, 1, &output_name, 1, &output,
                                                                           end, &output));
    sem_wait(&ended);
    release(output);
    release(input);
    ORT(api, ReleaseMemoryInfo, void, (OrtMemoryInfo *))(memory);
    ORT(api, ReleaseIoBinding, void, (OrtBinding *))(binding);
    ORT(api, ReleaseSession, void, (OrtSession *))(session);
    ORT(api, ReleaseSessionOptions, void, (OrtSessionOptions *))(options);
    ORT(api, ReleaseEnv, void, (OrtEnv *))(env);
    free(data);
    return 0;
}
