/* What the programs of the tests share: checks, and the calls that most tools begin and end with. */
#ifndef TOOL_H
#define TOOL_H

#include <rocprofiler/v2/rocprofiler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a condition does not hold. */
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* Ends the program if a call returns something else. */
#define ANSWERS(call, status)                                                                              \
    do {                                                                                                   \
        int answer_ = (int)(call), expected_ = (int)(status);                                              \
        if (answer_ != expected_) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %d, not %d\n", __FILE__, __LINE__, #call, answer_, expected_);     \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

#define OK(call) ANSWERS(call, ROCPROFILER_STATUS_SUCCESS)

/* A status without its prefix. */
#define FAILS(call, error) ANSWERS(call, ROCPROFILER_STATUS_ERROR_##error)

typedef const rocprofiler_record_header_t *record_t;

#define TRACER(record) ((const rocprofiler_record_tracer_t *)(const void *)(record))
#define PROFILER(record) ((const rocprofiler_record_profiler_t *)(const void *)(record))

/* A session with a filter and a buffer. */
typedef struct {
    rocprofiler_session_id_t session;
    rocprofiler_filter_id_t filter;
    rocprofiler_buffer_id_t buffer;
} traced_t;

static inline rocprofiler_filter_property_t no_property(void)
{
    rocprofiler_filter_property_t property;
    memset(&property, 0, sizeof property);
    return property;
}

static inline rocprofiler_filter_data_t no_data(void)
{
    rocprofiler_filter_data_t data;
    memset(&data, 0, sizeof data);
    return data;
}

/* The domains are read by create_filter only. */
static inline rocprofiler_filter_data_t data_of(rocprofiler_tracer_activity_domain_t *domains)
{
    rocprofiler_filter_data_t data = no_data();
    data.trace_apis = domains;
    return data;
}

static inline rocprofiler_filter_id_t filter_of(rocprofiler_session_id_t session, rocprofiler_filter_kind_t kind,
                                                rocprofiler_tracer_activity_domain_t domain)
{
    rocprofiler_filter_id_t filter = {0};
    OK(rocprofiler_create_filter(session, kind, data_of(&domain), 1, &filter, no_property()));
    CHECK(filter.value != 0);
    return filter;
}

/* Creates a session, as every tool does. It is not started. */
static inline traced_t create(rocprofiler_filter_kind_t kind, rocprofiler_tracer_activity_domain_t domain, size_t size,
                              rocprofiler_buffer_callback_t callback)
{
    traced_t traced;
    memset(&traced, 0, sizeof traced);
    OK(rocprofiler_create_session(ROCPROFILER_NONE_REPLAY_MODE, &traced.session));
    CHECK(traced.session.handle != 0);
    traced.filter = filter_of(traced.session, kind, domain);
    OK(rocprofiler_create_buffer(traced.session, callback, size, &traced.buffer));
    CHECK(traced.buffer.value != 0);
    OK(rocprofiler_set_filter_buffer(traced.session, traced.filter, traced.buffer));
    return traced;
}

static inline traced_t create_roctx(size_t size, rocprofiler_buffer_callback_t callback)
{
    return create(ROCPROFILER_API_TRACE, ACTIVITY_DOMAIN_ROCTX, size, callback);
}

static inline rocprofiler_status_t set_interval(traced_t traced, uint64_t milliseconds)
{
    rocprofiler_buffer_property_t property = {ROCPROFILER_BUFFER_PROPERTY_KIND_INTERVAL_FLUSH, milliseconds};
    return rocprofiler_set_buffer_properties(traced.session, traced.buffer, &property, 1);
}

static inline rocprofiler_status_t flush(traced_t traced)
{
    return rocprofiler_flush_data(traced.session, traced.buffer);
}

/* Returns the address after a record of a batch. */
static inline record_t after(record_t record, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    record_t next = NULL;
    OK(rocprofiler_next_record(record, &next, session, buffer));
    CHECK(next > record);
    return next;
}

#endif
