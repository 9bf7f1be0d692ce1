/* Executes the steps in its arguments, in order. Prints which calls fail, and which leave a message. dumps DIRECTORY
 * STEP...: the callback's files are stored in the directory. */
#include "dump.h"
#include "models.h"

#include "acl/opscope.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MODELS = 8, PORTS = 8 };

/* A model that is loaded, with what its last run used. */
static struct model
{
    uint32_t id;
    aclrtStream stream;
    void *memory[PORTS];
    int memories;
    aclmdlDataset *input, *output;
} models[MODELS];

static int is_open;

static void open_device(void)
{
    if (!is_open)
        OK(aclrtSetDevice(0));
    is_open = 1;
}

static void forget(struct model *model)
{
    if (model->input == NULL)
        return;
    for (int i = 0; i < model->memories; i++)
        OK(aclrtFree(model->memory[i]));
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(model->output); i++)
        /* A run that failed has not allocated its outputs. */
        if (aclGetDataBufferAddr(aclmdlGetDatasetBuffer(model->output, i)) != NULL)
            OK(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(model->output, i))));
    destroy(model->input);
    destroy(model->output);
    model->input = model->output = NULL;
    model->memories = 0;
}

/* Runs a model: its number, and a file for each of its inputs. */
static int run(char *arguments, int waits)
{
    char *rest_of = NULL;
    struct model *model = &models[atoi(strtok_r(arguments, ",", &rest_of))];
    aclmdlDesc *desc = aclmdlCreateDesc();
    forget(model);
    OK(aclmdlGetDesc(desc, model->id));
    model->input = aclmdlCreateDataset();
    model->output = aclmdlCreateDataset();
    for (size_t i = 0; i < aclmdlGetNumInputs(desc); i++) {
        size_t size = aclmdlGetInputSizeByIndex(desc, i);
        void *from = elements(strtok_r(NULL, ",", &rest_of), size);
        /* A tensor without elements has memory, too. */
        void *memory = device(from, size == 0 ? 1 : size);
        CHECK(model->memories < PORTS);
        model->memory[model->memories++] = memory;
        OK(aclmdlAddDatasetBuffer(model->input, aclCreateDataBuffer(memory, size)));
        free(from);
    }
    /* If the size is not known, the library allocates the memory. */
    for (size_t i = 0; i < aclmdlGetNumOutputs(desc); i++) {
        size_t size = aclmdlGetOutputSizeByIndex(desc, i);
        OK(aclmdlAddDatasetBuffer(model->output, aclCreateDataBuffer(size == 0 ? NULL : device(NULL, size), size)));
    }
    OK(aclmdlDestroyDesc(desc));
    aclGetRecentErrMsg();
    if (waits)
        return aclmdlExecute(model->id, model->input, model->output);
    if (model->stream == NULL)
        OK(aclrtCreateStream(&model->stream));
    return aclmdlExecuteAsync(model->id, model->input, model->output, model->stream);
}

static int load(char *arguments)
{
    char *path = strchr(arguments, ',');
    CHECK(path != NULL);
    *path++ = 0;
    open_device();
    return aclmdlLoadFromFile(path, &models[atoi(arguments)].id);
}

static int unload(const char *model)
{
    return aclmdlUnload(models[atoi(model)].id);
}

static int wait_for_streams(void)
{
    int code = 0;
    for (int i = 0; i < MODELS; i++)
        if (models[i].stream != NULL && code == 0)
            code = aclrtSynchronizeStream(models[i].stream);
    return code;
}

static int registered(void)
{
    dumps_are_registered(1);
    return acldumpRegCallback(dumped, 0);
}

static int unregistered(void)
{
    acldumpUnregCallback();
    dumps_are_registered(0);
    return 0;
}

static int32_t never(const acldumpChunk *chunk, int32_t length)
{
    (void)chunk;
    (void)length;
    CHECK(!"the second callback is called");
    return 0;
}

/* Creates a file in the place of the dump's directory. */
static void block(void)
{
    FILE *file = fopen(acldumpGetPath(DATA_DUMP), "w");
    CHECK(file != NULL);
    fclose(file);
}

static void print_path(int kind)
{
    const char *path = acldumpGetPath((acldumpType)kind);
    printf("path %d: %s\n", kind, path == NULL ? "NULL" : path);
}

/* Prints the directory for exceptions, and tries buffers that are too small for it. */
static int print_exceptions(void)
{
    char path[4096], exact[4096];
    int code = acldumpGetExceptionInfoPath(path, sizeof(path));
    if (code != 0)
        return code;
    printf("exceptions: %s\n", path);
    size_t needed = strlen(path) + 1;
    memset(exact, 0x55, sizeof(exact));
    IS(acldumpGetExceptionInfoPath(exact, needed - 1), ACL_ERROR_INVALID_PARAM);
    CHECK(exact[0] == 0x55);
    OK(acldumpGetExceptionInfoPath(exact, needed));
    CHECK(strcmp(exact, path) == 0 && exact[needed] == 0x55);
    return 0;
}

/* Makes writing fail after this many bytes of a file. */
static void limit_files(const char *bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = strcmp(bytes, "none") == 0 ? limit.rlim_max : (rlim_t)atol(bytes);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Makes the calls that programs make in callbacks. */
static int asks(void)
{
    int32_t device_id = -1;
    char bytes[4] = {1, 2, 3, 4}, copy[4] = {0, 0, 0, 0};
    aclmdlIODims dims;
    aclrtRunMode mode;
    aclmdlDesc *desc = aclmdlCreateDesc();
    acldumpGetPath(DATA_DUMP);
    /* Like every thread, that of the callback has a context only if one was made current in it. */
    if (aclrtGetDevice(&device_id) == 0) {
        CHECK(device_id == 0);
        OK(aclrtMemcpy(copy, 4, bytes, 4, ACL_MEMCPY_HOST_TO_HOST));
        CHECK(copy[3] == 4);
        OK(aclrtMemcpy(bytes, 4, copy, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    } else {
        IS(aclrtGetDevice(&device_id), 107002);
        IS(aclrtMemcpy(copy, 4, bytes, 4, ACL_MEMCPY_HOST_TO_HOST), 107002);
    }
    OK(aclrtGetRunMode(&mode));
    CHECK(aclDataTypeSize(ACL_FLOAT) == 4);
    OK(aclmdlGetDesc(desc, models[0].id));
    CHECK(aclmdlGetNumInputs(desc) == 1 && aclmdlGetInputSizeByIndex(desc, 0) > 0);
    /* During the first run, these are the declared dimensions. */
    OK(aclmdlGetCurOutputDims(desc, 0, &dims));
    OK(aclmdlDestroyDesc(desc));
    return 0;
}

/* Prints what was delivered. Everything but the number of chunks is the same in every run. */
static int report(void)
{
    opscope_acldump_report so_far;
    int code;
    memset(&so_far, 0, sizeof(so_far));
    so_far.size = sizeof(so_far);
    code = opscope_acldump_get_report(&so_far);
    printf("%d files, %d incomplete, %d chunks lost\n", (int)so_far.files, (int)so_far.incomplete_files,
           (int)so_far.lost_chunks);
    CHECK(so_far.chunks >= so_far.files);
    return code;
}

static void perform(const char *step);

/* Executes steps with "+" between them. */
static void perform_all(const char *steps)
{
    char *rest_of = NULL, *copy = strdup(steps);
    CHECK(copy != NULL);
    for (char *step = strtok_r(copy, "+", &rest_of); step != NULL; step = strtok_r(NULL, "+", &rest_of))
        perform(step);
    free(copy);
}

/* Steps that are executed at the end of the process. */
static const char *at_exit;

static void finish(void)
{
    int open;
    if (at_exit != NULL)
        perform_all(at_exit);
    for (int i = 0; i < MODELS; i++)
        forget(&models[i]);
    open = dumps_end();
    if (open > 0)
        printf("%d files never ended\n", open);
}

static void ends_well(pid_t child)
{
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Forks in a callback. The child returns to the library, which ends this thread, and thus the child. */
static void fork_and_return(void)
{
    pid_t child;
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        alarm(60);
    else
        ends_well(child);
}

/* Executes steps in the child of a fork, which must succeed. */
static void in_child(const char *steps)
{
    pid_t child;
    fflush(stdout);
    /* The callback may be called at the moment. */
    pthread_mutex_lock(&dumps.lock);
    child = fork();
    pthread_mutex_unlock(&dumps.lock);
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        perform_all(steps);
        exit(0);
    }
    ends_well(child);
}

static void count_references(int *code)
{
    uint64_t left = 99;
    *code = aclFinalizeReference(&left);
    if (*code == 0)
        printf("finalizeref: %d left\n", (int)left);
}

static int take_step(const char *name, char *value)
{
    int code = 0;
    if (strcmp(name, "init") == 0)
        return aclInit(value);
    if (strcmp(name, "finalize") == 0)
        return aclFinalize();
    if (strcmp(name, "finalizeref") == 0) {
        count_references(&code);
        return code;
    }
    if (strcmp(name, "finalizeref0") == 0)
        return aclFinalizeReference(NULL);
    if (strcmp(name, "initdump") == 0)
        return aclmdlInitDump();
    if (strcmp(name, "setdump") == 0)
        return aclmdlSetDump(value);
    if (strcmp(name, "finalizedump") == 0)
        return aclmdlFinalizeDump();
    if (strcmp(name, "reg") == 0)
        return registered();
    if (strcmp(name, "again") == 0)
        return acldumpRegCallback(never, 0);
    if (strcmp(name, "regnull") == 0)
        return acldumpRegCallback(NULL, atoi(value));
    if (strcmp(name, "regflag") == 0)
        return acldumpRegCallback(dumped, atoi(value));
    if (strcmp(name, "unreg") == 0)
        return unregistered();
    if (strcmp(name, "load") == 0)
        return load(value);
    if (strcmp(name, "unload") == 0)
        return unload(value);
    if (strcmp(name, "run") == 0)
        return run(value, 1);
    if (strcmp(name, "start") == 0)
        return run(value, 0);
    if (strcmp(name, "wait") == 0)
        return wait_for_streams();
    if (strcmp(name, "open") == 0)
        return aclrtSetDevice(0);
    if (strcmp(name, "asks") == 0)
        return asks();
    if (strcmp(name, "report") == 0)
        return report();
    if (strcmp(name, "exceptions") == 0)
        return print_exceptions();
    if (strcmp(name, "soc") == 0)
        printf("soc: %s\n", aclrtGetSocName());
    else if (strcmp(name, "path") == 0)
        print_path(atoi(value));
    else if (strcmp(name, "piece") == 0)
        opscope_acldump_set_piece_size((size_t)atol(value));
    else if (strcmp(name, "queue") == 0)
        opscope_acldump_set_queue_size((size_t)atol(value));
    else if (strcmp(name, "files") == 0)
        printf("%d of %d files are whole\n", dumps.whole, dumps.count);
    else if (strcmp(name, "slow") == 0)
        dumps.slowness = atoi(value);
    else if (strcmp(name, "answer") == 0)
        dumps.answer = atoi(value);
    else if (strcmp(name, "throw") == 0)
        dumps.throws = 1;
    else if (strcmp(name, "limit") == 0)
        limit_files(value);
    else if (strcmp(name, "block") == 0)
        block();
    else if (strcmp(name, "atexit") == 0)
        at_exit = strdup(value);
    else if (strcmp(name, "exit") == 0)
        exit(0);
    else if (strcmp(name, "forkandreturn") == 0)
        fork_and_return();
    else if (strcmp(name, "fork") == 0)
        in_child(value);
    else if (strcmp(name, "inside") == 0) {
        dumps.what = value;
        dumps.inside = perform_all;
    } else {
        CHECK(!"there is no such step");
    }
    return 0;
}

static void perform(const char *step)
{
    char name[64] = "", *value = NULL, *copy = strdup(step);
    const char *message;
    int code;
    CHECK(copy != NULL);
    value = strchr(copy, '=');
    if (value != NULL)
        *value++ = 0;
    snprintf(name, sizeof(name), "%s", copy);
    aclGetRecentErrMsg();
    /* The steps of "inside" must stay valid until the next call of the callback. */
    code = take_step(name, strcmp(name, "inside") == 0 ? (char *)strchr(step, '=') + 1 : value);
    message = aclGetRecentErrMsg();
    if (code != 0 || message != NULL)
        printf("%s: %d %s\n", name, code, message == NULL ? "no message" : message);
    free(copy);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    dumps_go_to(argv[1]);
    for (int i = 2; i < argc; i++)
        perform(argv[i]);
    if (at_exit == NULL)
        finish();
    else
        /* Finishes like the destructors of static objects, when the thread's own variables no longer exist. */
        atexit(finish);
    return 0;
}
