/* A tool that writes every dispatch and every activity to the file that V2_LOG names: a line each, with fields
   as key=value between tabs. As a library that is preloaded it traces the whole process (PRELOADED); a program may
   also be compiled with it, and calls tool_begin and tool_end. */
#include "../c/tool.h"

#ifdef __cplusplus
extern "C" {
#endif
void tool_begin(void);
void tool_end(void);
#ifdef __cplusplus
}
#endif

#define ID(number) (unsigned long long)(number)

static FILE *output;
static rocprofiler_session_id_t session;
static rocprofiler_buffer_id_t buffer;

static void write_dispatch(const rocprofiler_record_profiler_t *record)
{
    const char *name = NULL;
    size_t size = 0;
    OK(rocprofiler_query_kernel_info_size(ROCPROFILER_KERNEL_NAME, record->kernel_id, &size));
    OK(rocprofiler_query_kernel_info(ROCPROFILER_KERNEL_NAME, record->kernel_id, &name));
    CHECK(strlen(name) == size);
    fprintf(output, "dispatch\tname=%s\tthread=%llu\tstart=%llu\tend=%llu\tcorrelation=%llu\tgrid=%llu\n", name,
            ID(record->thread_id.value), ID(record->timestamps.begin.value), ID(record->timestamps.end.value),
            ID(record->correlation_id.value), ID(record->kernel_properties.grid_size));
    free((void *)(size_t)name);
}

static void write_activity(const rocprofiler_record_tracer_t *record)
{
    const char *operation = NULL;
    CHECK(record->domain == ACTIVITY_DOMAIN_HIP_OPS);
    OK(rocprofiler_query_tracer_operation_name(record->domain, record->operation_id, &operation));
    fprintf(output, "%s\tname=%s\tthread=%llu\tstart=%llu\tend=%llu\tcorrelation=%llu\n", operation,
            record->name == NULL ? "" : record->name, ID(record->thread_id.value), ID(record->timestamps.begin.value),
            ID(record->timestamps.end.value), ID(record->correlation_id.value));
}

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t of, rocprofiler_buffer_id_t in)
{
    for (; begin < end; begin = after(begin, of, in)) {
        if (begin->kind == ROCPROFILER_PROFILER_RECORD)
            write_dispatch(PROFILER(begin));
        else
            write_activity(TRACER(begin));
    }
    fflush(output);
}

#ifdef PRELOADED
__attribute__((constructor))
#endif
void tool_begin(void)
{
    const char *path = getenv("V2_LOG");
    output = path == NULL ? NULL : fopen(path, "w");
    if (output == NULL)
        return;
    OK(rocprofiler_initialize());
    traced_t traced = create(ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, ACTIVITY_DOMAIN_HIP_OPS, 1 << 16, on_batch);
    rocprofiler_filter_id_t activities = filter_of(traced.session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_HIP_OPS);
    OK(rocprofiler_set_filter_buffer(traced.session, activities, traced.buffer));
    OK(rocprofiler_start_session(traced.session));
    session = traced.session;
    buffer = traced.buffer;
}

#ifdef PRELOADED
__attribute__((destructor))
#endif
void tool_end(void)
{
    if (output == NULL)
        return;
    OK(rocprofiler_terminate_session(session));
    OK(rocprofiler_flush_data(session, buffer));
    fprintf(output, "end\n");
    fflush(output);
    OK(rocprofiler_destroy_session(session));
    OK(rocprofiler_finalize());
}
