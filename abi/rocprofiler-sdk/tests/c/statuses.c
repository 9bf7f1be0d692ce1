/*
 * What every function returns in every phase of the library: before it is initialized, while tools are configured and
 * initialized, afterwards, and when they are finalized.
 */
#include "sdk.h"

#define LOSSLESS ROCPROFILER_BUFFER_POLICY_LOSSLESS
#define MARKERS ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API
#define CALLBACK_MARKERS ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API

static rocprofiler_client_finalize_t finalize_client;
static rocprofiler_client_id_t *client;
static rocprofiler_context_id_t context, other, early;
static rocprofiler_buffer_id_t buffer, of_other, destroyed;
static const rocprofiler_context_id_t no_context = {0}, unknown_context = {1},
                                      last_context = {UINT64_MAX};
static const rocprofiler_buffer_id_t no_buffer = {0}, unknown_buffer = {1};

static void take(rocprofiler_context_id_t from, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)from, (void)of, (void)headers, (void)count, (void)data, (void)drop_count;
}

static void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)record, (void)user_data, (void)data;
}

static int request(rocprofiler_thread_id_t thread, rocprofiler_context_id_t of,
                   rocprofiler_external_correlation_id_request_kind_t kind, rocprofiler_tracing_operation_t operation,
                   uint64_t internal, rocprofiler_user_data_t *external, void *data)
{
    (void)thread, (void)of, (void)kind, (void)operation, (void)internal, (void)external, (void)data;
    return 1;
}

static void intercept(rocprofiler_intercept_table_t type, uint64_t version, uint64_t instance, void **tables,
                      uint64_t count, void *data)
{
    (void)type, (void)version, (void)instance, (void)tables, (void)count, (void)data;
}

/* Contexts, buffers, and services cannot be created now. */
static void check_locked(void)
{
    rocprofiler_context_id_t late = {0};
    rocprofiler_buffer_id_t late_buffer = {0};
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_create_context(&late));
    CHECK(late.handle == 0);
    late.handle = 5;
    ANSWERS(ERROR_CONTEXT_ID_NOT_ZERO, rocprofiler_create_context(&late));
    CHECK(late.handle == 5);
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_create_buffer(context, 4096, 0, LOSSLESS, take, NULL,
                                                                  &late_buffer));
    CHECK(late_buffer.handle == 0);
    ANSWERS(ERROR_CONFIGURATION_LOCKED,
            rocprofiler_configure_buffer_tracing_service(context, MARKERS, NULL, 0, buffer));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_configure_callback_tracing_service(unknown_context,
                                                                                       CALLBACK_MARKERS,
                                                                                      NULL, 0, called, NULL));
}

/* Ids that nothing has. */
static void check_unknown(void)
{
    const rocprofiler_context_id_t contexts[3] = {no_context, unknown_context, last_context};
    for (int i = 0; i < 3; i++) {
        int status = 7;
        ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_start_context(contexts[i]));
        ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_stop_context(contexts[i]));
        ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_context_is_active(contexts[i], &status));
        CHECK(status == 0);
        status = 7;
        ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_context_is_valid(contexts[i], &status));
        CHECK(status == 0);
    }
    if (finalized() == 1)
        return;
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_flush_buffer(no_buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_flush_buffer(unknown_buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_destroy_buffer(no_buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_destroy_buffer(unknown_buffer));
}

static void before_initialization(void)
{
    rocprofiler_callback_thread_t thread = {0};
    CHECK(initialized() == 0 && finalized() == 0);
    check_locked();
    check_unknown();
    OK(rocprofiler_create_callback_thread(&thread));
    CHECK(thread.handle == 1);
    OK(rocprofiler_at_intercept_table_registration(intercept, 0, NULL));
    OK(rocprofiler_at_intercept_table_registration(NULL, 0, NULL));
    OK(rocprofiler_at_internal_thread_create(NULL, NULL, 0, NULL));
}

static void check_contexts(void)
{
    int status = 7;
    context = new_context();
    other = new_context();
    CHECK(context.handle != other.handle && context.handle != early.handle);
    rocprofiler_context_id_t copy = context;
    ANSWERS(ERROR_CONTEXT_ID_NOT_ZERO, rocprofiler_create_context(&copy));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_context(NULL));
    CHECK(copy.handle == context.handle);

    OK(rocprofiler_context_is_valid(context, &status));
    CHECK(status == 1);
    OK(rocprofiler_context_is_active(context, &status));
    CHECK(status == 0);
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_stop_context(context));
    OK(rocprofiler_start_context(context));
    OK(rocprofiler_start_context(context));
    OK(rocprofiler_context_is_active(context, &status));
    CHECK(status == 1);
    OK(rocprofiler_stop_context(context));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_stop_context(context));
    OK(rocprofiler_context_is_active(context, &status));
    CHECK(status == 0);
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_context_is_active(context, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_context_is_valid(context, NULL));
}

static void check_buffers(void)
{
    buffer = new_buffer(context, 4096, 4096, LOSSLESS, take, NULL);
    of_other = new_buffer(other, 1, 0, ROCPROFILER_BUFFER_POLICY_DISCARD, take, NULL);
    destroyed = new_buffer(context, 4096, 1 << 30, ROCPROFILER_BUFFER_POLICY_NONE, take, NULL);
    CHECK(buffer.handle != of_other.handle);

    rocprofiler_buffer_id_t id = buffer;
    ANSWERS(ERROR_SERVICE_ALREADY_CONFIGURED, rocprofiler_create_buffer(context, 4096, 0, LOSSLESS, take, NULL, &id));
    CHECK(id.handle == buffer.handle);
    id.handle = 0;
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_buffer(context, 0, 0, LOSSLESS, take, NULL, &id));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_buffer(context, SIZE_MAX, 0, LOSSLESS, take, NULL, &id));
    ANSWERS(ERROR_INVALID_ARGUMENT,
            rocprofiler_create_buffer(context, 4096, 0, (rocprofiler_buffer_policy_t)77, take, NULL, &id));
    ANSWERS(ERROR_INVALID_ARGUMENT,
            rocprofiler_create_buffer(context, 4096, 0, ROCPROFILER_BUFFER_POLICY_LAST, take, NULL, &id));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_buffer(context, 4096, 0, LOSSLESS, NULL, NULL, &id));
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_buffer(context, 4096, 0, LOSSLESS, take, NULL, NULL));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_create_buffer(no_context, 4096, 0, LOSSLESS, take, NULL, &id));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_create_buffer(unknown_context, 4096, 0, LOSSLESS, take, NULL, &id));
    CHECK(id.handle == 0);

    OK(rocprofiler_flush_buffer(buffer));
    OK(rocprofiler_destroy_buffer(destroyed));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_destroy_buffer(destroyed));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_flush_buffer(destroyed));
    /* An id is not used again, but its variable may be. */
    id = destroyed;
    OK(rocprofiler_create_buffer(context, 4096, 0, LOSSLESS, take, NULL, &id));
    CHECK(id.handle != destroyed.handle && id.handle != buffer.handle);
}

static void check_buffer_services(void)
{
    const int32_t wrong[3] = {0, 1, 6}, negative[1] = {-1}, large[1] = {512}, twice[2] = {1, 1};
#define CONFIGURE rocprofiler_configure_buffer_tracing_service
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, CONFIGURE(no_context, MARKERS, NULL, 0, buffer));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, CONFIGURE(unknown_context, MARKERS, NULL, 0, buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, CONFIGURE(context, MARKERS, NULL, 0, no_buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, CONFIGURE(context, MARKERS, NULL, 0, unknown_buffer));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, CONFIGURE(context, MARKERS, NULL, 0, of_other));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, CONFIGURE(context, MARKERS, NULL, 0, destroyed));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, ROCPROFILER_BUFFER_TRACING_NONE, NULL, 0, buffer));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, ROCPROFILER_BUFFER_TRACING_LAST, NULL, 0, buffer));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, (rocprofiler_buffer_tracing_kind_t)-1, NULL, 0, buffer));
    ANSWERS(ERROR_OPERATION_NOT_FOUND, CONFIGURE(context, MARKERS, wrong, 3, buffer));
    ANSWERS(ERROR_OPERATION_NOT_FOUND, CONFIGURE(context, MARKERS, negative, 1, buffer));
    ANSWERS(ERROR_OPERATION_NOT_FOUND, CONFIGURE(context, MARKERS, large, 1, buffer));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, MARKERS, NULL, 2, buffer));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, MARKERS, wrong, SIZE_MAX, buffer));
    /* The failed calls changed nothing. */
    OK(CONFIGURE(context, MARKERS, twice, 2, buffer));
    ANSWERS(ERROR_SERVICE_ALREADY_CONFIGURED, CONFIGURE(context, MARKERS, NULL, 0, buffer));
    ANSWERS(ERROR_SERVICE_ALREADY_CONFIGURED, CONFIGURE(context, MARKERS, negative, 1, buffer));
    OK(CONFIGURE(other, MARKERS, NULL, 0, of_other));
    /* Each kind is accepted, even if it has no records here. */
    for (int kind = 1; kind < ROCPROFILER_BUFFER_TRACING_LAST; kind++)
        if (kind != MARKERS)
            OK(CONFIGURE(context, (rocprofiler_buffer_tracing_kind_t)kind, NULL, 0, buffer));
#undef CONFIGURE
}

static void check_callback_services(void)
{
    const int32_t wrong[3] = {0, 1, 6}, negative[1] = {-1}, large[1] = {512};
#define CONFIGURE rocprofiler_configure_callback_tracing_service
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, CONFIGURE(no_context, CALLBACK_MARKERS, NULL, 0, called, NULL));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, CONFIGURE(unknown_context, CALLBACK_MARKERS, NULL, 0, called, NULL));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, ROCPROFILER_CALLBACK_TRACING_NONE, NULL, 0, called, NULL));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, ROCPROFILER_CALLBACK_TRACING_LAST, NULL, 0, called, NULL));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, (rocprofiler_callback_tracing_kind_t)-1, NULL, 0, called, NULL));
    ANSWERS(ERROR_OPERATION_NOT_FOUND, CONFIGURE(context, CALLBACK_MARKERS, wrong, 3, called, NULL));
    ANSWERS(ERROR_OPERATION_NOT_FOUND, CONFIGURE(context, CALLBACK_MARKERS, negative, 1, called, NULL));
    ANSWERS(ERROR_OPERATION_NOT_FOUND, CONFIGURE(context, CALLBACK_MARKERS, large, 1, called, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, CALLBACK_MARKERS, NULL, 2, called, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, CALLBACK_MARKERS, NULL, 0, NULL, NULL));
    OK(CONFIGURE(context, CALLBACK_MARKERS, wrong, 2, called, NULL));
    ANSWERS(ERROR_SERVICE_ALREADY_CONFIGURED, CONFIGURE(context, CALLBACK_MARKERS, NULL, 0, called, NULL));
    for (int kind = 1; kind < ROCPROFILER_CALLBACK_TRACING_LAST; kind++)
        if (kind != CALLBACK_MARKERS)
            OK(CONFIGURE(context, (rocprofiler_callback_tracing_kind_t)kind, NULL, 0, called, NULL));
#undef CONFIGURE
}

static void check_requests(void)
{
    typedef rocprofiler_external_correlation_id_request_kind_t kind_t;
    const kind_t kinds[2] = {ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MARKER_CORE_API,
                             ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH};
    const kind_t wrong[2] = {kinds[0], ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_LAST};
    const kind_t none[1] = {ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_NONE};
#define CONFIGURE rocprofiler_configure_external_correlation_id_request_service
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, CONFIGURE(no_context, kinds, 2, request, NULL));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, CONFIGURE(unknown_context, kinds, 2, request, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, kinds, 0, request, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, kinds, SIZE_MAX, request, NULL));
    ANSWERS(ERROR_INVALID_ARGUMENT, CONFIGURE(context, kinds, 2, NULL, NULL));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, wrong, 2, request, NULL));
    ANSWERS(ERROR_KIND_NOT_FOUND, CONFIGURE(context, none, 1, request, NULL));
    OK(CONFIGURE(context, kinds, 2, request, NULL));
    ANSWERS(ERROR_SERVICE_ALREADY_CONFIGURED, CONFIGURE(context, kinds, 2, request, NULL));
    ANSWERS(ERROR_SERVICE_ALREADY_CONFIGURED, CONFIGURE(context, NULL, 0, request, NULL));
    OK(CONFIGURE(other, NULL, 0, request, NULL));
#undef CONFIGURE
}

static int initialize(rocprofiler_client_finalize_t function, void *data)
{
    (void)data;
    finalize_client = function;
    CHECK(initialized() == -1 && finalized() == 0);
    check_unknown();
    check_contexts();
    check_buffers();
    check_buffer_services();
    check_callback_services();
    check_requests();
    OK(rocprofiler_at_intercept_table_registration(intercept, ROCPROFILER_MARKER_CORE_TABLE, NULL));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(NULL));
    return 0;
}

static void finalize(void *data)
{
    int status = 7;
    (void)data;
    CHECK(initialized() == 1 && finalized() == -1);
    OK(rocprofiler_context_is_active(context, &status));
    CHECK(status == 0);
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_start_context(context));
    ANSWERS(ERROR_CONTEXT_NOT_FOUND, rocprofiler_stop_context(context));
    OK(rocprofiler_flush_buffer(buffer));
    check_locked();
}

rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result;
    CHECK(version == 10000 && strcmp(text, "1.0.0") == 0 && priority == 0);
    CHECK(initialized() == -1 && finalized() == 0);
    early = new_context();
    client = id;
    result.size = sizeof result;
    result.initialize = initialize;
    result.finalize = finalize;
    return &result;
}

static void after_initialization(void)
{
    rocprofiler_callback_thread_t thread = {0};
    CHECK(initialized() == 1 && finalized() == 0);
    check_locked();
    check_unknown();
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_create_callback_thread(&thread));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_assign_callback_thread(buffer, thread));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_at_intercept_table_registration(intercept, 0, NULL));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(NULL));
    OK(rocprofiler_at_internal_thread_create(NULL, NULL, 0, NULL));
    OK(rocprofiler_start_context(context));
    OK(rocprofiler_flush_buffer(buffer));
}

static void after_finalization(void)
{
    rocprofiler_buffer_id_t late = {0};
    int status = 7;
    CHECK(initialized() == 1 && finalized() == 1);
    check_unknown();
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_create_buffer(context, 4096, 0, LOSSLESS, take, NULL, &late));
    ANSWERS(ERROR_FINALIZED, rocprofiler_flush_buffer(buffer));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_start_context(context));
    OK(rocprofiler_stop_context(context));
    OK(rocprofiler_context_is_valid(context, &status));
    CHECK(status == 1);
    ANSWERS(ERROR_BUFFER_NOT_FOUND, opscope_rocprofiler_emit(buffer, OWN_CATEGORY, 1, &status, sizeof status));
    roctxMarkA("afterwards");
}

int main(void)
{
    before_initialization();
    roctxMarkA("initializes");
    after_initialization();
    finalize_client(*client);
    after_finalization();
    finalize_client(*client);
    return 0;
}
