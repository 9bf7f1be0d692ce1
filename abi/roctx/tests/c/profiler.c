/*
 * Stands for librocprofiler-sdk.so: checks what it receives, calls ROCTx functions while the tables are registered, and
 * wraps every entry. FAKE_STATUS is what it returns; with FAKE_NULL it stores NULL into every entry instead.
 */
#include "check.h"

#include "rocprofiler-sdk-roctx/api_trace.h"

#include <dlfcn.h>
#include <pthread.h>

static roctxCoreApiTable_t core, *live_core;
static roctxControlApiTable_t control, *live_control;
static roctxNameApiTable_t name, *live_name;

/* Texts that begin with ~ are not printed. */
static void note(const char *function, const char *text)
{
    if (text == NULL || text[0] != '~')
        printf("wrapped %s %s\n", function, text != NULL ? text : "(null)");
}

static void mark(const char *message)
{
    note("mark", message);
    core.roctxMarkA_fn(message);
}

static int push(const char *message)
{
    note("push", message);
    return core.roctxRangePushA_fn(message);
}

static int pop(void)
{
    printf("wrapped pop\n");
    return core.roctxRangePop_fn();
}

static uint64_t start(const char *message)
{
    note("start", message);
    return core.roctxRangeStartA_fn(message);
}

static void stop(uint64_t id)
{
    printf("wrapped stop %d\n", (int)id);
    core.roctxRangeStop_fn(id);
}

static int thread_id(uint64_t *to)
{
    printf("wrapped thread\n");
    return core.roctxGetThreadId_fn(to);
}

static int pause_(uint64_t thread)
{
    printf("wrapped pause %d\n", (int)thread);
    return control.roctxProfilerPause_fn(thread) + 10;
}

static int resume(uint64_t thread)
{
    printf("wrapped resume %d\n", (int)thread);
    return control.roctxProfilerResume_fn(thread) + 20;
}

static int os_thread(const char *text)
{
    note("thread's name", text);
    return name.roctxNameOsThread_fn(text);
}

static int agent(const char *text, const struct hsa_agent_s *object)
{
    note("agent's name", text);
    return name.roctxNameHsaAgent_fn(text, object);
}

static int device(const char *text, int number)
{
    note("device's name", text);
    return name.roctxNameHipDevice_fn(text, number) + number;
}

static int stream(const char *text, const struct ihipStream_t *object)
{
    note("stream's name", text);
    return name.roctxNameHipStream_fn(text, object);
}

/* Calls the exported functions as any part of the program may. They behave as they do without a profiler. */
static void *use(void *unused)
{
    (void)unused;
    void (*mark_here)(const char *);
    int (*push_here)(const char *);
    int (*pop_here)(void);
    FUNCTION(mark_here, dlsym(RTLD_DEFAULT, "roctxMarkA"));
    FUNCTION(push_here, dlsym(RTLD_DEFAULT, "roctxRangePushA"));
    FUNCTION(pop_here, dlsym(RTLD_DEFAULT, "roctxRangePop"));
    if (mark_here != NULL) {
        mark_here("not wrapped");
        CHECK(push_here("not wrapped") == 0);
        CHECK(pop_here() == 0);
    }
    return NULL;
}

#ifdef __cplusplus
extern "C"
#endif
int rocprofiler_set_api_table(const char *library, uint64_t version, uint64_t instance, void **tables, uint64_t count);
int rocprofiler_set_api_table(const char *library, uint64_t version, uint64_t instance, void **tables, uint64_t count)
{
    printf("registered %s %d %d", library, (int)version, (int)instance);
    for (uint64_t i = 0; i < count; i++)
        printf(" %d", (int)*(uint64_t *)tables[i]);
    printf("\n");
    CHECK(count == 3);

    use(NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);

    live_core = (roctxCoreApiTable_t *)tables[0];
    live_control = (roctxControlApiTable_t *)tables[1];
    live_name = (roctxNameApiTable_t *)tables[2];
    core = *live_core;
    control = *live_control;
    name = *live_name;
    if (getenv("FAKE_NULL") != NULL) {
        memset((char *)live_core + 8, 0, sizeof core - 8);
        memset((char *)live_control + 8, 0, sizeof control - 8);
        memset((char *)live_name + 8, 0, sizeof name - 8);
    } else {
        const roctxCoreApiTable_t own_core = {core.size, mark, push, pop, start, stop, thread_id};
        const roctxControlApiTable_t own_control = {control.size, pause_, resume};
        const roctxNameApiTable_t own_name = {name.size, os_thread, agent, device, stream};
        /* Other threads may be calling: entry by entry, each a whole pointer. */
        for (size_t at = 8; at < sizeof core; at += 8)
            __atomic_store_n((uint64_t *)((char *)live_core + at), *(const uint64_t *)((const char *)&own_core + at), __ATOMIC_RELEASE);
        for (size_t at = 8; at < sizeof control; at += 8)
            __atomic_store_n((uint64_t *)((char *)live_control + at), *(const uint64_t *)((const char *)&own_control + at), __ATOMIC_RELEASE);
        for (size_t at = 8; at < sizeof name; at += 8)
            __atomic_store_n((uint64_t *)((char *)live_name + at), *(const uint64_t *)((const char *)&own_name + at), __ATOMIC_RELEASE);
    }
    const char *status = getenv("FAKE_STATUS");
    return status != NULL ? atoi(status) : 0;
}
