/*
 * Registering runtimes: tables that are too few, too many, unknown, older, without functions, and two runtimes at once.
 */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

#include <rocprofiler-sdk-roctx/api_trace.h>

static int calls, marks[2], instances;

static void mark_of_first(const char *message)
{
    (void)message;
    marks[0]++;
}

static void mark_of_second(const char *message)
{
    (void)message;
    marks[1]++;
}

static int name_thread(const char *name)
{
    return (int)strlen(name);
}

static void called(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data, (void)data;
    if (record.kind == ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION)
        CHECK(((const rocprofiler_callback_tracing_runtime_initialization_data_t *)record.payload)->instance ==
              (uint64_t)instances++);
    else
        calls++;
}

static void make_services(void)
{
    rocprofiler_context_id_t context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, NULL, 0,
                                                      called, NULL));
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, NULL, 0,
                                                      called, NULL));
    OK(rocprofiler_configure_callback_tracing_service(context, ROCPROFILER_CALLBACK_TRACING_RUNTIME_INITIALIZATION,
                                                      NULL,
                                                      0, called, NULL));
    OK(rocprofiler_start_context(context));
}

static roctxCoreApiTable_t first_core, second_core;
static roctxControlApiTable_t control, second_control;
static roctxNameApiTable_t names, second_names;

static int enroll(const char *name, uint64_t instance, void *core_, void *control_, void *names_, uint64_t count)
{
    void *tables[4] = {core_, control_, names_, core_};
    return rocprofiler_set_api_table(name, 10000, instance, tables, count);
}

/* Runtimes whose calls are not traced keep the functions that they have. */
static void check_others(void)
{
    static const char *const others[] = {"hsa", "hip", "hip_compiler", "rccl", "rocdecode", "rocjpeg"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        void *table[4], *before[4];
        for (int j = 0; j < 4; j++)
            before[j] = &calls;
        memcpy(table, before, sizeof table);
        void *tables[2] = {table, NULL};
        CHECK(rocprofiler_set_api_table(others[i], 10000, 0, tables, 1) == 0);
        CHECK(memcmp(table, before, sizeof table) == 0 && tables[0] == (void *)table);
        CHECK(initialized() == 1 && instances == 0);
    }
}

int main(void)
{
    const int invalid = ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT;
    first_core.size = second_core.size = sizeof first_core;
    control.size = second_control.size = sizeof control;
    /* Of an older runtime, which has the first function only. */
    names.size = second_names.size = 16;
    first_core.roctxMarkA_fn = mark_of_first;
    second_core.roctxMarkA_fn = mark_of_second;
    names.roctxNameOsThread_fn = name_thread;

    CHECK(enroll("nothing", 0, &first_core, &control, &names, 3) == invalid);
    CHECK(enroll("unknown", 0, &first_core, &control, &names, 3) == invalid);
    CHECK(enroll(NULL, 0, &first_core, &control, &names, 3) == invalid);
    CHECK(enroll("roctx", 0, &first_core, &control, &names, 0) == invalid);
    CHECK(enroll("roctx", 0, &first_core, &control, &names, 2) == invalid);
    CHECK(enroll("roctx", 0, &first_core, NULL, &names, 3) == invalid);
    CHECK(rocprofiler_set_api_table("roctx", 10000, 0, NULL, 3) == invalid);
    CHECK(first_core.roctxMarkA_fn == mark_of_first && instances == 0 && initialized() == 0);
    check_others();

    CHECK(enroll("roctx", 0, &first_core, &control, &names, 3) == 0);
    CHECK(initialized() == 1 && instances == 1);
    CHECK(first_core.roctxMarkA_fn != mark_of_first);
    /* No context traces the first function, and the runtime's table ends before the second one. */
    CHECK(control.roctxProfilerPause_fn == NULL && names.roctxNameHsaAgent_fn == NULL);
    first_core.roctxMarkA_fn("traced");
    CHECK(marks[0] == 1 && calls == 2);
    CHECK(names.roctxNameOsThread_fn("four") == 4 && calls == 4);
    /* If the runtime has no function, the call is traced and returns 0. */
    CHECK(first_core.roctxRangePushA_fn("nothing below") == 0 && calls == 6);

    /* A second runtime's calls are traced; all call the functions of the first. */
    CHECK(enroll("roctx", 1, &second_core, &second_control, &second_names, 4) == 0);
    CHECK(instances == 2);
    second_core.roctxMarkA_fn("of the second");
    CHECK(marks[0] == 2 && marks[1] == 0 && calls == 8);

    /* The same tables again are wrapped once. */
    instances = 0;
    CHECK(enroll("roctx", 0, &first_core, &control, &names, 3) == 0);
    first_core.roctxMarkA_fn("once");
    CHECK(marks[0] == 3 && calls == 10);
    return 0;
}
