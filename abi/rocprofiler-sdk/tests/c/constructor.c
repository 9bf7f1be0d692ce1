/*
 * A library that is recorded while it is loaded: the loader's lock is held while the tool is loaded and initialized,
 * and while its buffer is full. With LIBRARY it is that library, with TOOL the tool, else a program that opens the
 * library.
 */
#include "sdk.h"

#include <dlfcn.h>

enum { MARKS = 2000 };

#if defined(LIBRARY)

__attribute__((constructor)) static void construct(void)
{
    for (int i = 0; i < MARKS; i++)
        roctxMarkA("while the library is loaded");
}

#elif defined(TOOL)

static rocprofiler_buffer_id_t buffer;
static size_t marks, own;

static void take(rocprofiler_context_id_t context, rocprofiler_buffer_id_t of, rocprofiler_record_header_t **headers,
                 size_t count, void *data, uint64_t drop_count)
{
    (void)context, (void)data;
    CHECK(of.handle == buffer.handle && drop_count == 0);
    for (size_t i = 0; i < count; i++)
        *(headers[i]->category == OWN_CATEGORY ? &own : &marks) += 1;
}

static int initialize(rocprofiler_client_finalize_t function, void *data)
{
    (void)function, (void)data;
    rocprofiler_context_id_t context = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, NULL);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, NULL, 0,
                                                    buffer));
    OK(rocprofiler_start_context(context));
    const uint64_t payload = 1;
    OK(opscope_rocprofiler_emit(buffer, OWN_CATEGORY, 7, &payload, sizeof payload));
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(own == 1);
    return 0;
}

static void finalize(void *data)
{
    (void)data;
    printf("%zu marks\n", marks);
}

rocprofiler_tool_configure_result_t *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                                           rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result;
    (void)version, (void)text, (void)priority, (void)id;
    result.size = sizeof result;
    result.initialize = initialize;
    result.finalize = finalize;
    return &result;
}

#else

int main(void)
{
    CHECK(initialized() == 0);
    CHECK(dlopen("./library.so", RTLD_NOW) != NULL);
    CHECK(initialized() == 1);
    return 0;
}

#endif
