/* A program that acts as a producer. It passes a table to the library, and calls the functions that the library set
 * in it. */
#include "tool.h"

#include <opscope_producer.h>

#include <pthread.h>

#define KERNELS 3
#define RUNS 50

/* The functions that the table has at first. They must not be called once the library has set its own. */
static int nothing_called;
#define NOTHING(type, name)                                             \
    static void name(void *consumer, const opscope_producer_##type##_t *what) \
    {                                                                   \
        (void)consumer;                                                 \
        (void)what;                                                     \
        nothing_called++;                                               \
    }
NOTHING(runtime, no_runtime)
NOTHING(model, no_model)
NOTHING(plan, no_plan)
NOTHING(thread, no_thread)
NOTHING(run, no_run)
NOTHING(dispatch, no_dispatch)
NOTHING(copy, no_copy)
NOTHING(allocation, no_allocation)

static opscope_producer_t tables[2];

static void fill(opscope_producer_t *table)
{
    memset(table, 0, sizeof *table);
    table->size = sizeof *table;
    table->version = OPSCOPE_PRODUCER_VERSION;
    table->runtime_initialized = no_runtime;
    table->model_loaded = table->model_unloaded = no_model;
    table->plan_made = no_plan;
    table->thread_started = no_thread;
    table->run_begin = table->run_end = no_run;
    table->dispatch_begin = table->dispatch_end = no_dispatch;
    table->copy = no_copy;
    table->allocation = no_allocation;
}

static opscope_producer_kernel_t kernels[2][KERNELS];
static const opscope_producer_kernel_t *kernel_pointers[2][KERNELS];
static const char *const names[2][KERNELS] = {{"/conv1/Conv", "/relu/Relu", "/conv1/Conv"}, {"other", "", "\xce\xbb"}};
static const uint64_t shape[] = {2, 3, 4};
static const uint64_t grids[KERNELS] = {1, 6, 24};

/* Attaches a producer with a plan of number `plan`. */
static void attach(int number, uint64_t plan_id)
{
    opscope_producer_t *table = &tables[number];
    fill(table);
    ANSWERS(opscope_attach_producer(table), OPSCOPE_ATTACHED);
    opscope_producer_runtime_t runtime;
    memset(&runtime, 0, sizeof runtime);
    runtime.size = sizeof runtime;
    runtime.name = "a test";
    runtime.version = "0.1.0";
    table->runtime_initialized(table->consumer, &runtime);
    for (int i = 0; i < KERNELS; i++) {
        opscope_producer_kernel_t *kernel = &kernels[number][i];
        kernel->size = sizeof *kernel;
        kernel->index = (uint64_t)i;
        kernel->name = strdup(names[number][i]);
        kernel->type = kernel->kernel = kernel->op = kernel->output_dtype = "";
        kernel->output_shape = shape;
        kernel->output_rank = (size_t)i == 0 ? 0 : (size_t)i + 1;
        kernel_pointers[number][i] = kernel;
    }
    opscope_producer_plan_t plan;
    memset(&plan, 0, sizeof plan);
    plan.size = sizeof plan;
    plan.id = plan_id;
    plan.model = 1;
    plan.kernels = kernel_pointers[number];
    plan.kernel_count = KERNELS;
    table->plan_made(table->consumer, &plan);
}

/* The model is unloaded: nothing of it can be read afterwards. */
static void unload(int number)
{
    opscope_producer_model_t model;
    memset(&model, 0, sizeof model);
    model.size = sizeof model;
    model.id = 1;
    tables[number].model_unloaded(tables[number].consumer, &model);
    for (int i = 0; i < KERNELS; i++) {
        char *name;
        memcpy(&name, &kernels[number][i].name, sizeof name);
        memset(name, '?', strlen(name));
        free(name);
    }
}

static void run(int number, uint64_t plan_id, uint64_t thread)
{
    const opscope_producer_t *table = &tables[number];
    opscope_producer_copy_t copied;
    memset(&copied, 0, sizeof copied);
    copied.size = sizeof copied;
    copied.model = 1;
    copied.plan = plan_id;
    copied.direction = OPSCOPE_COPY_HOST_TO_DEVICE;
    copied.thread = thread;
    copied.start = 1000;
    copied.end = 1100;
    table->copy(table->consumer, &copied);
    for (int i = 0; i < KERNELS; i++) {
        opscope_producer_dispatch_t dispatch;
        memset(&dispatch, 0, sizeof dispatch);
        dispatch.size = sizeof dispatch;
        dispatch.model = 1;
        dispatch.plan = plan_id;
        dispatch.kernel = &kernels[number][i];
        dispatch.thread = thread;
        dispatch.start = 2000 + (uint64_t)i * 100;
        dispatch.end = 2050 + (uint64_t)i * 100;
        table->dispatch_end(table->consumer, &dispatch);
    }
}

/* The tool. */

typedef struct {
    int producer;
    uint64_t thread;
} who_t;

static int dispatches, activities, copies;
static uint64_t correlations[4096];
static int correlation_count;
static who_t who;

static void is_new(uint64_t correlation)
{
    CHECK(correlation != 0);
    for (int i = 0; i < correlation_count; i++)
        CHECK(correlations[i] != correlation);
    correlations[correlation_count++] = correlation;
}

static void on_dispatches(record_t begin, record_t end, rocprofiler_session_id_t session,
                          rocprofiler_buffer_id_t buffer)
{
    uint64_t last_id = 0;
    for (record_t first = begin; begin < end; begin = after(begin, session, buffer)) {
        CHECK(begin == first || begin->id.handle > last_id);
        last_id = begin->id.handle;
        if (begin->kind != ROCPROFILER_PROFILER_RECORD)
            continue;
        const rocprofiler_record_profiler_t *record = PROFILER(begin);
        int index = dispatches++ % KERNELS;
        const char *expected = names[who.producer][index];
        const char *name = NULL;
        size_t size = 99;
        OK(rocprofiler_query_kernel_info_size(ROCPROFILER_KERNEL_NAME, record->kernel_id, &size));
        OK(rocprofiler_query_kernel_info(ROCPROFILER_KERNEL_NAME, record->kernel_id, &name));
        CHECK(strcmp(name, expected) == 0 && size == strlen(expected));
        /* The name is the tool's own. */
        char *mine;
        memcpy(&mine, &name, sizeof mine);
        memset(mine, '!', size);
        free(mine);
        FAILS(rocprofiler_query_kernel_info((rocprofiler_kernel_info_kind_t)1, record->kernel_id, &name),
              KERNEL_INFORMATION_MISSING);
        CHECK(record->timestamps.begin.value == 2000 + (uint64_t)index * 100);
        CHECK(record->timestamps.end.value == 2050 + (uint64_t)index * 100);
        CHECK(record->kernel_properties.grid_size == grids[index]);
        CHECK(record->kernel_properties.workgroup_size == 1 && record->kernel_properties.lds_size == 0);
        CHECK(record->thread_id.value == who.thread && record->xcc_index == 0);
        CHECK(record->counters == NULL && record->counters_count.value == 0);
        const char *text = NULL;
        OK(rocprofiler_query_agent_info(ROCPROFILER_AGENT_TYPE, record->gpu_id, &text));
        CHECK(strcmp(text, "GPU") == 0 && record->queue_id.handle != 0);
        CHECK(record->queue_idx.value == record->correlation_id.value);
        is_new(record->correlation_id.value);
    }
}

static rocprofiler_tracer_activity_domain_t domain_of_activities;

static void on_activities(record_t begin, record_t end, rocprofiler_session_id_t session,
                          rocprofiler_buffer_id_t buffer)
{
    for (; begin < end; begin = after(begin, session, buffer)) {
        if (begin->kind != ROCPROFILER_TRACER_RECORD)
            continue;
        const rocprofiler_record_tracer_t *record = TRACER(begin);
        CHECK(record->domain == domain_of_activities && record->phase == ROCPROFILER_PHASE_NONE);
        CHECK(record->external_id.id == 0 && record->api_data.hip == NULL && record->thread_id.value == who.thread);
        CHECK(record->agent_id.handle != 0 && record->queue_id.handle != 0 && record->correlation_id.value != 0);
        const char *operation = NULL;
        OK(rocprofiler_query_tracer_operation_name(record->domain, record->operation_id, &operation));
        if (strcmp(operation, "MemoryCopy") == 0) {
            CHECK(record->timestamps.begin.value == 1000 && record->timestamps.end.value == 1100
                  && record->name == NULL);
            copies++;
        } else {
            int index = activities++ % KERNELS;
            CHECK(strcmp(operation, "KernelDispatch") == 0);
            CHECK(strcmp(record->name, names[who.producer][index]) == 0);
            CHECK(record->timestamps.begin.value == 2000 + (uint64_t)index * 100);
            CHECK(record->timestamps.end.value == 2050 + (uint64_t)index * 100);
        }
    }
}

/* Both in one buffer: kinds alternate. */
static void on_both(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    int kinds[2] = {0, 0};
    size_t bytes = 0;
    for (record_t at = begin; at < end; at = after(at, session, buffer)) {
        CHECK(at->kind == ROCPROFILER_PROFILER_RECORD || at->kind == ROCPROFILER_TRACER_RECORD);
        kinds[at->kind]++;
        bytes += at->kind == ROCPROFILER_PROFILER_RECORD ? sizeof(rocprofiler_record_profiler_t)
                                                         : sizeof(rocprofiler_record_tracer_t);
        if (at->kind == ROCPROFILER_TRACER_RECORD)
            continue;
        /* A dispatch and its activity belong together. */
        uint64_t correlation = PROFILER(at)->correlation_id.value;
        int found = 0;
        for (record_t other = begin; other < end; other = after(other, session, buffer))
            found += other->kind == ROCPROFILER_TRACER_RECORD && TRACER(other)->correlation_id.value == correlation;
        CHECK(found == 1);
    }
    CHECK(kinds[ROCPROFILER_TRACER_RECORD] == kinds[ROCPROFILER_PROFILER_RECORD] / KERNELS * (KERNELS + 1));
    CHECK(bytes == (size_t)((const char *)end - (const char *)begin));
    on_dispatches(begin, end, session, buffer);
    on_activities(begin, end, session, buffer);
}

static void reset(int producer, uint64_t thread)
{
    dispatches = activities = copies = 0;
    who.producer = producer;
    who.thread = thread;
}

/* Nothing that costs a run is set. */
static void nothing_is_set(const opscope_producer_t *table)
{
    CHECK(table->thread_started == no_thread && table->run_begin == no_run && table->run_end == no_run);
    CHECK(table->dispatch_begin == no_dispatch && table->dispatch_end == no_dispatch);
    CHECK(table->copy == no_copy && table->allocation == no_allocation);
}

static void refused(void)
{
    opscope_producer_t table;
    fill(&table);
    table.version = OPSCOPE_PRODUCER_VERSION + 1;
    ANSWERS(opscope_attach_producer(&table), OPSCOPE_ATTACH_WRONG_VERSION);
    fill(&table);
    table.size = 32;
    ANSWERS(opscope_attach_producer(&table), OPSCOPE_ATTACH_WRONG_VERSION);
    ANSWERS(opscope_attach_producer(NULL), OPSCOPE_ATTACH_WRONG_VERSION);
    CHECK(table.plan_made == no_plan);
}

static void *another_run(void *nothing)
{
    for (int i = 0; i < RUNS; i++)
        run(0, 7, 5);
    return nothing;
}

static void *start_and_end(void *argument)
{
    const traced_t *traced = (const traced_t *)argument;
    for (int i = 0; i < 300; i++) {
        /* The other thread's may be active. */
        if (rocprofiler_start_session(traced->session) == ROCPROFILER_STATUS_SUCCESS)
            OK(rocprofiler_terminate_session(traced->session));
    }
    return NULL;
}

/* Whatever threads do at a time, in the end nothing is set. */
static void several_threads_start_and_end(void)
{
    traced_t traced[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        traced[i] = create(ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, ACTIVITY_DOMAIN_ROCTX, 4096, on_dispatches);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 3; i++)
            CHECK(pthread_create(&threads[i], NULL, start_and_end, &traced[i]) == 0);
        for (int i = 0; i < 3; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        nothing_is_set(&tables[0]);
        nothing_is_set(&tables[1]);
    }
    for (int i = 0; i < 3; i++)
        OK(rocprofiler_destroy_session(traced[i].session));
}

int main(void)
{
    refused();
    /* A producer may come before the tool, and another one with the same numbers after it. */
    attach(0, 7);
    nothing_is_set(&tables[0]);
    OK(rocprofiler_initialize());
    attach(1, 7);
    traced_t traced = create(ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, ACTIVITY_DOMAIN_ROCTX, 4096, on_dispatches);
    nothing_is_set(&tables[1]);
    OK(rocprofiler_start_session(traced.session));
    for (int producer = 0; producer < 2; producer++) {
        reset(producer, 40 + (uint64_t)producer);
        CHECK(tables[producer].dispatch_end != no_dispatch && tables[producer].copy == no_copy);
        CHECK(tables[producer].dispatch_begin == no_dispatch && tables[producer].run_end == no_run);
        for (int i = 0; i < RUNS; i++)
            run(producer, 7, 40 + (uint64_t)producer);
        OK(flush(traced));
        CHECK(dispatches == RUNS * KERNELS && activities == 0);
    }
    OK(rocprofiler_terminate_session(traced.session));
    nothing_is_set(&tables[0]);
    nothing_is_set(&tables[1]);
    int before = nothing_called;
    run(0, 7, 1);
    CHECK(nothing_called == before + KERNELS + 1);
    OK(flush(traced));
    CHECK(dispatches == RUNS * KERNELS);
    OK(rocprofiler_destroy_session(traced.session));

    several_threads_start_and_end();

    /* As activities of either domain, with copies. */
    rocprofiler_tracer_activity_domain_t domains[] = {ACTIVITY_DOMAIN_HIP_OPS, ACTIVITY_DOMAIN_HSA_OPS};
    for (int i = 0; i < 2; i++) {
        domain_of_activities = domains[i];
        traced = create(ROCPROFILER_API_TRACE, domains[i], 4096, on_activities);
        OK(rocprofiler_start_session(traced.session));
        reset(0, 9);
        for (int j = 0; j < RUNS; j++)
            run(0, 7, 9);
        OK(rocprofiler_terminate_session(traced.session));
        OK(flush(traced));
        CHECK(activities == RUNS * KERNELS && copies == RUNS && dispatches == 0);
        OK(rocprofiler_destroy_session(traced.session));
    }

    /* Two filters with one buffer, and several threads. */
    traced = create(ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, ACTIVITY_DOMAIN_ROCTX, 1 << 20, on_both);
    rocprofiler_filter_id_t second = filter_of(traced.session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_HSA_OPS);
    OK(rocprofiler_set_filter_buffer(traced.session, second, traced.buffer));
    OK(rocprofiler_start_session(traced.session));
    reset(0, 5);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, another_run, NULL) == 0);
        CHECK(pthread_join(threads[i], NULL) == 0);
        OK(flush(traced));
    }
    CHECK(dispatches == 3 * RUNS * KERNELS && activities == dispatches && copies == 3 * RUNS);

    /* A model that is unloaded while its records wait: its names stay. */
    reset(0, 5);
    run(0, 7, 5);
    unload(0);
    OK(flush(traced));
    CHECK(dispatches == KERNELS && activities == KERNELS);
    OK(rocprofiler_destroy_session(traced.session));
    nothing_is_set(&tables[0]);
    OK(rocprofiler_finalize());
    return 0;
}
