/*
 * A tool that says when it is called. As a library its name is NAME. MODE: "quiet" wants nothing, "ends" finalizes
 * itself at its first callback, "uses" calls ROCTx while it is initialized, "thread" starts a thread that does, and
 * waits for it.
 */
#include "sdk.h"

#ifndef NAME
#define NAME "program"
#endif
#ifndef MODE
#define MODE ""
#endif

static rocprofiler_client_finalize_t finalize_client;
static rocprofiler_client_id_t *client;
static rocprofiler_context_id_t context;

static void say(const char *what)
{
    printf("%s %s\n", NAME, what);
    fflush(stdout);
}

static void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data, (void)data;
    char text[100];
    if (record.phase != ROCPROFILER_CALLBACK_PHASE_ENTER)
        return;
    const rocprofiler_callback_tracing_marker_api_data_t *payload =
        (const rocprofiler_callback_tracing_marker_api_data_t *)record.payload;
    snprintf(text, sizeof text, "sees %s", payload->args.roctxMarkA.message);
    say(text);
    if (strcmp(MODE, "ends") == 0) {
        finalize_client(*client);
        say("has ended");
    }
}

static void *mark(void *unused)
{
    (void)unused;
    roctxMarkA("of the tool's thread");
    return NULL;
}

static int initialize(rocprofiler_client_finalize_t function, void *data)
{
    const rocprofiler_tracing_operation_t marks[1] = {ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA};
    int status = 7;
    finalize_client = function;
    CHECK(data == (void *)&context && initialized() == -1 && finalized() == 0);
    say("is initialized");
    context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, marks, 1,
                                                      called, NULL));
    OK(rocprofiler_start_context(context));
    OK(rocprofiler_context_is_active(context, &status));
    CHECK(status == 1);
    if (strcmp(MODE, "uses") == 0)
        roctxMarkA("of the tool");
    if (strcmp(MODE, "thread") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, mark, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 0;
}

static void finalize(void *data)
{
    int status = 7;
    CHECK(data == (void *)&context && finalized() == -1);
    OK(rocprofiler_context_is_active(context, &status));
    CHECK(status == 0);
    say("is finalized");
    /* It does not come back here. */
    finalize_client(*client);
}

rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result;
    char line[100];
    CHECK(version == 10000 && strcmp(text, "1.0.0") == 0);
    CHECK(id->size == sizeof *id && id->name == NULL && id->handle != 0 && initialized() == -1);
    snprintf(line, sizeof line, "is configured as %u", (unsigned)priority);
    say(line);
    if (strcmp(MODE, "quiet") == 0)
        return NULL;
    id->name = NAME;
    client = id;
    result.size = sizeof result;
    result.initialize = initialize;
    result.finalize = finalize;
    result.tool_data = &context;
    return &result;
}

#ifdef PROGRAM
#include "host.c"
#endif
