// A tool whose initialization throws after it has created and started everything. None of its functions is called
// afterwards, not even its finalization. Its own objects stay usable.
static void make_services();
static void finish();
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

#include <stdexcept>

namespace
{
rocprofiler_context_id_t context;
rocprofiler_buffer_id_t  buffer;

void take(rocprofiler_context_id_t, rocprofiler_buffer_id_t, rocprofiler_record_header_t**, size_t, void*, uint64_t)
{
    CHECK(!"a record is delivered to a tool that is not initialized");
}

void call(rocprofiler_callback_tracing_record_t, rocprofiler_user_data_t*, void*)
{
    CHECK(!"a tool that is not initialized is called");
}

void intercept(rocprofiler_intercept_table_t, uint64_t, uint64_t, void**, uint64_t, void*)
{
    CHECK(!"a tool that is not initialized gets a table");
}

void emit()
{
    const uint64_t payload = 0;
    OK(opscope_rocprofiler_emit(buffer, OWN_CATEGORY, 3, &payload, sizeof payload));
}
}  // namespace

static void make_services()
{
    context = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, nullptr);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, nullptr, 0,
                                                    buffer));
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, nullptr, 0,
                                                      call, nullptr));
    OK(rocprofiler_at_intercept_table_registration(intercept, 0, nullptr));
    OK(rocprofiler_start_context(context));
    emit();
    throw std::runtime_error{"at the end of the initialization"};
}

static void finish() { CHECK(!"a tool that is not initialized is finalized"); }

int main()
{
    begin();
    roctxMarkA("nobody sees it");
    emit();
    OK(rocprofiler_flush_buffer(buffer));
    int is_active = 7;
    OK(rocprofiler_context_is_active(context, &is_active));
    CHECK(is_active == 0);
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_start_context(context));
    finalize_client(*client);
    return 0;
}
