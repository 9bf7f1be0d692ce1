/* A program that acts as a producer. The argument says what it reports: "dispatches", or "objects". */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

#include <opscope_producer.h>

static opscope_producer_t table;

/* The functions that the table has at first. */
static int nothing_called;
#define NOTHING(type, name)                                                                                            \
    static void name(void *consumer, const opscope_producer_##type##_t *what)                                          \
    {                                                                                                                  \
        (void)consumer, (void)what;                                                                                    \
        nothing_called++;                                                                                              \
    }
NOTHING(runtime, no_runtime)
NOTHING(model, no_model)
NOTHING(plan, no_plan)
NOTHING(thread, no_thread)
NOTHING(run, no_run)
NOTHING(dispatch, no_dispatch)
NOTHING(copy, no_copy)
NOTHING(allocation, no_allocation)

static void attach(void)
{
    table.size = sizeof table;
    table.version = OPSCOPE_PRODUCER_VERSION;
    table.runtime_initialized = no_runtime;
    table.model_loaded = table.model_unloaded = no_model;
    table.plan_made = no_plan;
    table.thread_started = no_thread;
    table.run_begin = table.run_end = no_run;
    table.dispatch_begin = table.dispatch_end = no_dispatch;
    table.copy = no_copy;
    table.allocation = no_allocation;
    CHECK(opscope_attach_producer(&table) == OPSCOPE_ATTACHED);
    CHECK(table.model_loaded != no_model && table.plan_made != no_plan);
}

/* Announces a model of a number, and its plan of the same number, with one kernel. Returns the kernel. */
static const opscope_producer_kernel_t *announce(uint64_t number, const char *path)
{
    static opscope_producer_kernel_t kernel;
    static const opscope_producer_kernel_t *const kernels[1] = {&kernel};
    static opscope_producer_model_t model;
    static opscope_producer_plan_t plan;
    kernel.size = sizeof kernel;
    kernel.name = "/conv/Conv";
    kernel.type = kernel.kernel = kernel.op = kernel.output_dtype = "";
    model.size = sizeof model;
    model.id = number;
    model.path = path;
    model.name = model.engine = model.engine_version = "";
    table.model_loaded(table.consumer, &model);
    plan.size = sizeof plan;
    plan.id = plan.model = number;
    plan.kernels = kernels;
    plan.kernel_count = 1;
    table.plan_made(table.consumer, &plan);
    return &kernel;
}

/* A context, and the calls of its callback. */
typedef struct {
    rocprofiler_context_id_t context;
    rocprofiler_buffer_id_t buffer;
    int enters, exits, completes;
    size_t records;
} traced_t;

/* These want both operations, one of them, and the records. */
static traced_t both, completions, recorded;
static rocprofiler_callback_tracing_code_object_load_data_t object;
static char uri[4096];

static void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    traced_t *traced = (traced_t *)data;
    if (record.kind == ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT) {
        if (record.operation == ROCPROFILER_CODE_OBJECT_LOAD) {
            object = *(rocprofiler_callback_tracing_code_object_load_data_t *)record.payload;
            CHECK(strlen(object.uri) < sizeof uri);
            strcpy(uri, object.uri);
        }
        return;
    }
    if (record.operation == ROCPROFILER_KERNEL_DISPATCH_COMPLETE) {
        traced->completes++;
        /* What the tool kept at the beginning. */
        CHECK(traced != &both || user_data->value == record.correlation_id.internal);
    } else if (record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER) {
        traced->enters++;
        user_data->value = record.correlation_id.internal;
    } else {
        traced->exits++;
    }
}

static void take(rocprofiler_context_id_t context, rocprofiler_buffer_id_t buffer, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)context, (void)buffer, (void)headers;
    CHECK(drop_count == 0);
    ((traced_t *)data)->records += count;
}

static void make_services(void)
{
    const rocprofiler_tracing_operation_t complete[1] = {ROCPROFILER_KERNEL_DISPATCH_COMPLETE};
    both.context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(both.context, ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH, NULL,
                                                      0, called, &both));
    completions.context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(completions.context, ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH,
                                                      complete, 1, called, &completions));
    recorded.context = new_context();
    recorded.buffer =
        new_buffer(recorded.context, 1 << 16, 1 << 16, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, &recorded);
    OK(rocprofiler_configure_buffer_tracing_service(recorded.context, ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH, NULL,
                                                    0, recorded.buffer));
    rocprofiler_context_id_t objects = new_context();
    OK(rocprofiler_configure_callback_tracing_service(objects, ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT, NULL, 0,
                                                      called, NULL));
    OK(rocprofiler_start_context(objects));
}

static opscope_producer_dispatch_t dispatch_of(const opscope_producer_kernel_t *kernel, uint64_t run)
{
    opscope_producer_dispatch_t dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    dispatch.size = sizeof dispatch;
    dispatch.model = dispatch.plan = 1;
    dispatch.run = run;
    dispatch.kernel = kernel;
    dispatch.thread = own_thread();
    dispatch.start = 1000;
    return dispatch;
}

static void begin_dispatch(opscope_producer_dispatch_t *dispatch)
{
    table.dispatch_begin(table.consumer, dispatch);
}

static void end_dispatch(opscope_producer_dispatch_t *dispatch)
{
    dispatch->end = 2000;
    table.dispatch_end(table.consumer, dispatch);
}

static void check(const traced_t *traced, int begun, int completes)
{
    CHECK(traced->enters == begun && traced->exits == begun && traced->completes == completes);
}

static void check_records(size_t records)
{
    OK(rocprofiler_flush_buffer(recorded.buffer));
    CHECK(recorded.records == records);
}

/* A context that wants both ends of a dispatch receives both or none. */
static void check_dispatches(void)
{
    const opscope_producer_kernel_t *kernel = announce(1, "/nowhere/model.onnx");
    /* Nothing is started when it begins. */
    opscope_producer_dispatch_t dispatch = dispatch_of(kernel, 1);
    begin_dispatch(&dispatch);
    CHECK(nothing_called == 1);
    OK(rocprofiler_start_context(both.context));
    OK(rocprofiler_start_context(completions.context));
    OK(rocprofiler_start_context(recorded.context));
    end_dispatch(&dispatch);
    check(&both, 0, 0);
    check(&completions, 0, 1);
    check_records(1);

    dispatch = dispatch_of(kernel, 2);
    begin_dispatch(&dispatch);
    end_dispatch(&dispatch);
    check(&both, 1, 1);
    check(&completions, 0, 2);
    check_records(2);

    /* Another context is started when it begins: that one gets all of it. */
    OK(rocprofiler_stop_context(both.context));
    dispatch = dispatch_of(kernel, 3);
    begin_dispatch(&dispatch);
    OK(rocprofiler_start_context(both.context));
    end_dispatch(&dispatch);
    check(&both, 1, 1);
    check(&completions, 0, 3);
    check_records(3);
    CHECK(nothing_called == 2);
}

static void check_objects(void)
{
    static const char text[] = "of 19 bytes in all\n";
    char path[4096], expected[4200];
    CHECK(getcwd(path, sizeof path - 32) != NULL);
    strcat(path, "/model.onnx");
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    /* The path may be relative to where the program is. */
    announce(1, "./model.onnx");
    CHECK(object.storage_type == ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_FILE && object.load_size == strlen(text));
    snprintf(expected, sizeof expected, "file://%s#offset=0&size=%zu", path, strlen(text));
    CHECK(strcmp(uri, expected) == 0);

    announce(2, "(memory)");
    CHECK(object.storage_type == ROCPROFILER_CODE_OBJECT_STORAGE_TYPE_NONE && object.load_size == 0);
    CHECK(strncmp(uri, "memory://", strlen("memory://")) == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    begin();
    attach();
    if (strcmp(arguments[1], "dispatches") == 0)
        check_dispatches();
    else
        check_objects();
    return 0;
}
