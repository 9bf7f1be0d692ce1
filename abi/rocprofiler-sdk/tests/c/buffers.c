/*
 * Buffers, filled with records of the tool's own: sizes, watermarks, policies, flushing and destroying. The argument is
 * which policies the environment leads to: "given", "discard", or "lossless".
 */
static void make_buffers(void);
#define TOOL_INITIALIZE make_buffers
#include "tool.h"

#include "kept.h"

#define DISCARD ROCPROFILER_BUFFER_POLICY_DISCARD
#define LOSSLESS ROCPROFILER_BUFFER_POLICY_LOSSLESS
#define NO_POLICY ROCPROFILER_BUFFER_POLICY_NONE

enum { MANY = 300, EMITTERS = 4, FULL = 511 };

static kept_t small, large, each, above, page, discards, none, swaps, quiet, busy, doomed, self, shared, many[MANY];
static const char *environment;

static void make_buffers(void)
{
    rocprofiler_context_id_t context = new_context();
    make_kept(&small, context, 4096, 48, LOSSLESS);
    make_kept(&large, context, 4096, 48, LOSSLESS);
    make_kept(&each, context, 4096, 0, LOSSLESS);
    make_kept(&above, context, 4096, 1 << 20, LOSSLESS);
    make_kept(&page, context, 1, 4096, DISCARD);
    make_kept(&discards, context, 4000, 4096, DISCARD);
    make_kept(&none, context, 4096, 4096, NO_POLICY);
    make_kept(&swaps, context, 4096, 4096, LOSSLESS);
    make_kept(&quiet, context, 1 << 20, 1 << 20, LOSSLESS);
    make_kept(&busy, context, 4096, 4096, LOSSLESS);
    make_kept(&doomed, context, 4096, 4096, LOSSLESS);
    make_kept(&self, context, 4096, 4096, LOSSLESS);
    make_kept(&shared, context, 1 << 16, 1 << 16, LOSSLESS);
    for (int i = 0; i < MANY; i++)
        make_kept(&many[i], context, 4096, 4096, LOSSLESS);
    for (int i = 1; i < MANY; i++)
        CHECK(many[i].buffer.handle != many[i - 1].buffer.handle);
}

/* The callback becomes due with the record that reaches the watermark, however late it is called. */
static void check_watermarks(void)
{
    emit(&small, 0, 18, 8);
    await_callbacks(&small, 3);
    for (int i = 0; i < 3; i++)
        CHECK(small.batches[i] == 6);
    emit(&small, 18, 5, 8);
    OK(rocprofiler_flush_buffer(small.buffer));
    CHECK(small.callbacks == 4 && small.batches[3] == 5);

    emit(&large, 0, 3, 64);
    await_callbacks(&large, 3);
    for (int i = 0; i < 3; i++)
        CHECK(large.batches[i] == 1);

    emit(&each, 0, 3, 8);
    await_callbacks(&each, 3);

    /* A watermark above the size is the size. */
    emit(&above, 0, 512, 8);
    await_callbacks(&above, 1);
    CHECK(above.batches[0] == 512);

    /* A byte becomes a page. */
    emit(&page, 0, 512, 8);
    await_callbacks(&page, 1);
    CHECK(page.batches[0] == 512 && page.drop_count == 0);
}

/* 4088 of 4096 bytes are in use when records of 16 bytes are emitted. */
static void check_dropping(kept_t *kept)
{
    emit(kept, 0, FULL, 8);
    for (int i = 0; i < 3; i++)
        try_emit(kept, 0, 16);
    CHECK(kept->callbacks == 0);
    OK(rocprofiler_flush_buffer(kept->buffer));
    CHECK(kept->callbacks == 1 && kept->batches[0] == FULL && kept->drop_count == 3);
    /* The flush freed space. Drops are counted from the beginning. */
    emit(kept, FULL, 1, 16);
    OK(rocprofiler_flush_buffer(kept->buffer));
    CHECK(kept->callbacks == 2 && kept->batches[1] == 1 && kept->drop_count == 3);
    emit(kept, FULL + 1, FULL, 8);
    try_emit(kept, 0, 16);
    OK(rocprofiler_flush_buffer(kept->buffer));
    CHECK(kept->records == 2 * FULL + 1 && kept->drop_count == 4);
}

static void check_swapping(kept_t *kept)
{
    emit(kept, 0, FULL, 8);
    emit(kept, FULL, 1, 16);
    await_callbacks(kept, 1);
    CHECK(kept->batches[0] == FULL);
    OK(rocprofiler_flush_buffer(kept->buffer));
    CHECK(kept->callbacks == 2 && kept->batches[1] == 1 && kept->drop_count == 0);
}

static void check_policies(void)
{
    if (strcmp(environment, "given") == 0) {
        check_dropping(&discards);
        check_dropping(&none);
        check_swapping(&swaps);
        return;
    }
    void (*check)(kept_t *) = strcmp(environment, "discard") == 0 ? check_dropping : check_swapping;
    check(&discards);
    check(&none);
    check(&swaps);
}

static pthread_barrier_t line;

static void *emit_in_a_thread(void *unused)
{
    (void)unused;
    uint64_t payload[2] = {own_thread(), 0};
    for (int i = 0; i < 100; i++)
        OK(opscope_rocprofiler_emit(shared.buffer, OWN_CATEGORY + 1, 7, payload, sizeof payload));
    pthread_barrier_wait(&line);
    pthread_barrier_wait(&line);
    return NULL;
}

/* One flush delivers what any thread emitted before. */
static void check_barrier(void)
{
    pthread_t threads[EMITTERS];
    CHECK(pthread_barrier_init(&line, NULL, EMITTERS + 1) == 0);
    for (int i = 0; i < EMITTERS; i++)
        CHECK(pthread_create(&threads[i], NULL, emit_in_a_thread, NULL) == 0);
    pthread_barrier_wait(&line);
    OK(rocprofiler_flush_buffer(shared.buffer));
    CHECK(shared.records == EMITTERS * 100);
    pthread_barrier_wait(&line);
    for (int i = 0; i < EMITTERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void *flush_busy(void *unused)
{
    (void)unused;
    OK(rocprofiler_flush_buffer(busy.buffer));
    return NULL;
}

/* While a callback runs: records are taken, a second flush waits, and the buffer cannot be destroyed. */
static void check_busy(void)
{
    pthread_t threads[2];
    hold(&busy);
    emit(&busy, 0, 1, 8);
    CHECK(pthread_create(&threads[0], NULL, flush_busy, NULL) == 0);
    await_inside(&busy);
    ANSWERS(ERROR_BUFFER_BUSY, rocprofiler_destroy_buffer(busy.buffer));
    emit(&busy, 1, 1, 8);
    CHECK(pthread_create(&threads[1], NULL, flush_busy, NULL) == 0);
    ANSWERS(ERROR_BUFFER_BUSY, rocprofiler_destroy_buffer(busy.buffer));
    release(&busy);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(busy.records == 2);
    OK(rocprofiler_destroy_buffer(busy.buffer));
}

/* Calls that a buffer's callback may not make are refused, and nothing hangs. */
static uint64_t emitted_inside;

static void act(void)
{
    self.act = NULL;
    ANSWERS(ERROR_BUFFER_BUSY, rocprofiler_flush_buffer(self.buffer));
    ANSWERS(ERROR_BUFFER_BUSY, rocprofiler_destroy_buffer(self.buffer));
    /* Another buffer of the same thread. */
    ANSWERS(ERROR_BUFFER_BUSY, rocprofiler_flush_buffer(quiet.buffer));
    uint64_t emitted = 1;
    rocprofiler_status_t status;
    while ((status = try_emit(&self, emitted, 8)) == ROCPROFILER_STATUS_SUCCESS)
        CHECK(++emitted < 1 << 20);
    CHECK(status == ROCPROFILER_STATUS_ERROR_BUFFER_BUSY);
    CHECK(emitted > 256);
    emitted_inside = emitted;
}

static void check_callback(void)
{
    self.act = act;
    emit(&self, 0, 1, 8);
    OK(rocprofiler_flush_buffer(self.buffer));
    OK(rocprofiler_flush_buffer(self.buffer));
    CHECK(self.records == emitted_inside);
    emit(&self, self.records, 1, 8);
    uint64_t before = self.records;
    OK(rocprofiler_flush_buffer(self.buffer));
    CHECK(self.records == before + 1);
}

static void check_destroyed(void)
{
    emit(&doomed, 0, 3, 8);
    OK(rocprofiler_destroy_buffer(doomed.buffer));
    CHECK(doomed.records == 3);
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_destroy_buffer(doomed.buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_flush_buffer(doomed.buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, try_emit(&doomed, 3, 8));
    CHECK(doomed.callbacks == 1);
}

static void check_own_records(void)
{
    uint64_t payload[1024] = {0};
    rocprofiler_buffer_id_t unknown = {1};
    ANSWERS(ERROR_BUFFER_NOT_FOUND, opscope_rocprofiler_emit(unknown, OWN_CATEGORY, 0, payload, 8));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, 200, 0, payload, 8));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, UINT32_MAX, 0, payload, 8));
    /* Records with the category of tracing are the library's own. */
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, ROCPROFILER_BUFFER_CATEGORY_TRACING,
                                                             ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, payload, 64));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, OWN_CATEGORY, 65536, payload, 8));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, OWN_CATEGORY, 0, NULL, 8));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, OWN_CATEGORY, 0, payload, 0));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, OWN_CATEGORY, 0, payload, 8192));
    ANSWERS(ERROR_INVALID_ARGUMENT, opscope_rocprofiler_emit(small.buffer, OWN_CATEGORY, 0, payload, SIZE_MAX));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    environment = arguments[1];
    begin();
    check_policies();
    if (strcmp(environment, "given") != 0)
        return 0;
    check_watermarks();
    check_barrier();
    check_busy();
    check_callback();
    check_destroyed();
    check_own_records();

    /* Nothing waits: no callback. */
    OK(rocprofiler_flush_buffer(quiet.buffer));
    CHECK(quiet.callbacks == 0);

    for (int i = 0; i < MANY; i++)
        emit(&many[i], 0, (uint64_t)i % 5 + 1, 8);
    for (int i = 0; i < MANY; i++) {
        OK(rocprofiler_flush_buffer(many[i].buffer));
        CHECK(many[i].callbacks == 1 && many[i].records == (size_t)i % 5 + 1);
    }
    return 0;
}
