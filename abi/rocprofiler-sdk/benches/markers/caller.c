/* A program that contains a tool, for the benchmark `markers`. The program calls ROCTx, and the tool counts the
 * records. */
#include <rocprofiler-sdk-roctx/roctx.h>
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#define CONTEXTS 4

/* The sizes and watermarks of the contexts' buffers. */
static const size_t sizes[CONTEXTS] = {8 << 20, 8 << 20, 64 << 20, 64 << 10};
static const size_t watermarks[CONTEXTS] = {8 << 20, 1 << 20, 64 << 20, 64 << 10};

static rocprofiler_context_id_t contexts[CONTEXTS];
static rocprofiler_buffer_id_t buffers[CONTEXTS];
static uint64_t delivered, wrong;

static void count(rocprofiler_context_id_t context, rocprofiler_buffer_id_t buffer, rocprofiler_record_header_t **headers,
                  size_t count, void *data, uint64_t dropped)
{
    (void)context, (void)buffer, (void)data;
    for (size_t i = 0; i < count; i++) {
        const rocprofiler_buffer_tracing_marker_api_record_t *record =
            (const rocprofiler_buffer_tracing_marker_api_record_t *)headers[i]->payload;
        wrong += headers[i]->kind != ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API
              || record->operation != ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA || record->correlation_id.internal == 0
              || record->end_timestamp < record->start_timestamp;
    }
    wrong += dropped != 0;
    delivered += count;
}

/* The only context to make; all if it is NULL. */
static int *only;

static int initialize(rocprofiler_client_finalize_t finalize, void *data)
{
    (void)finalize;
    for (int i = 0; i < CONTEXTS; i++) {
        if (data && *(int *)data != i)
            continue;
        if (rocprofiler_create_context(&contexts[i]) != ROCPROFILER_STATUS_SUCCESS
            || rocprofiler_create_buffer(contexts[i], sizes[i], watermarks[i], ROCPROFILER_BUFFER_POLICY_LOSSLESS, count,
                                         NULL, &buffers[i]) != ROCPROFILER_STATUS_SUCCESS
            || rocprofiler_configure_buffer_tracing_service(contexts[i], ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL,
                                                            0, buffers[i]) != ROCPROFILER_STATUS_SUCCESS)
            wrong++;
    }
    return 0;
}

static rocprofiler_tool_configure_result_t *configure(uint32_t version, const char *text, uint32_t priority,
                                                      rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result = {sizeof result, initialize, NULL, NULL};
    result.tool_data = only;
    (void)version, (void)text, (void)priority;
    id->name = "benchmark";
    return &result;
}

/* Initializes the tool with one context, or with all if the number is negative, and lets ROCTx register itself. */
int caller_begin(int context)
{
    static int kept;
    kept = context;
    only = context < 0 ? NULL : &kept;
    int status = rocprofiler_force_configure(configure);
    roctxMarkA("first");
    return status || wrong;
}

int caller_start(int context)
{
    return rocprofiler_start_context(contexts[context]);
}

int caller_stop(int context)
{
    return rocprofiler_stop_context(contexts[context]);
}

void caller_mark(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        roctxMarkA("a message");
}

int caller_flush(int context)
{
    return rocprofiler_flush_buffer(buffers[context]);
}

uint64_t caller_delivered(void)
{
    return delivered;
}


uint64_t caller_wrong(void)
{
    return wrong;
}
