/* Makes an environment in one of four ways, and forks. The child runs the model of digits, and prints the bits of its output as a number:
   environments LIBRARY MODEL INPUT.npy WAY
   Bit 0 of WAY is a logger of the program's own, bit 1 are threads that all sessions share. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

typedef void (*Logger)(void *, int, const char *, const char *, const char *, const char *);

static int told;

static void log_line(void *parameter, int severity, const char *category, const char *name, const char *place, const char *text)
{
    (void)severity, (void)category, (void)place;
    if (parameter == &told && strcmp(name, "environments") == 0 && text != NULL)
        told = 1;
}

static OrtEnv *made(long way)
{
    const char *name = "environments";
    OrtEnv *env = NULL;
    OrtThreads *threads = NULL;
    if (way & 2)
        must(ORT(api, CreateThreadingOptions, OrtStatus *, (OrtThreads **))(&threads));
    switch (way) {
    case 0:
        must(ORT(api, CreateEnv, OrtStatus *, (int, const char *, OrtEnv **))(3, name, &env));
        break;
    case 1:
        must(ORT(api, CreateEnvWithCustomLogger, OrtStatus *, (Logger, void *, int, const char *, OrtEnv **))(log_line, &told, 0, name, &env));
        break;
    case 2:
        must(ORT(api, CreateEnvWithGlobalThreadPools, OrtStatus *, (int, const char *, const OrtThreads *, OrtEnv **))(3, name, threads, &env));
        break;
    default:
        must(ORT(api, CreateEnvWithCustomLoggerAndGlobalThreadPools, OrtStatus *,
                 (Logger, void *, int, const char *, const OrtThreads *, OrtEnv **))(log_line, &told, 0, name, threads, &env));
    }
    if (threads != NULL)
        ORT(api, ReleaseThreadingOptions, void, (OrtThreads *))(threads);
    return env;
}

static void run_once(OrtEnv *env, const char *model, const char *file)
{
    const int64_t shape[4] = {8, 1, 8, 8};
    const char *input_name = "image", *output_name = "probabilities";
    Opened opened = {env, NULL, NULL};
    OrtValue *output = NULL;
    size_t count;
    must(ORT(api, CreateSessionOptions, OrtStatus *, (OrtSessionOptions **))(&opened.options));
    must(ORT(api, SetIntraOpNumThreads, OrtStatus *, (OrtSessionOptions *, int))(opened.options, 1));
    must(load(&opened, model));
    float *data = numbers(file, &count);
    OrtValue *input = tensor(data, count, shape, 4);
    const OrtValue *inputs[1] = {input};
    must(run(opened.session, &input_name, inputs, 1, &output_name, 1, &output));
    printf("%016llx\n", (unsigned long long)hash_of(output));
    release(output);
    release(input);
    free(data);
    closed(&opened);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    long way = strtol(argv[4], NULL, 10);
    api = library(argv[1])->GetApi(ORT_INTERFACE);
    OrtEnv *env = made(way);
    pid_t child = fork();
    if (child == 0) {
        run_once(env, argv[2], argv[3]);
        printf("%s\n", told ? "logged" : "not logged");
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status != 0;
}
