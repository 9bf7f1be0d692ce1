/* Records that the tool overwrites, copies, or points into the middle of: none is stepped over wrongly,
    and damage is reported. */
#include "tool.h"

#include <roctracer/roctx.h>

static int records, batches;
static int overwritten = -1;
static record_t last_begin, last_end;
static rocprofiler_buffer_id_t other;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    batches++;
    last_begin = begin;
    last_end = end;
    int count = 0;
    record_t at = begin;
    for (; at < end; at = after(at, session, buffer)) {
        if (count == overwritten) {
            int kinds[] = {ROCPROFILER_PROFILER_RECORD, ROCPROFILER_SPM_RECORD, 6, -1, 0x7fffffff};
            for (int i = 0; i < 5; i++) {
                memcpy((void *)(size_t)at, &kinds[i], sizeof kinds[i]);
                record_t next = at;
                FAILS(rocprofiler_next_record(at, &next, session, buffer), RECORD_CORRUPTED);
                CHECK(next == at);
            }
            memset((void *)(size_t)at, 0xff, sizeof *at);
            records += count;
            return;
        }
        count++;
    }
    records += count;

    /* The end, and places in the middle of a record. */
    record_t next = begin;
    FAILS(rocprofiler_next_record(end, &next, session, buffer), RECORD_CORRUPTED);
    for (int offset = 8; offset < (int)sizeof(rocprofiler_record_tracer_t); offset += 8) {
        record_t middle = (record_t)(const void *)((const char *)begin + offset);
        FAILS(rocprofiler_next_record(middle, &next, session, buffer), RECORD_CORRUPTED);
    }
    /* The same for a caller that names another buffer. */
    if (other.value != 0) {
        FAILS(rocprofiler_next_record(end, &next, session, other), RECORD_CORRUPTED);
        record_t middle = (record_t)(const void *)((const char *)begin + 8);
        FAILS(rocprofiler_next_record(middle, &next, session, other), RECORD_CORRUPTED);
        CHECK(after(begin, session, other) == after(begin, session, buffer));
    }
    FAILS(rocprofiler_next_record((record_t)(const void *)((const char *)begin + 4), &next, session, buffer),
          INVALID_ARGUMENTS);
    CHECK(next == begin);
    /* The place of the result may be the argument's. */
    at = begin;
    OK(rocprofiler_next_record(at, &at, session, buffer));
    CHECK((const char *)at - (const char *)begin == (int)sizeof(rocprofiler_record_tracer_t));
}

static void mark(int count)
{
    for (int i = 0; i < count; i++)
        roctxMarkA("mark");
}

/* Records that a tool copied are stepped over by their kind, in a callback or not. */
static void copies(traced_t traced)
{
    static const size_t sizes[] = {sizeof(rocprofiler_record_profiler_t),   sizeof(rocprofiler_record_tracer_t),
                                   sizeof(rocprofiler_record_att_tracer_t), sizeof(rocprofiler_record_pc_sample_t),
                                   sizeof(rocprofiler_record_spm_t),
                                       sizeof(rocprofiler_record_counters_sampler_t)};
    static const size_t expected[] = {176, 96, 176, 56, 288, 40};
    uint64_t memory[1024];
    memset(memory, 0, sizeof memory);
    char *place = (char *)memory;
    for (int i = 0; i < 18; i++) {
        int kind = i * 5 % 6;
        memcpy(place, &kind, sizeof kind);
        place += sizes[kind];
    }
    record_t at = (record_t)(const void *)memory;
    for (int i = 0; i < 18; i++) {
        record_t next = NULL;
        CHECK((int)at->kind == i * 5 % 6 && sizes[at->kind] == expected[at->kind]);
        OK(rocprofiler_next_record(at, &next, traced.session, traced.buffer));
        CHECK((size_t)((const char *)next - (const char *)at) == expected[at->kind]);
        at = next;
    }
    CHECK((const char *)at == place);
    int kinds[] = {-1, 6, 7, 100, 0x7fffffff, -2147483647 - 1};
    for (int i = 0; i < 6; i++) {
        record_t next = NULL;
        memcpy(memory, &kinds[i], sizeof kinds[i]);
        FAILS(rocprofiler_next_record((record_t)(const void *)memory, &next, traced.session, traced.buffer),
              RECORD_CORRUPTED);
        CHECK(next == NULL);
    }
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced_t traced = create_roctx(1 << 20, on_batch);
    OK(rocprofiler_start_session(traced.session));
    mark(10);
    OK(flush(traced));
    CHECK(records == 10 && batches == 1 && last_begin < last_end);
    copies(traced);

    /* The first record, one in the middle, and the last one are damaged. The damage is reported once. */
    int places[] = {0, 4, 9};
    for (int i = 0; i < 3; i++) {
        records = 0;
        overwritten = places[i];
        mark(10);
        FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
        CHECK(records == places[i]);
        overwritten = -1;
        OK(flush(traced));
        records = 0;
        mark(10);
        OK(flush(traced));
        CHECK(records == 10);
    }

    /* Damage in a callback that no flush waited for is reported by the next flush, of that buffer alone. */
    records = 0;
    OK(rocprofiler_create_buffer(traced.session, on_batch, 4096, &other));
    mark(10);
    OK(flush(traced));
    CHECK(records == 10);
    records = 0;
    overwritten = 0;
    int before = batches;
    OK(set_interval(traced, 1));
    mark(1);
    while (__atomic_load_n(&batches, __ATOMIC_ACQUIRE) == before) {
    }
    OK(set_interval(traced, 0));
    OK(rocprofiler_flush_data(traced.session, other));
    FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
    OK(flush(traced));
    overwritten = 0;
    mark(10);
    OK(rocprofiler_destroy_buffer(traced.session, traced.buffer));
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    return 0;
}
