// A tool whose objects have destructors. Some are global, and some are created in its functions at the first call. It
// uses all of them in its last flush and in its finalization, which come before any destructor. host.c uses ROCTx.
#include "sdk.h"

#include <string>
#include <vector>

namespace
{
struct list
{
    explicit list(const char* what) : name{what} {}
    ~list()
    {
        printf("destroyed: %s\n", name);
        name = nullptr;
    }
    void add(const std::string& text)
    {
        CHECK(name != nullptr);
        texts.push_back(text);
    }

    const char*              name;
    std::vector<std::string> texts;
};

list marks{"of the library"};

list& of_the_initialization()
{
    static list made{"of the initialization"};
    return made;
}

list& of_the_call()
{
    static list made{"of a tracing callback"};
    return made;
}

list& of_the_batch()
{
    static list made{"of a buffer's callback"};
    return made;
}

rocprofiler_context_id_t context;
rocprofiler_buffer_id_t  buffer;
bool                     is_called = false, is_delivered = false;

void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t*, void*)
{
    if(record.phase != ROCPROFILER_CALLBACK_PHASE_EXIT) return;
    auto* payload = static_cast<rocprofiler_callback_tracing_marker_api_data_t*>(record.payload);
    marks.add(payload->args.roctxMarkA.message);
    of_the_call().add("a mark");
    // The record of the first mark is delivered here, and that of the second at the end.
    if(is_called) OK(rocprofiler_flush_buffer(buffer));
    is_called = true;
}

void take(rocprofiler_context_id_t, rocprofiler_buffer_id_t, rocprofiler_record_header_t**, size_t count, void*, uint64_t)
{
    for(size_t i = 0; i < count; ++i)
        of_the_batch().add("a record");
    of_the_initialization().add("a batch");
    if(is_delivered)
        printf("the last flush: %zu marks, the first is %s, %zu records, %zu batches, %zu calls\n", marks.texts.size(),
               marks.texts.at(0).c_str(), of_the_batch().texts.size(), of_the_initialization().texts.size(),
               of_the_call().texts.size());
    is_delivered = true;
}

int initialize(rocprofiler_client_finalize_t, void*)
{
    CHECK(of_the_initialization().texts.empty());
    const rocprofiler_tracing_operation_t mark = ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA;
    context = new_context();
    buffer = new_buffer(context, 4096, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, take, nullptr);
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, &mark, 1,
                                                      called, nullptr));
    OK(rocprofiler_configure_buffer_tracing_service(context, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API, &mark, 1, buffer));
    OK(rocprofiler_start_context(context));
    return 0;
}

void finalize(void*)
{
    marks.add("the end");
    of_the_initialization().add("the end");
    of_the_call().add("the end");
    of_the_batch().add("the end");
    printf("finalized\n");
}
}  // namespace

extern "C" rocprofiler_tool_configure_result_t* rocprofiler_configure(uint32_t, const char*, uint32_t,
                                                                      rocprofiler_client_id_t*)
{
    static rocprofiler_tool_configure_result_t result{sizeof result, initialize, finalize, nullptr};
    return &result;
}
