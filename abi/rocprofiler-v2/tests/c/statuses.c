/* Every status by a call that causes it, every function before the library is initialized, and with NULL. */
#include "tool.h"

static int batches;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    (void)begin;
    (void)end;
    (void)session;
    (void)buffer;
    batches++;
}

static void on_call(rocprofiler_record_tracer_t record, rocprofiler_session_id_t session)
{
    (void)record;
    (void)session;
}

static int on_counter(rocprofiler_counter_info_t counter, const char *gpu, uint32_t index)
{
    (void)counter;
    (void)gpu;
    (void)index;
    CHECK(!"there is a counter");
    return 0;
}

/* Calls the functions of services that are not here and that need the library to be initialized. */
static void what_is_not_here_answers(rocprofiler_status_t status)
{
    rocprofiler_session_id_t session = {1};
    rocprofiler_record_id_t record = {1};
    rocprofiler_device_profile_metric_t metric;
    rocprofiler_codeobj_symbols_t symbols;
    ANSWERS(rocprofiler_device_profiling_session_start(session), status);
    ANSWERS(rocprofiler_device_profiling_session_poll(session, &metric), status);
    ANSWERS(rocprofiler_device_profiling_session_stop(session), status);
    ANSWERS(rocprofiler_device_profiling_session_destroy(session), status);
    ANSWERS(rocprofiler_codeobj_capture_get(record, &symbols), status);
    ANSWERS(rocprofiler_codeobj_capture_free(record), status);
    ANSWERS(rocprofiler_codeobj_capture_start(record), status);
    ANSWERS(rocprofiler_codeobj_capture_stop(record), status);
}

/* Calls every function that needs the library to be initialized, each with valid arguments. All return the same
 * status. */
static void all_answer(rocprofiler_status_t status)
{
    rocprofiler_session_id_t session = {1};
    rocprofiler_filter_id_t filter = {1};
    rocprofiler_buffer_id_t buffer = {1};
    rocprofiler_agent_id_t agent = {1};
    rocprofiler_queue_id_t queue = {1};
    rocprofiler_kernel_id_t kernel = {1};
    rocprofiler_counter_id_t counter = {1};
    rocprofiler_timestamp_t time = {0};
    rocprofiler_tracer_operation_id_t operation = {0};
    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    rocprofiler_buffer_property_t property = {ROCPROFILER_BUFFER_PROPERTY_KIND_INTERVAL_FLUSH, 5};
    rocprofiler_record_tracer_t record;
    memset(&record, 0, sizeof record);
    record.header.kind = ROCPROFILER_TRACER_RECORD;
    record_t next = NULL;
    size_t size = 0;
    const char *text = NULL;
    ANSWERS(rocprofiler_get_timestamp(&time), status);
    ANSWERS(rocprofiler_iterate_counters(on_counter), status);
    ANSWERS(rocprofiler_query_agent_info_size(ROCPROFILER_AGENT_NAME, agent, &size), status);
    ANSWERS(rocprofiler_query_agent_info(ROCPROFILER_AGENT_NAME, agent, &text), status);
    ANSWERS(rocprofiler_query_queue_info_size(ROCPROFILER_QUEUE_SIZE, queue, &size), status);
    ANSWERS(rocprofiler_query_queue_info(ROCPROFILER_QUEUE_SIZE, queue, &text), status);
    ANSWERS(rocprofiler_query_kernel_info_size(ROCPROFILER_KERNEL_NAME, kernel, &size), status);
    ANSWERS(rocprofiler_query_kernel_info(ROCPROFILER_KERNEL_NAME, kernel, &text), status);
    ANSWERS(rocprofiler_query_counter_info_size(session, ROCPROFILER_COUNTER_NAME, counter, &size), status);
    ANSWERS(rocprofiler_query_counter_info(session, ROCPROFILER_COUNTER_NAME, counter, &text), status);
    ANSWERS(rocprofiler_tracer_operation_id(domain, "roctxMarkA", &operation), status);
    ANSWERS(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &session), status);
    ANSWERS(rocprofiler_create_filter(session, ROCPROFILER_API_TRACE, data_of(&domain), 1, &filter, no_property()),
            status);
    ANSWERS(rocprofiler_create_buffer(session, on_batch, 4096, &buffer), status);
    ANSWERS(rocprofiler_set_buffer_properties(session, buffer, &property, 1), status);
    ANSWERS(rocprofiler_set_filter_buffer(session, filter, buffer), status);
    ANSWERS(rocprofiler_set_api_trace_sync_callback(session, filter, on_call), status);
    ANSWERS(rocprofiler_create_ready_session(ROCPROFILER_NONE_REPLAY_MODE, ROCPROFILER_API_TRACE, data_of(&domain), 1,
                                             4096,
                                             on_batch, &session, no_property(), on_call), status);
    ANSWERS(rocprofiler_start_session(session), status);
    ANSWERS(rocprofiler_flush_data(session, buffer), status);
    ANSWERS(rocprofiler_next_record(&record.header, &next, session, buffer), status);
    ANSWERS(rocprofiler_terminate_session(session), status);
    ANSWERS(rocprofiler_destroy_filter(session, filter), status);
    ANSWERS(rocprofiler_destroy_buffer(session, buffer), status);
    ANSWERS(rocprofiler_destroy_session(session), status);
    what_is_not_here_answers(status);
    CHECK(size == 0 && text == NULL && time.value == 0 && next == NULL);
}

static void not_initialized(void)
{
    all_answer(ROCPROFILER_STATUS_ERROR_NOT_INITIALIZED);
    FAILS(rocprofiler_finalize(), NOT_INITIALIZED);
    /* These need no initialization. */
    CHECK(rocprofiler_version_major() == ROCPROFILER_VERSION_MAJOR);
    CHECK(rocprofiler_version_minor() == ROCPROFILER_VERSION_MINOR);
    rocprofiler_tracer_operation_id_t mark = {0};
    const char *name = NULL;
    OK(rocprofiler_query_tracer_operation_name(ACTIVITY_DOMAIN_ROCTX, mark, &name));
    CHECK(strcmp(name, "roctxMarkA") == 0);
}

static void texts(void)
{
    const char *unknown = rocprofiler_error_str(ROCPROFILER_STATUS_ERROR);
    CHECK(strcmp(unknown, rocprofiler_error_str(ROCPROFILER_STATUS_SUCCESS)) == 0);
    for (int status = 3; status >= -45; status--) {
        const char *text = rocprofiler_error_str((rocprofiler_status_t)status);
        size_t length = strlen(text);
        CHECK(length > 5 && text[length - 1] == '\n' && strchr(text, '\n') == text + length - 1);
        /* Each status has its own text. */
        CHECK((strcmp(text, unknown) == 0) == (status > -2 || status < -38));
        for (int other = -2; other > status && status >= -38; other--)
            CHECK(strcmp(text, rocprofiler_error_str((rocprofiler_status_t)other)) != 0);
    }
    int extreme[] = {-2147483647 - 1, 2147483647, -39};
    for (int i = 0; i < 3; i++) {
        rocprofiler_status_t status;
        memcpy(&status, &extreme[i], sizeof status);
        CHECK(strcmp(rocprofiler_error_str(status), unknown) == 0);
    }
}

static void null_is_refused(traced_t traced)
{
    rocprofiler_session_id_t session = traced.session;
    rocprofiler_agent_id_t agent = {1};
    rocprofiler_queue_id_t queue = {1};
    rocprofiler_kernel_id_t kernel = {1};
    rocprofiler_counter_id_t counter = {1};
    rocprofiler_tracer_operation_id_t operation = {0};
    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    rocprofiler_filter_id_t filter = {77};
    rocprofiler_buffer_id_t buffer = {77};
    rocprofiler_record_header_t record = {ROCPROFILER_TRACER_RECORD, {0}};
    record_t next = NULL;
    FAILS(rocprofiler_get_timestamp(NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_iterate_counters(NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_agent_info_size(ROCPROFILER_AGENT_NAME, agent, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_agent_info(ROCPROFILER_AGENT_NAME, agent, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_queue_info_size(ROCPROFILER_QUEUE_SIZE, queue, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_queue_info(ROCPROFILER_QUEUE_SIZE, queue, NULL), INVALID_ARGUMENTS);
    kernel.handle = 1;
    FAILS(rocprofiler_query_kernel_info(ROCPROFILER_KERNEL_NAME, kernel, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_counter_info_size(session, ROCPROFILER_COUNTER_NAME, counter, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_counter_info(session, ROCPROFILER_COUNTER_NAME, counter, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_query_tracer_operation_name(domain, operation, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_tracer_operation_id(domain, "roctxMarkA", NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_tracer_operation_id(domain, NULL, &operation), INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_filter(session, ROCPROFILER_API_TRACE, data_of(&domain), 1, NULL, no_property()),
          INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_filter(session, ROCPROFILER_API_TRACE, data_of(NULL), 1, &filter, no_property()),
          INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_filter(session, ROCPROFILER_API_TRACE, data_of(&domain), 0, &filter, no_property()),
          INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_buffer(session, on_batch, 4096, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_buffer(session, NULL, 4096, &buffer), INVALID_ARGUMENTS);
    FAILS(rocprofiler_set_buffer_properties(session, traced.buffer, NULL, 1), INVALID_ARGUMENTS);
    OK(rocprofiler_set_buffer_properties(session, traced.buffer, NULL, 0));
    FAILS(rocprofiler_set_api_trace_sync_callback(session, traced.filter, NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_next_record(NULL, &next, session, traced.buffer), INVALID_ARGUMENTS);
    FAILS(rocprofiler_next_record(&record, NULL, session, traced.buffer), INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_ready_session(ROCPROFILER_NONE_REPLAY_MODE, ROCPROFILER_API_TRACE, data_of(&domain), 1,
                                           4096,
                                           on_batch, NULL, no_property(), NULL), INVALID_ARGUMENTS);
    FAILS(rocprofiler_create_ready_session(ROCPROFILER_NONE_REPLAY_MODE, ROCPROFILER_API_TRACE, data_of(&domain), 1,
                                           4096, NULL,
                                           &session, no_property(), NULL), INVALID_ARGUMENTS);
    CHECK(filter.value == 77 && buffer.value == 77 && session.handle == traced.session.handle);
}

static void what_is_missing_is_named_in_order(traced_t traced)
{
    rocprofiler_session_id_t no_sessions[] = {{0}, {traced.session.handle + 100}, {UINT64_MAX}};
    rocprofiler_filter_id_t no_filter = {traced.filter.value + 100}, filter = {0};
    rocprofiler_buffer_id_t no_buffer = {traced.buffer.value + 100}, buffer = {0};
    rocprofiler_counter_id_t counter = {1};
    rocprofiler_buffer_property_t property = {ROCPROFILER_BUFFER_PROPERTY_KIND_INTERVAL_FLUSH, 0};
    rocprofiler_record_header_t record = {ROCPROFILER_TRACER_RECORD, {0}};
    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    record_t next = NULL;
    size_t size = 0;
    const char *text = NULL;
    for (int i = 0; i < 3; i++) {
        rocprofiler_session_id_t no_session = no_sessions[i];
        FAILS(rocprofiler_destroy_session(no_session), SESSION_NOT_FOUND);
        FAILS(rocprofiler_start_session(no_session), SESSION_NOT_FOUND);
        FAILS(rocprofiler_terminate_session(no_session), SESSION_NOT_FOUND);
        FAILS(rocprofiler_create_filter(no_session, ROCPROFILER_API_TRACE, data_of(&domain), 1, &filter, no_property()),
              SESSION_NOT_FOUND);
        FAILS(rocprofiler_destroy_filter(no_session, no_filter), SESSION_NOT_FOUND);
        FAILS(rocprofiler_create_buffer(no_session, on_batch, 4096, &buffer), SESSION_NOT_FOUND);
        FAILS(rocprofiler_set_buffer_properties(no_session, no_buffer, &property, 1), SESSION_NOT_FOUND);
        FAILS(rocprofiler_destroy_buffer(no_session, no_buffer), SESSION_NOT_FOUND);
        FAILS(rocprofiler_set_filter_buffer(no_session, no_filter, no_buffer), SESSION_NOT_FOUND);
        FAILS(rocprofiler_set_api_trace_sync_callback(no_session, no_filter, on_call), SESSION_NOT_FOUND);
        FAILS(rocprofiler_flush_data(no_session, no_buffer), SESSION_NOT_FOUND);
        FAILS(rocprofiler_flush_data(no_session, traced.buffer), SESSION_NOT_FOUND);
        FAILS(rocprofiler_next_record(&record, &next, no_session, no_buffer), SESSION_NOT_FOUND);
        FAILS(rocprofiler_query_counter_info_size(no_session, ROCPROFILER_COUNTER_NAME, counter, &size),
              SESSION_NOT_FOUND);
        FAILS(rocprofiler_query_counter_info(no_session, ROCPROFILER_COUNTER_NAME, counter, &text), SESSION_NOT_FOUND);
    }
    for (int i = 0; i < 3; i++) {
        rocprofiler_session_id_t session = traced.session;
        FAILS(rocprofiler_set_filter_buffer(session, no_filter, no_buffer), BUFFER_NOT_FOUND);
        FAILS(rocprofiler_set_filter_buffer(session, no_filter, traced.buffer), FILTER_NOT_FOUND);
        FAILS(rocprofiler_set_api_trace_sync_callback(session, no_filter, on_call), FILTER_NOT_FOUND);
        FAILS(rocprofiler_destroy_filter(session, no_filter), FILTER_NOT_FOUND);
        FAILS(rocprofiler_destroy_buffer(session, no_buffer), BUFFER_NOT_FOUND);
        FAILS(rocprofiler_set_buffer_properties(session, no_buffer, &property, 1), BUFFER_NOT_FOUND);
        FAILS(rocprofiler_flush_data(session, no_buffer), BUFFER_NOT_FOUND);
        FAILS(rocprofiler_next_record(&record, &next, session, no_buffer), BUFFER_NOT_FOUND);
        no_filter.value = i == 0 ? 0 : UINT64_MAX;
        no_buffer.value = i == 0 ? 0 : UINT64_MAX;
    }
    CHECK(filter.value == 0 && buffer.value == 0 && next == NULL);
}

static rocprofiler_status_t make_filter(rocprofiler_session_id_t session, int kind, rocprofiler_filter_data_t data,
                                        uint64_t count,
                                        int property_kind)
{
    rocprofiler_filter_property_t property = no_property();
    rocprofiler_filter_kind_t filter_kind;
    memcpy(&filter_kind, &kind, sizeof kind);
    memcpy(&property.kind, &property_kind, sizeof property_kind);
    const char *names[] = {"a"};
    struct rocprofiler_filter_dispatch_ids_t ids[] = {{1, 2}};
    property.data_count = 1;
    if (property_kind == ROCPROFILER_FILTER_DISPATCH_IDS)
        property.dispatch_ids = ids;
    else if (property_kind != ROCPROFILER_FILTER_RANGE)
        property.name_regex = names;
    rocprofiler_filter_id_t filter = {0};
    rocprofiler_status_t status = rocprofiler_create_filter(session, filter_kind, data, count, &filter, property);
    CHECK((filter.value != 0) == (status == ROCPROFILER_STATUS_SUCCESS));
    if (filter.value != 0)
        OK(rocprofiler_destroy_filter(session, filter));
    return status;
}

static void filters(rocprofiler_session_id_t session)
{
    rocprofiler_tracer_activity_domain_t domain = ACTIVITY_DOMAIN_ROCTX;
    rocprofiler_filter_data_t roctx = data_of(&domain);
    /* Kinds that are not here, and numbers that are no kinds. */
    for (int kind = -1; kind < 12; kind++) {
        int is_here = kind == ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION || kind == ROCPROFILER_API_TRACE;
        ANSWERS(make_filter(session, kind, roctx, 1, 0), is_here ? 0 : ROCPROFILER_STATUS_ERROR_FILTER_NOT_SUPPORTED);
    }
    /* Which property belongs to which kind. Numbers that are no properties are ignored. */
    for (int property = -1; property < 9; property++) {
        int of_calls = property == 1 || property == 2 || property == 6, of_dispatches = property >= 3 && property <= 6;
        int of_none = property < 1 || property > 6;
        ANSWERS(make_filter(session, ROCPROFILER_API_TRACE, roctx, 1, property),
                of_calls || of_none ? 0 : ROCPROFILER_STATUS_ERROR_SESSION_FILTER_DATA_MISMATCH);
        ANSWERS(make_filter(session, ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION, no_data(), 0, property),
                of_dispatches || of_none ? 0 : ROCPROFILER_STATUS_ERROR_SESSION_FILTER_DATA_MISMATCH);
    }
    FAILS(make_filter(session, ROCPROFILER_COUNTERS_COLLECTION, no_data(), 0,
                      ROCPROFILER_FILTER_HIP_TRACER_API_FUNCTIONS),
          SESSION_FILTER_DATA_MISMATCH);
    FAILS(make_filter(session, ROCPROFILER_COUNTERS_COLLECTION, no_data(), 0, ROCPROFILER_FILTER_RANGE),
          FILTER_NOT_SUPPORTED);
    /* Domains. */
    for (int number = -1; number < 10; number++) {
        memcpy(&domain, &number, sizeof number);
        ANSWERS(make_filter(session, ROCPROFILER_API_TRACE, roctx, 1, 0),
                number >= 0 && number < 8 ? 0 : ROCPROFILER_STATUS_ERROR_INVALID_DOMAIN_ID);
    }
    FAILS(make_filter(session, ROCPROFILER_API_TRACE, roctx, UINT64_MAX, 0), INVALID_ARGUMENTS);
}

static void queries(rocprofiler_session_id_t session)
{
    size_t size = 0;
    const char *text = NULL;
    int found = 0;
    for (uint64_t id = 0; id < 5; id++) {
        rocprofiler_agent_id_t agent = {id};
        for (int kind = 0; kind < 2; kind++) {
            rocprofiler_status_t status = rocprofiler_query_agent_info((rocprofiler_agent_info_kind_t)kind, agent,
                                                                       &text);
            ANSWERS(rocprofiler_query_agent_info_size((rocprofiler_agent_info_kind_t)kind, agent, &size), status);
            if (status == ROCPROFILER_STATUS_SUCCESS) {
                CHECK(strlen(text) == size && size > 0);
                found++;
            } else {
                CHECK(status == ROCPROFILER_STATUS_ERROR_AGENT_NOT_FOUND);
            }
        }
    }
    CHECK(found == 4);
    rocprofiler_agent_id_t host = {1};
    rocprofiler_agent_info_kind_t no_kind = (rocprofiler_agent_info_kind_t)7;
    FAILS(rocprofiler_query_agent_info(no_kind, host, &text), AGENT_INFORMATION_MISSING);
    rocprofiler_queue_id_t queue = {1}, no_queue = {9};
    FAILS(rocprofiler_query_queue_info(ROCPROFILER_QUEUE_SIZE, queue, &text), QUEUE_INFORMATION_MISSING);
    FAILS(rocprofiler_query_queue_info_size(ROCPROFILER_QUEUE_SIZE, queue, &size), QUEUE_INFORMATION_MISSING);
    FAILS(rocprofiler_query_queue_info(ROCPROFILER_QUEUE_SIZE, no_queue, &text), QUEUE_NOT_FOUND);
    FAILS(rocprofiler_query_queue_info_size(ROCPROFILER_QUEUE_SIZE, no_queue, &size), QUEUE_NOT_FOUND);
    uint64_t no_kernels[] = {0, 1, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        rocprofiler_kernel_id_t kernel = {no_kernels[i]};
        FAILS(rocprofiler_query_kernel_info(ROCPROFILER_KERNEL_NAME, kernel, &text), KERNEL_NOT_FOUND);
        FAILS(rocprofiler_query_kernel_info_size(ROCPROFILER_KERNEL_NAME, kernel, &size), KERNEL_NOT_FOUND);
    }
    rocprofiler_counter_id_t counter = {1};
    FAILS(rocprofiler_query_counter_info(session, ROCPROFILER_COUNTER_NAME, counter, &text), COUNTER_NOT_FOUND);
    FAILS(rocprofiler_query_counter_info_size(session, ROCPROFILER_COUNTER_NAME, counter, &size), COUNTER_NOT_FOUND);
    OK(rocprofiler_iterate_counters(on_counter));

    /* Operations: from numbers to names and back. */
    int named = 0;
    for (int number = -1; number < 10; number++) {
        rocprofiler_tracer_activity_domain_t domain;
        memcpy(&domain, &number, sizeof number);
        for (uint32_t id = 0; id < 10; id++) {
            rocprofiler_tracer_operation_id_t operation = {id}, back = {99};
            text = "";
            OK(rocprofiler_query_tracer_operation_name(domain, operation, &text));
            if (text == NULL)
                continue;
            OK(rocprofiler_tracer_operation_id(domain, text, &back));
            CHECK(back.id == id);
            named++;
        }
        rocprofiler_tracer_operation_id_t operation = {99};
        rocprofiler_status_t status = rocprofiler_tracer_operation_id(domain, "no operation", &operation);
        ANSWERS(status, number >= 0 && number < 8 ? ROCPROFILER_STATUS_ERROR_INVALID_OPERATION_ID
                                                  : ROCPROFILER_STATUS_ERROR_INVALID_DOMAIN_ID);
        CHECK(operation.id == 99);
    }
    CHECK(named == 5 + 2 + 2);
}

static void not_implemented(void)
{
    rocprofiler_session_id_t session = {1};
    rocprofiler_record_id_t record = {1};
    const char *names[] = {"GRBM_COUNT"};
    for (int initialized = 0; initialized < 2; initialized++) {
        FAILS(rocprofiler_device_profiling_session_create(names, 1, &session, 0, 0), NOT_IMPLEMENTED);
        FAILS(rocprofiler_codeobj_capture_create(&record, ROCPROFILER_CAPTURE_SYMBOLS_ONLY, 0), NOT_IMPLEMENTED);
        if (initialized == 0)
            OK(rocprofiler_initialize());
    }
    what_is_not_here_answers(ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED);
    OK(rocprofiler_finalize());
}

static void sessions(void)
{
    rocprofiler_session_id_t session = {0};
    rocprofiler_buffer_id_t buffer = {0};
    for (int mode = -3; mode < 3; mode++) {
        rocprofiler_replay_mode_t replay_mode;
        memcpy(&replay_mode, &mode, sizeof mode);
        if (mode != ROCPROFILER_NONE_REPLAY_MODE)
            FAILS(rocprofiler_create_session(replay_mode, &session), INCORRECT_REPLAY_MODE);
    }
    OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &session));
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_FILTER);
    FAILS(rocprofiler_terminate_session(session), SESSION_NOT_ACTIVE);
    rocprofiler_filter_id_t filter = filter_of(session, ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_ROCTX);
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_BUFFER);
    OK(rocprofiler_create_buffer(session, on_batch, 4096, &buffer));
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_BUFFER);
    OK(rocprofiler_set_filter_buffer(session, filter, buffer));
    rocprofiler_filter_id_t dispatches = filter_of(session, ROCPROFILER_DISPATCH_TIMESTAMPS_COLLECTION,
                                                   ACTIVITY_DOMAIN_ROCTX);
    CHECK(filter.value == 1 && dispatches.value == 2 && buffer.value == 1);
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_BUFFER);
    FAILS(rocprofiler_set_api_trace_sync_callback(session, dispatches, on_call), FILTER_NOT_SUPPORTED);
    OK(rocprofiler_set_filter_buffer(session, dispatches, buffer));

    /* Several sessions, one of them active. An error about a missing object comes before one about an active
     * session. */
    traced_t other = create_roctx(4096, on_batch);
    CHECK(other.session.handle > session.handle && other.filter.value == 1 && other.buffer.value == 1);
    OK(rocprofiler_start_session(session));
    FAILS(rocprofiler_start_session(session), HAS_ACTIVE_SESSION);
    FAILS(rocprofiler_start_session(other.session), HAS_ACTIVE_SESSION);
    FAILS(rocprofiler_terminate_session(other.session), SESSION_NOT_ACTIVE);
    rocprofiler_session_id_t empty = {0};
    OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &empty));
    FAILS(rocprofiler_start_session(empty), SESSION_MISSING_FILTER);
    OK(rocprofiler_terminate_session(session));
    FAILS(rocprofiler_terminate_session(session), SESSION_NOT_ACTIVE);
    OK(rocprofiler_start_session(other.session));
    /* An active session can be destroyed: then none is active. */
    OK(rocprofiler_destroy_session(other.session));
    FAILS(rocprofiler_destroy_session(other.session), SESSION_NOT_FOUND);
    OK(rocprofiler_start_session(session));
    /* A buffer that a filter has can be destroyed: the session cannot be started again then. */
    OK(rocprofiler_destroy_buffer(session, buffer));
    FAILS(rocprofiler_destroy_buffer(session, buffer), BUFFER_NOT_FOUND);
    FAILS(rocprofiler_flush_data(session, buffer), BUFFER_NOT_FOUND);
    OK(rocprofiler_terminate_session(session));
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_BUFFER);
    OK(rocprofiler_destroy_filter(session, filter));
    FAILS(rocprofiler_destroy_filter(session, filter), FILTER_NOT_FOUND);
    OK(rocprofiler_destroy_filter(session, dispatches));
    FAILS(rocprofiler_start_session(session), SESSION_MISSING_FILTER);
    OK(rocprofiler_destroy_session(session));
    OK(rocprofiler_destroy_session(empty));
}

static void buffers(rocprofiler_session_id_t session)
{
    rocprofiler_buffer_id_t buffer = {0};
    FAILS(rocprofiler_create_buffer(session, on_batch, SIZE_MAX, &buffer), INCORRECT_SIZE);
    CHECK(buffer.value == 0);
    size_t sizes[] = {0, 1, 31, 4095, 4096, 4097, 1 << 20};
    for (int i = 0; i < 7; i++) {
        rocprofiler_buffer_id_t made = {0};
        OK(rocprofiler_create_buffer(session, on_batch, sizes[i], &made));
        CHECK(made.value > buffer.value);
        buffer = made;
        OK(rocprofiler_flush_data(session, buffer));
    }
    rocprofiler_buffer_property_t properties[2];
    memset(properties, 0, sizeof properties);
    uint64_t intervals[] = {0, 1, 1000, UINT64_MAX, 0};
    for (int i = 0; i < 5; i++) {
        properties[0].value = properties[1].value = intervals[i];
        OK(rocprofiler_set_buffer_properties(session, buffer, properties, 2));
    }
    properties[1].kind = (rocprofiler_buffer_property_kind_t)1;
    FAILS(rocprofiler_set_buffer_properties(session, buffer, properties, 2), INVALID_ARGUMENTS);
    OK(rocprofiler_set_buffer_properties(session, buffer, properties, 1));
    OK(rocprofiler_set_buffer_properties(session, buffer, properties, 0));
}

int main(void)
{
    texts();
    not_implemented();
    not_initialized();
    OK(rocprofiler_initialize());
    FAILS(rocprofiler_initialize(), ALREADY_INITIALIZED);
    sessions();
    traced_t traced = create_roctx(4096, on_batch);
    null_is_refused(traced);
    what_is_missing_is_named_in_order(traced);
    filters(traced.session);
    queries(traced.session);
    buffers(traced.session);
    OK(rocprofiler_finalize());
    not_initialized();
    texts();
    /* The earlier objects can be used again. */
    OK(rocprofiler_initialize());
    OK(flush(traced));
    OK(rocprofiler_start_session(traced.session));
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    FAILS(rocprofiler_finalize(), NOT_INITIALIZED);
    CHECK(batches == 0);
    return 0;
}
