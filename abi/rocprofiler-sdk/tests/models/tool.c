/*
 * A tool that traces everything that models do, with buffers and with callbacks, and writes a line for each record and
 * each callback to the file that the variable TOOL_LOG names. A line is a list of fields, separated by tabs: first its
 * kind, then key=value. Lines of callbacks begin with "call_". It is compiled as C and as C++, as a shared library or
 * with a program.
 *
 * Macros that tests define:
 *   NAME          a name for its lines
 *   FORCED        the program passes tool_configure to rocprofiler_force_configure
 *   SERVICES      which services there are: 1 buffers, 2 callbacks, 3 both (if not defined)
 *   EXTERNAL      gives each dispatch an external correlation id: 1000 and its internal id
 *   IN_CALLBACKS  the program has tool_called, which each callback calls
 *   STOP_AFTER    stops its context in the callback for the end of this dispatch
 *   RETURNS_NULL  has no interest
 *   THROWS        throws: 1 while it is configured, 2 while it is initialized, 3 in each callback (C++)
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tool.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#define NAME "tool"
#endif
#ifndef SERVICES
#define SERVICES 3
#endif
#ifndef THROWS
#define THROWS 0
#endif

#define ID(number) ((unsigned long long)(number))
#define TRACE "\tthread=%llu\tinternal=%llu\texternal=%llu"

static rocprofiler_context_id_t context;
static rocprofiler_buffer_id_t  buffer;

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...)
{
    static FILE*           output;
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    va_list                arguments;
    pthread_mutex_lock(&turn);
    if(output == NULL)
    {
        const char* path = getenv("TOOL_LOG");
        output           = path ? fopen(path, "a") : stderr;
        if(output == NULL) abort();
        setvbuf(output, NULL, _IOLBF, 1 << 16);
    }
    va_start(arguments, format);
    vfprintf(output, format, arguments);
    va_end(arguments);
    fputs("\tby=" NAME "\n", output);
    pthread_mutex_unlock(&turn);
}

#define OK(call) check((call), #call)
static void check(rocprofiler_status_t status, const char* call)
{
    if(status == ROCPROFILER_STATUS_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", call, rocprofiler_get_status_string(status));
    abort();
}

static void say_dispatch_info(const char* what, const char* before, const rocprofiler_kernel_dispatch_info_t* info)
{
    say("%s\tkernel=%llu\tdispatch=%llu\tagent=%llu\tqueue=%llu\tx=%u\ty=%u\tz=%u\tworkgroup=%u,%u,%u%s", what,
        ID(info->kernel_id), ID(info->dispatch_id), ID(info->agent_id.handle), ID(info->queue_id.handle),
        info->grid_size.x, info->grid_size.y, info->grid_size.z, info->workgroup_size.x, info->workgroup_size.y,
        info->workgroup_size.z, before);
}

/* Returns the fields that records and callbacks share. */
static const char* shared(char* text, size_t size, uint64_t thread, uint64_t internal, uint64_t external, uint64_t start,
                          uint64_t end)
{
    snprintf(text, size, TRACE "\tstart=%llu\tend=%llu", ID(thread), ID(internal), ID(external), ID(start), ID(end));
    return text;
}

static void on_record(const rocprofiler_record_header_t* header)
{
    char text[256];
    if(header->category != ROCPROFILER_BUFFER_CATEGORY_TRACING) abort();
    if(header->kind == ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH)
    {
        const rocprofiler_buffer_tracing_kernel_dispatch_record_t* record =
            (const rocprofiler_buffer_tracing_kernel_dispatch_record_t*) header->payload;
        if(record->size != sizeof *record || record->operation != ROCPROFILER_KERNEL_DISPATCH_COMPLETE) abort();
        say_dispatch_info("dispatch",
                          shared(text, sizeof text, record->thread_id, record->correlation_id.internal,
                                 record->correlation_id.external.value, record->start_timestamp, record->end_timestamp),
                          &record->dispatch_info);
    }
    else if(header->kind == ROCPROFILER_BUFFER_TRACING_MEMORY_COPY)
    {
        const rocprofiler_buffer_tracing_memory_copy_record_t* record =
            (const rocprofiler_buffer_tracing_memory_copy_record_t*) header->payload;
        if(record->size != sizeof *record) abort();
        say("copy\toperation=%d\tto=%llu\tfrom=%llu\tbytes=%llu%s", (int) record->operation,
            ID(record->dst_agent_id.handle), ID(record->src_agent_id.handle), ID(record->bytes),
            shared(text, sizeof text, record->thread_id, record->correlation_id.internal,
                   record->correlation_id.external.value, record->start_timestamp, record->end_timestamp));
    }
    else if(header->kind == ROCPROFILER_BUFFER_TRACING_MEMORY_ALLOCATION)
    {
        const rocprofiler_buffer_tracing_memory_allocation_record_t* record =
            (const rocprofiler_buffer_tracing_memory_allocation_record_t*) header->payload;
        if(record->size != sizeof *record) abort();
        say("allocation\toperation=%d\tagent=%llu\taddress=%llu\tbytes=%llu%s", (int) record->operation,
            ID(record->agent_id.handle), ID(record->address.value), ID(record->allocation_size),
            shared(text, sizeof text, record->thread_id, record->correlation_id.internal,
                   record->correlation_id.external.value, record->start_timestamp, record->end_timestamp));
    }
    else if(header->kind == ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT)
    {
        const rocprofiler_buffer_tracing_correlation_id_retirement_record_t* record =
            (const rocprofiler_buffer_tracing_correlation_id_retirement_record_t*) header->payload;
        if(record->size != sizeof *record) abort();
        say("retired\tinternal=%llu\ttime=%llu", ID(record->internal_correlation_id), ID(record->timestamp));
    }
    else if(header->kind == ROCPROFILER_BUFFER_TRACING_RUNTIME_INITIALIZATION)
    {
        const rocprofiler_buffer_tracing_runtime_initialization_record_t* record =
            (const rocprofiler_buffer_tracing_runtime_initialization_record_t*) header->payload;
        if(record->size != sizeof *record) abort();
        say("runtime\toperation=%d\tversion=%llu\tinstance=%llu\ttime=%llu" TRACE, (int) record->operation,
            ID(record->version), ID(record->instance), ID(record->timestamp), ID(record->thread_id),
            ID(record->correlation_id.internal), ID(record->correlation_id.external.value));
    }
    else if(header->kind == ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API)
    {
        const rocprofiler_buffer_tracing_marker_api_record_t* record =
            (const rocprofiler_buffer_tracing_marker_api_record_t*) header->payload;
        say("marker\toperation=%d%s", (int) record->operation,
            shared(text, sizeof text, record->thread_id, record->correlation_id.internal,
                   record->correlation_id.external.value, record->start_timestamp, record->end_timestamp));
    }
    else
    {
        abort();
    }
}

static void on_batch(rocprofiler_context_id_t of, rocprofiler_buffer_id_t from, rocprofiler_record_header_t** headers,
                     size_t count, void* data, uint64_t dropped)
{
    if(of.handle != context.handle || from.handle != buffer.handle || data != &buffer || count == 0) abort();
    for(size_t index = 0; index < count; index++)
        on_record(headers[index]);
    say("batch\trecords=%zu\tdropped=%llu", count, ID(dropped));
}

static void on_callback(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t* own, void* data)
{
    char text[256];
    if(record.context_id.handle != context.handle || data != &context) abort();
#ifdef IN_CALLBACKS
    tool_called(&record);
#endif
#if defined(__cplusplus) && THROWS == 3
    throw 7;
#endif
    const char* const phases[] = {"none", "enter", "exit"};
    const char*       phase    = phases[record.phase];
    /* The data that a tool stores is available in the next phase. */
    if(record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER)
        own->value = record.correlation_id.internal + 5;
    else if(record.phase == ROCPROFILER_CALLBACK_PHASE_EXIT && own->value != record.correlation_id.internal + 5)
        abort();
    if(record.kind == ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH)
    {
        const rocprofiler_callback_tracing_kernel_dispatch_data_t* dispatch =
            (const rocprofiler_callback_tracing_kernel_dispatch_data_t*) record.payload;
        char what[64];
        snprintf(what, sizeof what, "call_dispatch\toperation=%d\tphase=%s", (int) record.operation, phase);
        say_dispatch_info(what,
                          shared(text, sizeof text, record.thread_id, record.correlation_id.internal,
                                 record.correlation_id.external.value, dispatch->start_timestamp,
                                 dispatch->end_timestamp),
                          &dispatch->dispatch_info);
#ifdef STOP_AFTER
        if(record.operation == ROCPROFILER_KERNEL_DISPATCH_COMPLETE && dispatch->dispatch_info.dispatch_id == STOP_AFTER)
            OK(rocprofiler_stop_context(context));
#endif
    }
    else if(record.kind == ROCPROFILER_CALLBACK_TRACING_MEMORY_COPY)
    {
        const rocprofiler_callback_tracing_memory_copy_data_t* copy =
            (const rocprofiler_callback_tracing_memory_copy_data_t*) record.payload;
        say("call_copy\tphase=%s\toperation=%d\tto=%llu\tfrom=%llu\tbytes=%llu%s", phase, (int) record.operation,
            ID(copy->dst_agent_id.handle), ID(copy->src_agent_id.handle), ID(copy->bytes),
            shared(text, sizeof text, record.thread_id, record.correlation_id.internal,
                   record.correlation_id.external.value, copy->start_timestamp, copy->end_timestamp));
    }
    else if(record.kind == ROCPROFILER_CALLBACK_TRACING_MEMORY_ALLOCATION)
    {
        const rocprofiler_callback_tracing_memory_allocation_data_t* memory =
            (const rocprofiler_callback_tracing_memory_allocation_data_t*) record.payload;
        say("call_allocation\tphase=%s\toperation=%d\tagent=%llu\taddress=%llu\tbytes=%llu%s", phase,
            (int) record.operation, ID(memory->agent_id.handle), ID(memory->address.value), ID(memory->allocation_size),
            shared(text, sizeof text, record.thread_id, record.correlation_id.internal,
                   record.correlation_id.external.value, memory->start_timestamp, memory->end_timestamp));
    }
    else if(record.kind == ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT &&
            record.operation == ROCPROFILER_CODE_OBJECT_LOAD)
    {
        const rocprofiler_callback_tracing_code_object_load_data_t* object =
            (const rocprofiler_callback_tracing_code_object_load_data_t*) record.payload;
        say("call_object\tphase=%s\tobject=%llu\tagent=%llu\tstorage=%d\tsize=%llu\turi=%s" TRACE, phase,
            ID(object->code_object_id), ID(object->agent_id.handle), (int) object->storage_type, ID(object->load_size),
            object->uri, ID(record.thread_id), ID(record.correlation_id.internal), ID(record.correlation_id.external.value));
    }
    else if(record.kind == ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT)
    {
        const rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t* symbol =
            (const rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t*) record.payload;
        if(record.operation != ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER) abort();
        say("call_symbol\tphase=%s\tobject=%llu\tkernel=%llu\tname=%s", phase, ID(symbol->code_object_id),
            ID(symbol->kernel_id), symbol->kernel_name);
    }
    else if(record.kind == ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION)
    {
        const rocprofiler_callback_tracing_runtime_initialization_data_t* runtime =
            (const rocprofiler_callback_tracing_runtime_initialization_data_t*) record.payload;
        say("call_runtime\tphase=%s\toperation=%d\tversion=%llu\tinstance=%llu", phase, (int) record.operation,
            ID(runtime->version), ID(runtime->instance));
    }
    else
    {
        abort();
    }
}

static rocprofiler_status_t on_agents(rocprofiler_agent_version_t version, const void** agents, size_t count, void* data)
{
    if(version != ROCPROFILER_AGENT_INFO_VERSION_0 || data != &context) abort();
    for(size_t index = 0; index < count; index++)
    {
        const rocprofiler_agent_v0_t* agent = (const rocprofiler_agent_v0_t*) agents[index];
        say("agent\tid=%llu\ttype=%d\tname=%s", ID(agent->id.handle), (int) agent->type, agent->name);
    }
    return ROCPROFILER_STATUS_SUCCESS;
}

#ifdef EXTERNAL
static int on_request(rocprofiler_thread_id_t thread, rocprofiler_context_id_t of,
                      rocprofiler_external_correlation_id_request_kind_t kind, rocprofiler_tracing_operation_t operation,
                      uint64_t internal, rocprofiler_user_data_t* external, void* data)
{
    if(of.handle != context.handle || kind != ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH) abort();
    if(thread == 0 || operation != ROCPROFILER_KERNEL_DISPATCH_ENQUEUE || external->value != 0 || data != &context) abort();
    external->value = 1000 + internal;
    return 0;
}
#endif

static int initialize(rocprofiler_client_finalize_t finalize, void* data)
{
    if(finalize == NULL || data != &context) abort();
    say("initialize");
    OK(rocprofiler_query_available_agents(ROCPROFILER_AGENT_INFO_VERSION_0, on_agents, sizeof(rocprofiler_agent_v0_t),
                                          &context));
    OK(rocprofiler_create_context(&context));
    OK(rocprofiler_create_buffer(context, 8192, 4096, ROCPROFILER_BUFFER_POLICY_LOSSLESS, on_batch, &buffer, &buffer));
    const rocprofiler_buffer_tracing_kind_t buffered[] = {
        ROCPROFILER_BUFFER_TRACING_KERNEL_DISPATCH,           ROCPROFILER_BUFFER_TRACING_MEMORY_COPY,
        ROCPROFILER_BUFFER_TRACING_MEMORY_ALLOCATION,         ROCPROFILER_BUFFER_TRACING_RUNTIME_INITIALIZATION,
        ROCPROFILER_BUFFER_TRACING_CORRELATION_ID_RETIREMENT, ROCPROFILER_BUFFER_TRACING_MARKER_CORE_API,
    };
    for(size_t index = 0; (SERVICES & 1) && index < sizeof buffered / sizeof *buffered; index++)
        OK(rocprofiler_configure_buffer_tracing_service(context, buffered[index], NULL, 0, buffer));
    const rocprofiler_callback_tracing_kind_t called[] = {
        ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH,   ROCPROFILER_CALLBACK_TRACING_MEMORY_COPY,
        ROCPROFILER_CALLBACK_TRACING_MEMORY_ALLOCATION, ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT,
        ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION,
    };
    for(size_t index = 0; (SERVICES & 2) && index < sizeof called / sizeof *called; index++)
        OK(rocprofiler_configure_callback_tracing_service(context, called[index], NULL, 0, on_callback, &context));
#ifdef EXTERNAL
    const rocprofiler_external_correlation_id_request_kind_t dispatches =
        ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH;
    OK(rocprofiler_configure_external_correlation_id_request_service(context, &dispatches, 1, on_request, &context));
#endif
#if defined(__cplusplus) && THROWS == 2
    throw "initialization";
#endif
    OK(rocprofiler_start_context(context));
    return 0;
}

static void finalize(void* data)
{
    if(data != &context) abort();
    OK(rocprofiler_flush_buffer(buffer));
    say("finalize");
}

void tool_start(void)
{
    OK(rocprofiler_start_context(context));
}

void tool_stop(void)
{
    OK(rocprofiler_stop_context(context));
}

void tool_flush(void)
{
    OK(rocprofiler_flush_buffer(buffer));
}

void tool_say(const char* text)
{
    say("%s", text);
}

rocprofiler_tool_configure_result_t* tool_configure(uint32_t version, const char* text, uint32_t priority,
                                                    rocprofiler_client_id_t* id)
{
    static rocprofiler_tool_configure_result_t result;
    if(id->size != sizeof *id || id->name != NULL || id->handle == 0) abort();
    id->name = NAME;
    say("configure\tversion=%u\ttext=%s\tpriority=%u", version, text, priority);
#if defined(__cplusplus) && THROWS == 1
    throw "configuration";
#endif
#ifdef RETURNS_NULL
    if(priority != ~0u) return NULL;
#endif
    result.size       = sizeof result;
    result.initialize = initialize;
    result.finalize   = finalize;
    result.tool_data  = &context;
    return &result;
}

#ifndef FORCED
rocprofiler_tool_configure_result_t* rocprofiler_configure(uint32_t version, const char* text, uint32_t priority,
                                                           rocprofiler_client_id_t* id)
{
    return tool_configure(version, text, priority, id);
}
#endif
