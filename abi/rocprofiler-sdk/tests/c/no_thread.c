/* A tool that returns NULL wants nothing, so the library creates no thread. */
#include "sdk.h"

static int created;

static void note(rocprofiler_runtime_library_t library, void *data)
{
    (void)library, (void)data;
    created++;
}

rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    (void)version, (void)text, (void)priority, (void)id;
    OK(rocprofiler_at_internal_thread_create(note, note, ROCPROFILER_LIBRARY, NULL));
    return NULL;
}

int main(void)
{
    CHECK(initialized() == 0);
    /* A ROCTx runtime registers itself at its first call, and so initializes the tools. */
    CHECK(roctxProfilerResume(0) == 0);
    CHECK(initialized() == 1 && created == 0);
    roctxMarkA("nobody sees it");
    CHECK(created == 0);
    return 0;
}
