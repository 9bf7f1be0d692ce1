// The names of all kinds and operations, in memory.
#ifndef ROCPROFILER_SDK_CXX_NAME_INFO_HPP
#define ROCPROFILER_SDK_CXX_NAME_INFO_HPP

#include <rocprofiler-sdk/rocprofiler.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rocprofiler
{
namespace sdk
{
// A kind and its operations. Operations without a name are empty.
template <typename Kind>
struct kind_name_info
{
    Kind                          value = {};
    std::string_view              name;
    std::vector<std::string_view> operations;

    // Throws std::out_of_range for an unknown operation.
    std::string_view operator[](size_t operation) const { return operations.at(operation); }

    // Returns each operation's number and a pointer to its name.
    std::vector<std::pair<int32_t, const std::string_view*>> items() const
    {
        std::vector<std::pair<int32_t, const std::string_view*>> all;
        for(size_t i = 0; i < operations.size(); ++i)
            all.emplace_back(static_cast<int32_t>(i), &operations[i]);
        return all;
    }
};

template <typename Kind>
struct name_info
{
    std::vector<kind_name_info<Kind>> kinds;

    // Each throws std::out_of_range for an unknown kind or operation.
    const kind_name_info<Kind>& operator[](size_t kind) const { return kinds.at(kind); }
    std::string_view            at(size_t kind) const { return kinds.at(kind).name; }
    std::string_view            at(size_t kind, size_t operation) const
    {
        return kinds.at(kind)[operation];
    }

    size_t size() const { return kinds.size(); }
    auto   begin() const { return kinds.begin(); }
    auto   end() const { return kinds.end(); }
};

using callback_name_info = name_info<rocprofiler_callback_tracing_kind_t>;
using buffer_name_info   = name_info<rocprofiler_buffer_tracing_kind_t>;

namespace detail
{
inline std::string_view
view(const char* name, uint64_t length)
{
    return name ? std::string_view{name, static_cast<size_t>(length)} : std::string_view{};
}

template <typename Kind, typename QueryKind, typename QueryOperation>
struct name_collector
{
    name_info<Kind> names;
    QueryKind       query_kind;
    QueryOperation  query_operation;

    void kind(Kind kind)
    {
        const char* name   = nullptr;
        uint64_t    length = 0;
        query_kind(kind, &name, &length);
        if(names.kinds.size() <= static_cast<size_t>(kind)) names.kinds.resize(kind + size_t{1});
        names.kinds[kind].value = kind;
        names.kinds[kind].name  = view(name, length);
    }

    void operation(Kind kind, int32_t operation)
    {
        const char* name   = nullptr;
        uint64_t    length = 0;
        if(operation < 0) return;
        query_operation(kind, operation, &name, &length);
        auto& operations = names.kinds[kind].operations;
        if(operations.size() <= static_cast<size_t>(operation))
            operations.resize(operation + size_t{1});
        operations[operation] = view(name, length);
    }
};

template <typename Kind,
          typename QueryKind,
          typename QueryOperation,
          typename IterateKinds,
          typename IterateOperations>
name_info<Kind>
collect_names(QueryKind         query_kind,
              QueryOperation    query_operation,
              IterateKinds      iterate_kinds,
              IterateOperations iterate_operations)
{
    using collector_t = name_collector<Kind, QueryKind, QueryOperation>;
    auto collector    = collector_t{{}, query_kind, query_operation};
    iterate_kinds(
        [](Kind kind, void* data) -> int {
            static_cast<collector_t*>(data)->kind(kind);
            return 0;
        },
        &collector);
    for(size_t i = 0; i < collector.names.kinds.size(); ++i)
    {
        iterate_operations(
            static_cast<Kind>(i),
            [](Kind kind, int32_t operation, void* data) -> int {
                static_cast<collector_t*>(data)->operation(kind, operation);
                return 0;
            },
            &collector);
    }
    return std::move(collector.names);
}
}  // namespace detail

// Returns the names of the callback kinds.
inline callback_name_info
get_callback_tracing_names()
{
    return detail::collect_names<rocprofiler_callback_tracing_kind_t>(
        rocprofiler_query_callback_tracing_kind_name,
        rocprofiler_query_callback_tracing_kind_operation_name,
        rocprofiler_iterate_callback_tracing_kinds,
        rocprofiler_iterate_callback_tracing_kind_operations);
}

// Returns the names of the buffer kinds.
inline buffer_name_info
get_buffer_tracing_names()
{
    return detail::collect_names<rocprofiler_buffer_tracing_kind_t>(
        rocprofiler_query_buffer_tracing_kind_name,
        rocprofiler_query_buffer_tracing_kind_operation_name,
        rocprofiler_iterate_buffer_tracing_kinds,
        rocprofiler_iterate_buffer_tracing_kind_operations);
}
}  // namespace sdk
}  // namespace rocprofiler

#endif
