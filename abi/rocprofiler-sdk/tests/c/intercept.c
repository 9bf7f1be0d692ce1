/* Intercept tables: a tool sees the live tables of a runtime, already wrapped, and may wrap them itself. */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

#include <rocprofiler-sdk-roctx/api_trace.h>

static char order[64];
static roctxCoreApiTable_t *core;
static void (*inner_mark)(const char *);
static int data[3];
static rocprofiler_context_id_t context;

static void note(const char *text)
{
    CHECK(strlen(order) + strlen(text) < sizeof order);
    strcat(order, text);
}

static void mark(const char *message)
{
    note("<");
    inner_mark(message);
    note(">");
}

static void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *unused)
{
    (void)user_data, (void)unused;
    if (record.kind == ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION) {
        const rocprofiler_callback_tracing_runtime_initialization_data_t *runtime =
            (const rocprofiler_callback_tracing_runtime_initialization_data_t *)record.payload;
        CHECK(record.phase == ROCPROFILER_CALLBACK_PHASE_NONE && record.correlation_id.internal == 0);
        CHECK(record.operation == ROCPROFILER_RUNTIME_INITIALIZATION_MARKER && record.thread_id == own_thread());
        CHECK(runtime->size == sizeof *runtime && runtime->version == 10000 && runtime->instance == 0);
        note("runtime ");
    } else {
        note(record.phase == ROCPROFILER_CALLBACK_PHASE_ENTER ? "(" : ")");
    }
}

static void check_table(rocprofiler_intercept_table_t type, uint64_t version, uint64_t instance, void **tables,
                        uint64_t count)
{
    CHECK(version == 10000 && instance == 0 && count == 1 && tables != NULL);
    uint64_t size = *(const uint64_t *)tables[0];
    CHECK(size == (type == ROCPROFILER_MARKER_CORE_TABLE      ? sizeof(roctxCoreApiTable_t)
                   : type == ROCPROFILER_MARKER_CONTROL_TABLE ? sizeof(roctxControlApiTable_t)
                                                              : sizeof(roctxNameApiTable_t)));
}

static void see_all(rocprofiler_intercept_table_t type, uint64_t version, uint64_t instance, void **tables,
                    uint64_t count, void *given)
{
    char text[16];
    check_table(type, version, instance, tables, count);
    CHECK(given == (void *)&data[0]);
    snprintf(text, sizeof text, "%d ", (int)type);
    note(text);
}

static void change_core(rocprofiler_intercept_table_t type, uint64_t version, uint64_t instance, void **tables,
                        uint64_t count, void *given)
{
    check_table(type, version, instance, tables, count);
    CHECK(type == ROCPROFILER_MARKER_CORE_TABLE && given == (void *)&data[1]);
    note("changed ");
    core = (roctxCoreApiTable_t *)tables[0];
    inner_mark = core->roctxMarkA_fn;
    core->roctxMarkA_fn = mark;
}

static void see_two(rocprofiler_intercept_table_t type, uint64_t version, uint64_t instance, void **tables,
                    uint64_t count, void *given)
{
    char text[16];
    check_table(type, version, instance, tables, count);
    CHECK(given == (void *)&data[2]);
    snprintf(text, sizeof text, "also %d ", (int)type);
    note(text);
}

static void make_services(void)
{
    context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, NULL, 0,
                                                      called, NULL));
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION,
                                                      NULL,
                                                      0, called, NULL));
    OK(rocprofiler_start_context(context));
    OK(rocprofiler_at_intercept_table_registration(see_all, 0, &data[0]));
    OK(rocprofiler_at_intercept_table_registration(change_core, ROCPROFILER_MARKER_CORE_TABLE, &data[1]));
    OK(rocprofiler_at_intercept_table_registration(see_two,
                                                   ROCPROFILER_MARKER_CORE_TABLE | ROCPROFILER_MARKER_NAME_TABLE,
                                                   &data[2]));
    OK(rocprofiler_at_intercept_table_registration(NULL, 0, NULL));
    OK(rocprofiler_at_intercept_table_registration(change_core, ROCPROFILER_HSA_TABLE | ROCPROFILER_RCCL_TABLE, NULL));
}

int main(void)
{
    begin();
    CHECK(strcmp(order, "runtime 8 changed also 8 16 32 also 32 ") == 0);
    order[0] = '\0';
    roctxMarkA("through both");
    CHECK(strcmp(order, "<()>") == 0);
    /* The tool's wrapper stays in the table when nothing is traced. */
    OK(rocprofiler_stop_context(context));
    roctxMarkA("through the tool's own");
    CHECK(strcmp(order, "<()><>") == 0 && core->roctxMarkA_fn == mark);
    return 0;
}
