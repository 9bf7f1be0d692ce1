/*
 * A ROCTx runtime that behaves as AMD's does: three tables, whose entries it reads plainly at each call, and which it
 * registers at the first call of any function.
 */
#include "sdk.h"

#include <rocprofiler-sdk-roctx/api_trace.h>

#include <dlfcn.h>

static __thread int level;
static uint64_t ranges;

static void mark(const char *message)
{
    (void)message;
}

static int push(const char *message)
{
    (void)message;
    return level++;
}

static int pop(void)
{
    return level > 0 ? --level : -1;
}

static uint64_t start(const char *message)
{
    (void)message;
    return __atomic_add_fetch(&ranges, 1, __ATOMIC_RELAXED);
}

static void stop(uint64_t id)
{
    (void)id;
}

static int thread_id(uint64_t *to)
{
    *to = own_thread();
    return 0;
}

static int pause_or_resume(uint64_t thread)
{
    (void)thread;
    return 0;
}

static int name_thread(const char *name)
{
    (void)name;
    return 0;
}

static int name_agent(const char *name, const struct hsa_agent_s *agent)
{
    (void)name, (void)agent;
    return 0;
}

static int name_device(const char *name, int device)
{
    (void)name, (void)device;
    return 0;
}

static int name_stream(const char *name, const struct ihipStream_t *stream)
{
    (void)name, (void)stream;
    return 0;
}

static roctxCoreApiTable_t core = {sizeof core, mark, push, pop, start, stop, thread_id};
static roctxControlApiTable_t control = {sizeof control, pause_or_resume, pause_or_resume};
static roctxNameApiTable_t names = {sizeof names, name_thread, name_agent, name_device, name_stream};

static void enroll(void)
{
    int (*set_tables)(const char *, uint64_t, uint64_t, void **, uint64_t);
    FUNCTION(set_tables, dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table"));
    void *tables[3] = {&core, &control, &names};
    CHECK(set_tables != NULL && set_tables("roctx", 10000, 0, tables, 3) == 0);
}

/* A tool that calls ROCTx while it is initialized comes back here. */
static void ensure(void)
{
    static int registered;
    if (__atomic_exchange_n(&registered, 1, __ATOMIC_ACQ_REL) == 0)
        enroll();
}

#define API EXTERN_C ROCTX_PUBLIC_API

API void roctxMarkA(const char *message)
{
    ensure();
    core.roctxMarkA_fn(message);
}

API int roctxRangePushA(const char *message)
{
    ensure();
    return core.roctxRangePushA_fn(message);
}

API int roctxRangePop(void)
{
    ensure();
    return core.roctxRangePop_fn();
}

API roctx_range_id_t roctxRangeStartA(const char *message)
{
    ensure();
    return core.roctxRangeStartA_fn(message);
}

API void roctxRangeStop(roctx_range_id_t id)
{
    ensure();
    core.roctxRangeStop_fn(id);
}

API int roctxGetThreadId(roctx_thread_id_t *to)
{
    ensure();
    return core.roctxGetThreadId_fn(to);
}

API int roctxProfilerPause(roctx_thread_id_t thread)
{
    ensure();
    return control.roctxProfilerPause_fn(thread);
}

API int roctxProfilerResume(roctx_thread_id_t thread)
{
    ensure();
    return control.roctxProfilerResume_fn(thread);
}

API int roctxNameOsThread(const char *name)
{
    ensure();
    return names.roctxNameOsThread_fn(name);
}

API int roctxNameHsaAgent(const char *name, const struct hsa_agent_s *agent)
{
    ensure();
    return names.roctxNameHsaAgent_fn(name, agent);
}

API int roctxNameHipDevice(const char *name, int device)
{
    ensure();
    return names.roctxNameHipDevice_fn(name, device);
}

API int roctxNameHipStream(const char *name, const struct ihipStream_t *stream)
{
    ensure();
    return names.roctxNameHipStream_fn(name, stream);
}
