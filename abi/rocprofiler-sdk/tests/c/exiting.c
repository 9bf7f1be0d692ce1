/* A program that ends while its threads are traced and contexts are switched: it ends, and the tool is finalized
 * once. */
static void make_services(void);
static void finish(void);
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

#include <semaphore.h>

enum { THREADS = 4, ENOUGH = 20000 };

static rocprofiler_context_id_t context, other;
static rocprofiler_buffer_id_t buffer;
static uint64_t delivered, called;
static int finalizations, is_over;
static sem_t went_on, enough;

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)of, (void)headers, (void)data, (void)drop_count;
    CHECK(!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST));
    uint64_t before = __atomic_fetch_add(&delivered, count, __ATOMIC_RELAXED);
    if (before < ENOUGH && before + count >= ENOUGH)
        CHECK(sem_post(&enough) == 0);
}

static void call(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)record, (void)user_data, (void)data;
    if (__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED) == 0)
        CHECK(sem_post(&enough) == 0);
}

static void make_services(void)
{
    context = new_context();
    buffer = new_buffer(context, 4096, 0, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    buffer));
    OK(rocprofiler_start_context(context));
    other = new_context();
    OK(rocprofiler_configure_callback_tracing_service(other, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, NULL, 0, call,
                                                      NULL));
}

static void finish(void)
{
    CHECK(++finalizations == 1);
}

/* It was registered before the library's own, and is called after it: the tool's memory may be gone. */
static void at_exit(void)
{
    CHECK(finalized() == 1 && finalizations == 1);
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < THREADS; i++)
        CHECK(sem_wait(&went_on) == 0);
}

static void *mark(void *end)
{
    int afterwards = 0;
    while (end == NULL) {
        roctxRangePushA("range");
        roctxRangePop();
        if (__atomic_load_n(&is_over, __ATOMIC_SEQ_CST) && ++afterwards == 1000)
            CHECK(sem_post(&went_on) == 0);
    }
    return NULL;
}

static void *switch_context(void *end)
{
    while (end == NULL) {
        rocprofiler_start_context(other);
        rocprofiler_flush_buffer(buffer);
        rocprofiler_stop_context(other);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    CHECK(atexit(at_exit) == 0);
    CHECK(sem_init(&went_on, 0, 0) == 0 && sem_init(&enough, 0, 0) == 0);
    begin();
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, mark, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, switch_context, NULL) == 0);
    CHECK(sem_wait(&enough) == 0 && sem_wait(&enough) == 0);
    return 0;
}
