/* Calls every function with zeros: nothing crashes, with and without a tool. */
#include "sdk.h"

#include <rocprofiler-sdk/experimental/counters.h>
#include <rocprofiler-sdk/experimental/thread_trace.h>

#include <dlfcn.h>

static int initialize(rocprofiler_client_finalize_t finalize, void *data)
{
    (void)finalize, (void)data;
    return 0;
}

static rocprofiler_tool_configure_result_t *configure(uint32_t version, const char *text, uint32_t priority,
                                                      rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result;
    (void)version, (void)text, (void)priority, (void)id;
    result.size = sizeof result;
    result.initialize = initialize;
    return &result;
}

/* All arguments are integers or structures of them, so this many zeros are enough, in registers and on the stack. */
typedef uint64_t (*function_t)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                               uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

int main(int count, char **names)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i < count; i++) {
            function_t function;
            FUNCTION(function, dlsym(RTLD_DEFAULT, names[i]));
            CHECK(function != NULL);
            function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        }
        if (round == 0 && initialized() == 0)
            OK(rocprofiler_force_configure(configure));
    }

    /* Functions that do not exist return that status. */
    const rocprofiler_agent_id_t agent = {0};
    const rocprofiler_counter_id_t counter = {0};
    rocprofiler_counter_config_id_t config = {0};
    rocprofiler_thread_trace_decoder_id_t decoder = {0};
    size_t size = 0;
    int status = 7;
    ANSWERS(ERROR_NOT_IMPLEMENTED, rocprofiler_create_counter_config(agent, NULL, 0, &config));
    ANSWERS(ERROR_NOT_IMPLEMENTED, rocprofiler_query_counter_instance_count(agent, counter, &size));
    ANSWERS(ERROR_NOT_AVAILABLE, rocprofiler_thread_trace_decoder_create(&decoder, "/nowhere"));
    OK(rocprofiler_ompt_is_initialized(&status));
    CHECK(status == 0);
    return 0;
}
