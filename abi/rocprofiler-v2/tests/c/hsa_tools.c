/*
 * Tools that an HSA runtime would load, and a program that attaches a producer. Compiled with NAME and PRIORITY this is
 * a tool: with TRACES one that records, with REFUSES one that does not load, with OTHER one that belongs to
 * another library.
 */
#ifndef NAME

#include "tool.h"

#include <opscope_producer.h>
#include <roctracer/roctx.h>

#include <sys/wait.h>
#include <unistd.h>

static opscope_producer_t tables[2];

static void attach(int number)
{
    tables[number].size = sizeof tables[number];
    tables[number].version = OPSCOPE_PRODUCER_VERSION;
    ANSWERS(opscope_attach_producer(&tables[number]), OPSCOPE_ATTACHED);
}

int main(void)
{
    printf("main\n");
    fflush(stdout);
    attach(0);
    /* A second producer loads nothing. */
    attach(1);
    for (int i = 0; i < 3; i++)
        roctxMarkA("a mark");
    /* A child unloads nothing. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        exit(0);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    printf("end of main\n");
    fflush(stdout);
    return 0;
}

#else

#include "tool.h"

#ifdef __cplusplus
extern "C" {
#else
typedef _Bool bool;
#endif

extern const uint32_t HSA_AMD_TOOL_PRIORITY;
const uint32_t HSA_AMD_TOOL_PRIORITY = PRIORITY;

bool OnLoad(void *, uint64_t, uint64_t, const char *const *);
void OnUnload(void);

#ifdef __cplusplus
}

/* An object with a destructor, which comes after OnUnload. */
static struct alive_t {
    bool is;
    ~alive_t() { is = false; }
} alive{true};
#define CHECK_ALIVE() CHECK(alive.is)
#else
#define CHECK_ALIVE()
#endif

#ifdef TRACES
static traced_t traced;
static int records;

static void take(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    for (; begin < end; begin = after(begin, session, buffer)) {
        /* No record has the id 0. */
        CHECK(begin->id.handle == (uint64_t)records + 1);
        records++;
    }
}
#endif

bool OnLoad(void *table, uint64_t version, uint64_t failed_count, const char *const *failed)
{
    /* The tables are there, of version 0 and without functions, and belong to the tool. */
    uint64_t *words = (uint64_t *)table;
    CHECK(version == 0 && words[0] == 0 && words[1] == 0);
    for (int i = 2; i < 8; i++) {
        uint64_t *functions;
        memcpy(&functions, &words[i], sizeof functions);
        CHECK(functions[0] == 0 && functions[200] == 0);
    }
    printf("%s is loaded, after %d that failed:", NAME, (int)failed_count);
    for (uint64_t i = 0; i < failed_count; i++)
        printf(" %s", failed[i]);
    printf("\n");
    fflush(stdout);
#ifdef OTHER
    CHECK(!"it is a tool of something else");
#endif
#ifdef REFUSES
    return 0;
#endif
#ifdef TRACES
    OK(rocprofiler_initialize());
    traced = create_roctx(1 << 16, take);
    OK(rocprofiler_start_session(traced.session));
#endif
    return 1;
}

void OnUnload(void)
{
    CHECK_ALIVE();
#ifdef TRACES
    OK(flush(traced));
    OK(rocprofiler_terminate_session(traced.session));
    OK(rocprofiler_finalize());
    printf("%s has %d records\n", NAME, records);
#endif
    printf("%s is unloaded\n", NAME);
    fflush(stdout);
}

#endif
