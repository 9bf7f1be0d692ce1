/*
 * Makes the program a tool. It defines TOOL_INITIALIZE and TOOL_FINALIZE as functions, or leaves the latter out, before
 * it includes this.
 */
#ifndef TOOL_H
#define TOOL_H

#include "sdk.h"

static rocprofiler_client_finalize_t finalize_client;
static rocprofiler_client_id_t *client;

static int tool_initialize(rocprofiler_client_finalize_t function, void *data)
{
    finalize_client = function;
    CHECK(data == (void *)&client);
    TOOL_INITIALIZE();
    return 0;
}

static void tool_finalize(void *data)
{
    CHECK(data == (void *)&client);
#ifdef TOOL_FINALIZE
    TOOL_FINALIZE();
#endif
}

rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result;
    CHECK(version == ROCPROFILER_VERSION && strcmp(text, "1.0.0") == 0);
    CHECK(priority == 0 && id->size == sizeof *id && id->name == NULL && id->handle != 0);
    client = id;
    id->name = "test";
    result.size = sizeof result;
    result.initialize = tool_initialize;
    result.finalize = tool_finalize;
    result.tool_data = (void *)&client;
    return &result;
}

/* Initializes the tool: a ROCTx runtime registers itself at its first call. */
static inline void begin(void)
{
    CHECK(initialized() == 0);
    CHECK(roctxProfilerResume(0) == 0);
    CHECK(initialized() == 1 && client != NULL);
}

#endif
