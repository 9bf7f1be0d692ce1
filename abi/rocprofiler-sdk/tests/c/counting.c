/*
 * Services that count dispatches are configured, and stay empty: their functions are not called, and their buffer
 * receives no records of theirs. Records with the category of counters or of samples are the tool's own, and the
 * category distinguishes them from traced records.
 */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

static rocprofiler_context_id_t context, other;
static rocprofiler_buffer_id_t buffer;
static int seen[4];

static void choose(rocprofiler_dispatch_counting_service_data_t dispatch, rocprofiler_counter_config_id_t *config,
                   rocprofiler_user_data_t *user_data, void *data)
{
    (void)dispatch, (void)config, (void)user_data, (void)data;
    CHECK(!"there is no counter to choose");
}

static void count(rocprofiler_dispatch_counting_service_data_t dispatch, rocprofiler_counter_record_t *records,
                  size_t record_count, rocprofiler_user_data_t user_data, void *data)
{
    (void)dispatch, (void)records, (void)record_count, (void)user_data, (void)data;
    CHECK(!"nothing is counted");
}

static rocprofiler_counter_record_t own_counter(void)
{
    rocprofiler_counter_record_t record;
    memset(&record, 0, sizeof record);
    record.id = 77;
    record.counter_value = 2.5;
    record.dispatch_id = 3;
    record.agent_id.handle = 9;
    return record;
}

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t record_count, void *data, uint64_t drop_count)
{
    (void)from, (void)of, (void)data;
    CHECK(drop_count == 0);
    for (size_t i = 0; i < record_count; i++) {
        const rocprofiler_record_header_t *header = headers[i];
        CHECK(header->hash == ((uint64_t)header->category | (uint64_t)header->kind << 32));
        CHECK(header->category < 4);
        seen[header->category]++;
        if (header->category == ROCPROFILER_BUFFER_CATEGORY_COUNTERS) {
            const rocprofiler_counter_record_t expected = own_counter();
            CHECK(header->kind == ROCPROFILER_COUNTER_RECORD_VALUE);
            CHECK(memcmp(header->payload, &expected, sizeof expected) == 0);
        } else if (header->category == ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING) {
            CHECK(header->kind == ROCPROFILER_PC_SAMPLING_RECORD_INVALID_SAMPLE);
        } else {
            CHECK(header->category == ROCPROFILER_BUFFER_CATEGORY_TRACING);
            CHECK(header->kind == ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API);
        }
    }
}

static void make_services(void)
{
    const rocprofiler_context_id_t unknown = {1};
    const rocprofiler_buffer_id_t no_buffer = {1};
    context = new_context();
    other = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    ANSWERS(ERROR_CONTEXT_INVALID, rocprofiler_configure_buffer_dispatch_counting_service(unknown, buffer, choose, NULL));
    ANSWERS(ERROR_BUFFER_NOT_FOUND,
            rocprofiler_configure_buffer_dispatch_counting_service(context, no_buffer, choose, NULL));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_configure_buffer_dispatch_counting_service(other, buffer, choose, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_configure_buffer_dispatch_counting_service(context, buffer, NULL, NULL));
    ANSWERS(ERROR_CONTEXT_INVALID,
            rocprofiler_configure_callback_dispatch_counting_service(unknown, choose, NULL, count, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT,
            rocprofiler_configure_callback_dispatch_counting_service(other, NULL, NULL, count, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT,
            rocprofiler_configure_callback_dispatch_counting_service(other, choose, NULL, NULL, NULL));

    OK(rocprofiler_configure_buffer_dispatch_counting_service(context, buffer, choose, NULL));
    OK(rocprofiler_configure_callback_dispatch_counting_service(other, choose, NULL, count, NULL));
    /* Beside a tracing service of the same context and buffer. */
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0, buffer));
    OK(rocprofiler_start_context(context));
    OK(rocprofiler_start_context(other));
}

int main(void)
{
    ANSWERS(ERROR_CONFIGURATION_LOCKED,
            rocprofiler_configure_buffer_dispatch_counting_service(context, buffer, choose, NULL));
    begin();
    ANSWERS(ERROR_CONFIGURATION_LOCKED,
            rocprofiler_configure_callback_dispatch_counting_service(other, choose, NULL, count, NULL));
    roctxMarkA("a mark");
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(seen[ROCPROFILER_BUFFER_CATEGORY_TRACING] == 1 && seen[ROCPROFILER_BUFFER_CATEGORY_COUNTERS] == 0);

    const rocprofiler_counter_record_t counter = own_counter();
    const uint64_t sample = 1;
    OK(opscope_rocprofiler_emit(buffer, ROCPROFILER_BUFFER_CATEGORY_COUNTERS, ROCPROFILER_COUNTER_RECORD_VALUE, &counter,
                                sizeof counter));
    OK(opscope_rocprofiler_emit(buffer, ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING,
                                ROCPROFILER_PC_SAMPLING_RECORD_INVALID_SAMPLE, &sample, sizeof sample));
    roctxMarkA("another mark");
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(seen[ROCPROFILER_BUFFER_CATEGORY_NONE] == 0 && seen[ROCPROFILER_BUFFER_CATEGORY_TRACING] == 2);
    CHECK(seen[ROCPROFILER_BUFFER_CATEGORY_PC_SAMPLING] == 1 && seen[ROCPROFILER_BUFFER_CATEGORY_COUNTERS] == 1);
    return 0;
}
