/* There is one record for each ROCTx call, with the call's arguments. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG 10240

typedef struct {
    rocprofiler_record_tracer_t record;
    /* A copy: the text of a record lives during the callback. */
    char *name;
} kept_t;

static kept_t kept[64];
static int count, batches;
static traced_t traced;

static void keep(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    CHECK(session.handle == traced.session.handle && buffer.value == traced.buffer.value);
    CHECK(begin != NULL && begin < end);
    batches++;
    /* The records are packed: next_record finds the address that follows from the size. */
    record_t at = begin;
    for (; at < end; at = after(at, session, buffer)) {
        CHECK(at->kind == ROCPROFILER_TRACER_RECORD);
        CHECK(((const char *)at - (const char *)begin) % sizeof(rocprofiler_record_tracer_t) == 0);
        kept_t *copy = &kept[count++];
        copy->record = *TRACER(at);
        copy->name = copy->record.name == NULL ? NULL : strdup(copy->record.name);
    }
    CHECK(at == end);
}

static uint64_t now(void)
{
    rocprofiler_timestamp_t time = {0};
    OK(rocprofiler_get_timestamp(&time));
    return time.value;
}

static void is(int index, uint32_t operation, uint64_t external_id, const char *name)
{
    const rocprofiler_record_tracer_t *record = &kept[index].record;
    CHECK(record->domain == ACTIVITY_DOMAIN_ROCTX);
    CHECK(record->operation_id.id == operation);
    CHECK(record->external_id.id == external_id);
    CHECK(record->correlation_id.value == 0 && record->timestamps.end.value == 0);
    CHECK(record->agent_id.handle == 0 && record->queue_id.handle == 0);
    CHECK(record->phase == ROCPROFILER_PHASE_ENTER);
    CHECK(record->api_data.roctx == NULL);
    CHECK((record->name == NULL) == (name == NULL));
    CHECK(name == NULL || strcmp(kept[index].name, name) == 0);
    CHECK(index == 0 || record->header.id.handle > kept[index - 1].record.header.id.handle);
    const char *text = NULL;
    OK(rocprofiler_query_tracer_operation_name(record->domain, record->operation_id, &text));
    CHECK(text != NULL && strncmp(text, "roctx", 5) == 0);
}

static void *elsewhere(void *thread)
{
    *(uint32_t *)thread = (uint32_t)syscall(SYS_gettid);
    roctxMarkA("elsewhere");
    return NULL;
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced = create_roctx(1 << 16, keep);
    roctxMarkA("before the session");
    OK(rocprofiler_start_session(traced.session));

    char *text = (char *)malloc(LONG + 1);
    memset(text, 'x', LONG);
    text[LONG] = 0;
    uint64_t begin = now();
    roctxMarkA("a mark");
    CHECK(roctxRangePushA("outer") == 0);
    CHECK(roctxRangePop() == 0);
    roctx_range_id_t range = roctxRangeStartA("a range");
    roctxRangeStop(range);
    roctxMarkA(NULL);
    roctxMarkA("");
    roctxMarkA(text);
    CHECK(roctxRangePushA(text) == 0);
    /* The lengths are around that of the longest text that is stored in the buffer itself. */
    for (size_t length = 253; length < 258; length++) {
        text[length] = 0;
        roctxMarkA(text);
        text[length] = 'x';
    }
    uint64_t end = now();
    /* The records do not lead to the program's text. */
    memset(text, '-', LONG);
    CHECK(count == 0);
    OK(flush(traced));
    CHECK(count == 14 && batches == 1);
    uint32_t thread = 0;
    pthread_t other;
    CHECK(pthread_create(&other, NULL, elsewhere, &thread) == 0 && pthread_join(other, NULL) == 0);
    OK(flush(traced));
    CHECK(count == 15 && batches == 2);
    memset(text, 'x', LONG);
    is(0, 0, 0, "a mark");
    is(1, 1, 0, "outer");
    is(2, 2, 0, NULL);
    is(3, 3, range, "a range");
    is(4, 4, range, NULL);
    is(5, 0, 0, NULL);
    is(6, 0, 0, "");
    is(7, 0, 0, text);
    is(8, 1, 0, text);
    for (int i = 0; i < 5; i++) {
        CHECK(strlen(kept[9 + i].name) == 253 + (size_t)i);
        is(9 + i, 0, 0, kept[9 + i].name);
    }
    is(14, 0, 0, "elsewhere");
    /* The first record of the process. */
    CHECK(kept[0].record.header.id.handle == 1);
    uint64_t last = begin;
    for (int i = 0; i < 14; i++) {
        CHECK(kept[i].record.thread_id.value == (uint32_t)syscall(SYS_gettid));
        CHECK(last <= kept[i].record.timestamps.begin.value);
        last = kept[i].record.timestamps.begin.value;
    }
    /* The ticks of records are converted, which may be off by a little. */
    CHECK(last <= end + 100000);
    CHECK(kept[14].record.thread_id.value == thread);

    /* An empty buffer is not delivered. A terminated session records nothing. */
    OK(flush(traced));
    OK(rocprofiler_terminate_session(traced.session));
    roctxMarkA("after the session");
    OK(flush(traced));
    CHECK(count == 15 && batches == 2);

    /* The same session again. */
    OK(rocprofiler_start_session(traced.session));
    roctxMarkA("again");
    OK(rocprofiler_destroy_session(traced.session));
    CHECK(count == 16);
    is(15, 0, 0, "again");
    for (int i = 0; i < count; i++)
        free(kept[i].name);
    free(text);
    OK(rocprofiler_finalize());
    return 0;
}
