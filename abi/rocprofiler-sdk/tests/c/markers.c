/* Buffered tracing of ROCTx: which records come, what is in them, and where they go. */
static void make_services(void);
static void finish(void);
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

enum { MOST = 4096, THREADS = 4, ROUNDS = 5 };

typedef rocprofiler_buffer_tracing_marker_api_record_t call_t;
typedef rocprofiler_buffer_tracing_correlation_id_retirement_record_t retirement_t;
typedef rocprofiler_buffer_tracing_runtime_initialization_record_t runtime_t;

/* A record of any kind. */
typedef struct {
    uint32_t kind;
    union {
        call_t call;
        retirement_t retirement;
        runtime_t runtime;
    } of;
} record_t;

/* The records from a buffer. */
typedef struct {
    rocprofiler_context_id_t context;
    rocprofiler_buffer_id_t buffer;
    record_t records[MOST];
    size_t count;
    size_t callbacks;
} kept_t;

/* All calls and what belongs to them; ranges; two operations; what came while its context was started. */
static kept_t all, ranges, pushes, switched;
static uint64_t tool_began, thread_of_callbacks;

static void keep(rocprofiler_context_id_t context, rocprofiler_buffer_id_t buffer,
                 rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    kept_t *kept = (kept_t *)data;
    CHECK(context.handle == kept->context.handle && buffer.handle == kept->buffer.handle);
    CHECK(count > 0 && drop_count == 0);
    CHECK(thread_of_callbacks == 0 || thread_of_callbacks == own_thread());
    thread_of_callbacks = own_thread();
    kept->callbacks++;
    for (size_t i = 0; i < count; i++) {
        CHECK(kept->count < MOST);
        record_t *record = &kept->records[kept->count++];
        record->kind = headers[i]->kind;
        CHECK(headers[i]->category == ROCPROFILER_BUFFER_CATEGORY_TRACING);
        CHECK(headers[i]->hash == rocprofiler_record_header_compute_hash(headers[i]->category, headers[i]->kind));
        uint64_t size = *(uint64_t *)headers[i]->payload;
        switch (record->kind) {
        case ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API:
        case ROCPROFILER_BUFFER_TRACING_MARKER_CONTROL_API:
        case ROCPROFILER_BUFFER_TRACING_MARKER_NAME_API:
        case ROCPROFILER_BUFFER_TRACING_MARKER_CORE_RANGE_API:
            CHECK(size == sizeof(call_t));
            break;
        case ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT:
            CHECK(size == sizeof(retirement_t));
            break;
        case ROCPROFILER_BUFFER_TRACING_RUNTIME_INITIALIZATION:
            CHECK(size == sizeof(runtime_t));
            break;
        default:
            CHECK(!"a kind that was not asked for");
        }
        memcpy(&record->of, headers[i]->payload, size);
        CHECK((uint32_t)record->of.call.kind == record->kind);
    }
}

static void make(kept_t *kept, size_t watermark)
{
    kept->context = new_context();
    kept->buffer = new_buffer(kept->context, 1 << 20, watermark, ROCPROFILER_BUFFER_POLICY_LOSSLESS, keep, kept);
}

static void trace(kept_t *kept, rocprofiler_buffer_tracing_kind_t kind)
{
    OK(rocprofiler_configure_buffer_tracing_service(kept->context, kind, NULL, 0, kept->buffer));
}

static void make_services(void)
{
    tool_began = now();
    make(&all, 1 << 20);
    trace(&all, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API);
    trace(&all, ROCPROFILER_BUFFER_TRACING_MARKER_CONTROL_API);
    trace(&all, ROCPROFILER_BUFFER_TRACING_MARKER_NAME_API);
    trace(&all, ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT);
    trace(&all, ROCPROFILER_BUFFER_TRACING_RUNTIME_INITIALIZATION);

    make(&ranges, 1 << 20);
    trace(&ranges, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_RANGE_API);

    make(&pushes, 0);
    const rocprofiler_tracing_operation_t operations[2] = {ROCPROFILER_MARKER_CORE_API_ID_roctxRangePushA,
                                                           ROCPROFILER_MARKER_CORE_API_ID_roctxRangePop};
    OK(rocprofiler_configure_buffer_tracing_service(pushes.context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API,
                                                    operations, 2, pushes.buffer));

    make(&switched, 1 << 20);
    trace(&switched, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API);

    OK(rocprofiler_start_context(all.context));
    OK(rocprofiler_start_context(ranges.context));
    OK(rocprofiler_start_context(pushes.context));
}

static void empty(kept_t *kept)
{
    OK(rocprofiler_flush_buffer(kept->buffer));
    kept->count = kept->callbacks = 0;
}

/* One call of each function, in the order of kind and operation. */
static void call_each(void)
{
    roctx_thread_id_t thread = 0;
    roctxMarkA("mark");
    CHECK(roctxRangePushA("push") == 0);
    CHECK(roctxRangePop() == 0);
    roctx_range_id_t id = roctxRangeStartA("start");
    CHECK(id > 0);
    roctxRangeStop(id);
    CHECK(roctxGetThreadId(&thread) == 0 && thread == own_thread());
    CHECK(roctxProfilerPause(0) == 0);
    CHECK(roctxProfilerResume(0) == 0);
    CHECK(roctxNameOsThread("thread") == 0);
    CHECK(roctxNameHsaAgent("agent", NULL) == 0);
    CHECK(roctxNameHipDevice("device", 1) == 0);
    CHECK(roctxNameHipStream("stream", NULL) == 0);
}

enum { CORE = 6, EACH = 12 };

/* The names of kind and operation, as a tool asks for them. */
static const char *const NAMES[EACH] = {
    "roctxMarkA",         "roctxRangePushA",     "roctxRangePop",     "roctxRangeStartA",
    "roctxRangeStop",     "roctxGetThreadId",    "roctxProfilerPause", "roctxProfilerResume",
    "roctxNameOsThread",  "roctxNameHsaAgent",   "roctxNameHipDevice", "roctxNameHipStream"};

static const char *name_of(const call_t *call)
{
    const char *name = NULL;
    uint64_t length = 0;
    OK(rocprofiler_query_buffer_tracing_kind_operation_name(call->kind, call->operation, &name, &length));
    CHECK(strlen(name) == length);
    return name;
}

/* Times are between two readings of the clock, whose calibration may be off by this. */
enum { TOLERANCE = 100000 };

/* The range that each function of the core table begins or ends, of the four ranges in call_each. */
static const int RANGE[CORE] = {0, 1, 1, 2, 2, 3};

static int is_range(uint64_t id)
{
    for (size_t i = 0; i < ranges.count; i++)
        if (ranges.records[i].of.call.correlation_id.internal == id)
            return 1;
    return 0;
}

static void check_call(const call_t *call, uint64_t before, uint64_t after)
{
    CHECK(call->correlation_id.internal > 0 && call->correlation_id.external.value == 0);
    /* Nothing is nested, except for calls in the range that they make. */
    CHECK(call->correlation_id.ancestor == 0 || is_range(call->correlation_id.ancestor));
    CHECK(call->start_timestamp <= call->end_timestamp);
    CHECK(call->start_timestamp + TOLERANCE >= before && call->end_timestamp <= after + TOLERANCE);
}

static void check_runtime(void)
{
    OK(rocprofiler_flush_buffer(all.buffer));
    CHECK(all.count > 1 && all.records[0].kind == ROCPROFILER_BUFFER_TRACING_RUNTIME_INITIALIZATION);
    const runtime_t *runtime = &all.records[0].of.runtime;
    CHECK(runtime->operation == ROCPROFILER_RUNTIME_INITIALIZATION_MARKER);
    CHECK(runtime->version == 10000 && runtime->instance == 0 && runtime->thread_id == own_thread());
    CHECK(runtime->correlation_id.internal == 0 && runtime->correlation_id.external.value == 0);
    CHECK(runtime->timestamp + TOLERANCE >= tool_began && runtime->timestamp <= now() + TOLERANCE);
    /* The call that registered the runtime is traced, too. */
    CHECK(strcmp(name_of(&all.records[1].of.call), "roctxProfilerResume") == 0);
}

static void check_each(uint64_t before)
{
    /* A call's record is followed by the retirement of its id. Ranges have ids of their own, which retire, too. */
    uint64_t after = now(), last = 0;
    size_t calls = 0, retirements = 0;
    OK(rocprofiler_flush_buffer(all.buffer));
    OK(rocprofiler_flush_buffer(ranges.buffer));
    CHECK(all.callbacks == 1 && ranges.callbacks == 1);
    for (size_t i = 0; i < all.count; i++) {
        const record_t *record = &all.records[i];
        if (record->kind == ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT) {
            retirements++;
            CHECK(record->of.retirement.timestamp + TOLERANCE >= before);
            CHECK(record->of.retirement.timestamp <= after + TOLERANCE);
            continue;
        }
        const call_t *call = &record->of.call;
        CHECK(calls < EACH && strcmp(name_of(call), NAMES[calls]) == 0);
        check_call(call, before, after);
        CHECK(call->thread_id == own_thread());
        CHECK(call->start_timestamp >= last);
        last = call->end_timestamp;
        CHECK(i + 1 < all.count && all.records[i + 1].kind == ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT);
        CHECK(all.records[i + 1].of.retirement.internal_correlation_id == call->correlation_id.internal);
        const uint64_t ancestor = calls < CORE ? ranges.records[RANGE[calls]].of.call.correlation_id.internal : 0;
        CHECK(call->correlation_id.ancestor == ancestor);
        calls++;
    }
    CHECK(calls == EACH);
    CHECK(ranges.count == 4);
    const int32_t expected[4] = {
        ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxMarkA, ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxThreadRangeA,
        ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxProcessRangeA, ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxGetThreadId};
    for (size_t i = 0; i < ranges.count; i++) {
        check_call(&ranges.records[i].of.call, before, after);
        CHECK(ranges.records[i].of.call.operation == expected[i]);
        CHECK(ranges.records[i].of.call.correlation_id.ancestor == 0);
    }
    CHECK(retirements == EACH + 4);

    OK(rocprofiler_flush_buffer(pushes.buffer));
    CHECK(pushes.count == 2);
    CHECK(strcmp(name_of(&pushes.records[0].of.call), "roctxRangePushA") == 0);
    CHECK(strcmp(name_of(&pushes.records[1].of.call), "roctxRangePop") == 0);
    /* Two contexts that want a call share its internal id. */
    uint64_t shared = pushes.records[0].of.call.correlation_id.internal;
    size_t found = 0;
    for (size_t i = 0; i < all.count; i++)
        found += all.records[i].of.call.kind != ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT &&
                 all.records[i].of.call.correlation_id.internal == shared;
    CHECK(found == 1);
}

static void *call_on_a_thread(void *thread)
{
    *(uint64_t *)thread = own_thread();
    for (int i = 0; i < ROUNDS; i++)
        call_each();
    return NULL;
}

/* Each thread's records come in the order of its calls, each with an id that no other has. */
static void check_threads(void)
{
    pthread_t threads[THREADS];
    uint64_t numbers[THREADS];
    size_t seen[THREADS] = {0};
    uint64_t before = now();
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, call_on_a_thread, &numbers[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    uint64_t after = now();
    OK(rocprofiler_flush_buffer(all.buffer));
    OK(rocprofiler_flush_buffer(ranges.buffer));
    for (size_t i = 0; i < all.count; i++) {
        const record_t *record = &all.records[i];
        if (record->kind == ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT)
            continue;
        check_call(&record->of.call, before, after);
        int thread = 0;
        while (numbers[thread] != record->of.call.thread_id)
            CHECK(++thread < THREADS);
        CHECK(strcmp(name_of(&record->of.call), NAMES[seen[thread]++ % EACH]) == 0);
        size_t same = 0, retired_before = 0, retired = 0;
        for (size_t j = 0; j < all.count; j++) {
            uint64_t id = record->of.call.correlation_id.internal;
            if (all.records[j].kind == ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT) {
                retired += all.records[j].of.retirement.internal_correlation_id == id;
                retired_before += j < i && all.records[j].of.retirement.internal_correlation_id == id;
            } else {
                same += all.records[j].of.call.correlation_id.internal == id;
            }
        }
        CHECK(same == 1 && retired == 1 && retired_before == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(seen[i] == EACH * ROUNDS);
}

static void *pop_and_stop(void *range)
{
    /* A thread range belongs to its thread, a process range to none. */
    roctxRangePop();
    roctxRangeStop(*(roctx_range_id_t *)range);
    return NULL;
}

/* A range is one record, at its end: nested ones come innermost first. */
static void check_ranges(void)
{
    static char message[] = "freed before the end";
    pthread_t thread;
    roctxRangePushA("outer");
    uint64_t inner_began = now();
    roctxRangePushA(message);
    message[0] = '\0';
    roctx_range_id_t range = roctxRangeStartA("process");
    CHECK(pthread_create(&thread, NULL, pop_and_stop, &range) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(roctxRangePop() == 1);
    uint64_t inner_ended = now();
    CHECK(roctxRangePop() == 0);
    /* No range is open, so neither call does anything. */
    CHECK(roctxRangePop() == -1);
    roctxRangeStop(range);
    roctxRangeStop(987654321);
    roctxRangeStartA("never stopped");
    OK(rocprofiler_flush_buffer(ranges.buffer));
    CHECK(ranges.count == 3);
    const call_t *process = &ranges.records[0].of.call, *inner = &ranges.records[1].of.call,
                 *outer = &ranges.records[2].of.call;
    CHECK(process->operation == ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxProcessRangeA);
    CHECK(inner->operation == ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxThreadRangeA);
    CHECK(outer->operation == ROCPROFILER_MARKER_CORE_RANGE_API_ID_roctxThreadRangeA);
    CHECK(inner->start_timestamp + TOLERANCE >= inner_began && inner->end_timestamp <= inner_ended + TOLERANCE);
    CHECK(outer->start_timestamp <= inner->start_timestamp && inner->end_timestamp <= outer->end_timestamp);
    CHECK(inner->start_timestamp <= process->start_timestamp && process->end_timestamp <= inner->end_timestamp);
    for (int i = 0; i < 3; i++)
        CHECK(ranges.records[i].of.call.thread_id == own_thread());
}

/* A context records from its start to its stop, and again. What waits is not lost. */
static void check_switch(void)
{
    roctxMarkA("not yet");
    OK(rocprofiler_start_context(switched.context));
    roctxMarkA("first");
    OK(rocprofiler_stop_context(switched.context));
    roctxMarkA("between");
    OK(rocprofiler_start_context(switched.context));
    roctxRangePushA("second");
    OK(rocprofiler_stop_context(switched.context));
    roctxRangePop();
    OK(rocprofiler_flush_buffer(switched.buffer));
    CHECK(switched.count == 2);
    CHECK(switched.records[0].of.call.operation == ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA);
    CHECK(switched.records[1].of.call.operation == ROCPROFILER_MARKER_CORE_API_ID_roctxRangePushA);
}

static size_t expected_at_the_end;

/* Records that are waiting when the program ends are delivered before the tool is finalized. */
static void finish(void)
{
    CHECK(all.count == expected_at_the_end);
}

int main(void)
{
    begin();
    check_runtime();
    kept_t *kept[3] = {&all, &ranges, &pushes};
    void (*checks[2])(void) = {check_threads, check_ranges};
    for (int i = 0; i < 3; i++)
        empty(kept[i]);
    uint64_t before = now();
    call_each();
    check_each(before);
    for (int check = 0; check < 2; check++) {
        for (int i = 0; i < 3; i++)
            empty(kept[i]);
        checks[check]();
    }
    check_switch();
    empty(&all);
    OK(rocprofiler_stop_context(ranges.context));
    roctxMarkA("waits");
    expected_at_the_end = 2;
    CHECK(all.count == 0);
    return 0;
}
