// A tool in C++ whose functions throw. Each exception ends where the library called the function, and later calls work
// as before.
static void make_services();
static void finish();
#define TOOL_INITIALIZE make_services
#define TOOL_FINALIZE finish
#include "tool.h"

#include <rocprofiler-sdk/cxx/name_info.hpp>
#include <rocprofiler-sdk/cxx/operators.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
struct own_exception
{
    std::string text;
};

rocprofiler_context_id_t context, called;
rocprofiler_buffer_id_t buffer;
std::vector<std::string> seen;
bool throws_other = false;
int destroyed = 0;

struct counted
{
    ~counted() { ++destroyed; }
};

// As the end of the documentation's example.
void take(rocprofiler_context_id_t, rocprofiler_buffer_id_t, rocprofiler_record_header_t** headers, size_t count, void*,
          uint64_t)
{
    static const auto names = rocprofiler::sdk::get_buffer_tracing_names();
    counted on_the_way;
    CHECK(std::uncaught_exceptions() == 0);
    for(size_t i = 0; i < count; ++i)
    {
        auto* header = headers[i];
        if(header->category == ROCPROFILER_BUFFER_CATEGORY_TRACING &&
           header->kind == ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API)
        {
            auto* record = static_cast<rocprofiler_buffer_tracing_marker_api_record_t*>(header->payload);
            seen.emplace_back(names.at(record->kind, static_cast<size_t>(record->operation)));
        }
        else if(throws_other)
        {
            throw own_exception{"not of the standard library"};
        }
        else
        {
            throw std::runtime_error{"unhandled record header category + kind"};
        }
    }
}

void call(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t*, void*)
{
    if(record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER) throw 42;
}

int request(rocprofiler_thread_id_t, rocprofiler_context_id_t, rocprofiler_external_correlation_id_request_kind_t,
            rocprofiler_tracing_operation_t, uint64_t, rocprofiler_user_data_t*, void*)
{
    throw std::logic_error{"no id"};
}

void intercept(rocprofiler_intercept_table_t, uint64_t, uint64_t, void**, uint64_t, void*)
{
    throw std::out_of_range{"no table"};
}

void emit_unknown()
{
    const uint64_t payload = 0;
    OK(opscope_rocprofiler_emit(buffer, OWN_CATEGORY, 3, &payload, sizeof payload));
}

rocprofiler_status_t refuse(rocprofiler_agent_version_t, const void**, size_t, void*)
{
    throw std::runtime_error{"through the tool's own call"};
}
}  // namespace

static void make_services()
{
    context = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, nullptr);
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, nullptr, 0,
                                                    buffer));
    called = new_context();
    CHECK(called != context && !(called == context));
    OK(rocprofiler_configure_callback_tracing_service(called, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, nullptr, 0,
                                                      call, nullptr));
    OK(rocprofiler_configure_external_correlation_id_request_service(called, nullptr, 0, request, nullptr));
    OK(rocprofiler_at_intercept_table_registration(intercept, ROCPROFILER_MARKER_NAME_TABLE, nullptr));
    OK(rocprofiler_start_context(context));
}

static void finish()
{
    CHECK(std::uncaught_exceptions() == 0);
    throw std::runtime_error{"at the end"};
}

int main()
{
    begin();
    roctxMarkA("first");
    emit_unknown();
    roctxMarkA("delivered together with it");
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(std::uncaught_exceptions() == 0);
    CHECK(destroyed == 1 && seen == std::vector<std::string>({"roctxMarkA"}));

    throws_other = true;
    emit_unknown();
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(std::uncaught_exceptions() == 0 && destroyed == 2);

    roctxRangePushA("later");
    OK(rocprofiler_flush_buffer(buffer));
    CHECK(destroyed == 3 && seen == std::vector<std::string>({"roctxMarkA", "roctxRangePushA"}));

    OK(rocprofiler_start_context(called));
    CHECK(roctxRangePushA("the callback throws") == 1);
    OK(rocprofiler_stop_context(called));
    CHECK(std::uncaught_exceptions() == 0);

    // The tool's own exceptions pass through its own calls, and while one is in flight the library works.
    try
    {
        rocprofiler_query_available_agents(ROCPROFILER_AGENT_INFO_VERSION_0, refuse, sizeof(rocprofiler_agent_t),
                                           nullptr);
        CHECK(!"it throws");
    } catch(const std::runtime_error& error)
    {
        CHECK(std::string{error.what()} == "through the tool's own call");
        emit_unknown();
        OK(rocprofiler_flush_buffer(buffer));
    }
    CHECK(std::uncaught_exceptions() == 0);
    return 0;
}
