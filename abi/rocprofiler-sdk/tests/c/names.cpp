// The helpers for C++: names of all kinds and operations, comparisons, and constants.
#include "sdk.h"

#include <rocprofiler-sdk/cxx/name_info.hpp>
#include <rocprofiler-sdk/cxx/operators.hpp>
#include <rocprofiler-sdk/cxx/version.hpp>

#include <set>
#include <stdexcept>
#include <string>

int main()
{
    const auto buffered = rocprofiler::sdk::get_buffer_tracing_names();
    const auto callbacks = rocprofiler::sdk::get_callback_tracing_names();
    CHECK(buffered.size() == 33 && callbacks.size() == 22);
    CHECK(buffered.at(ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH) == "KERNEL_DISPATCH");
    CHECK(buffered.at(ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, 1) == "roctxRangePushA");
    CHECK(callbacks[ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT][1] == "CODE_OBJECT_LOAD");
    CHECK(callbacks[ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT].value == ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT);
    size_t names = 0;
    for(const auto& kind : buffered)
        for(const auto& [operation, name] : kind.items())
        {
            CHECK(!name->empty() && kind[static_cast<size_t>(operation)] == *name);
            ++names;
        }
    CHECK(names == 6 + 2 + 4 + 4 + 5 + 5 + 3 + 4 + 7 + 4);
    try
    {
        buffered.at(33);
        CHECK(!"it throws");
    } catch(const std::out_of_range&)
    {
    }

    const rocprofiler_context_id_t first = {1}, second = {2};
    CHECK(first < second && first != second && second >= first && !(first == second));
    const rocprofiler_version_triplet_t old = {0, 9, 9}, current = {1, 0, 0};
    CHECK(old < current && current > old);
    std::set<rocprofiler_agent_id_t> agents = {{7}, {5}, {7}};
    CHECK(agents.size() == 2 && agents.begin()->handle == 5);
    return 0;
}
