/*
 * A DISCARD buffer reports every record that it dropped. Drops after the last delivery are reported in a callback
 * without records: at a flush, when the buffer is destroyed, and when the tool is finalized.
 */
static void make_buffers(void);
static void finish(void);
#define TOOL_INITIALIZE make_buffers
#define TOOL_FINALIZE finish
#include "tool.h"

enum { ROOM = 512 };

/* The arguments of a call of a buffer's callback. */
typedef struct {
    rocprofiler_buffer_id_t buffer;
    int with_records, without;
    uint64_t records, dropped;
} told_t;

static told_t flushed, destroyed, at_the_end, marked;
static rocprofiler_context_id_t context;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t buffer, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    told_t *told = (told_t *)data;
    CHECK(from.handle == context.handle && buffer.handle == told->buffer.handle);
    CHECK((headers == NULL) == (count == 0));
    pthread_mutex_lock(&lock);
    /* Without records it is called only to tell something new. */
    CHECK(drop_count >= told->dropped + (count == 0));
    told->with_records += count > 0;
    told->without += count == 0;
    told->records += count;
    told->dropped = drop_count;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void make(told_t *told)
{
    told->buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_DISCARD, take, told);
}

static void make_buffers(void)
{
    context = new_context();
    make(&flushed);
    make(&destroyed);
    make(&at_the_end);
    make(&marked);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    marked.buffer));
    OK(rocprofiler_start_context(context));
}

static void emit(const told_t *told, uint64_t count)
{
    for (uint64_t number = 0; number < count; number++)
        OK(opscope_rocprofiler_emit(told->buffer, OWN_CATEGORY, 0, &number, sizeof number));
}

/* Fills a buffer, waits until it has delivered that by itself, and lets it drop more. */
static void overfill(told_t *told, uint64_t drops)
{
    emit(told, ROOM);
    pthread_mutex_lock(&lock);
    while (told->with_records == 0)
        pthread_cond_wait(&changed, &lock);
    CHECK(told->records == ROOM && told->dropped == 0 && told->without == 0);
    pthread_mutex_unlock(&lock);
    emit(told, drops);
}

static void finish(void)
{
    CHECK(at_the_end.without == 1 && at_the_end.dropped == 7 && at_the_end.records == ROOM);
    CHECK(flushed.without == 1 && destroyed.without == 1);
    CHECK(marked.records + marked.dropped == 1000 && marked.records > 0 && marked.dropped > 0);
}

int main(void)
{
    begin();
    overfill(&flushed, 5);
    OK(rocprofiler_flush_buffer(flushed.buffer));
    CHECK(flushed.without == 1 && flushed.dropped == 5 && flushed.records == ROOM);
    /* It accepts records again, and reports nothing twice. */
    OK(rocprofiler_flush_buffer(flushed.buffer));
    emit(&flushed, 1);
    OK(rocprofiler_flush_buffer(flushed.buffer));
    CHECK(flushed.without == 1 && flushed.with_records == 2 && flushed.records == ROOM + 1 && flushed.dropped == 5);

    overfill(&destroyed, 3);
    /* The callback that reported the records may not have returned yet. */
    rocprofiler_status_t status;
    while ((status = rocprofiler_destroy_buffer(destroyed.buffer)) == ROCPROFILER_STATUS_ERROR_BUFFER_BUSY)
        sched_yield();
    OK(status);
    CHECK(destroyed.without == 1 && destroyed.dropped == 3 && destroyed.records == ROOM);

    overfill(&at_the_end, 7);
    for (int i = 0; i < 1000; i++)
        roctxMarkA("more than the buffer holds");
    return 0;
}
