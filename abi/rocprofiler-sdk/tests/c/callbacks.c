/* Callback tracing of ROCTx: phases, arguments, results, the tool's own values, nesting, stopping, pausing. */
static void make_services(void);
#define TOOL_INITIALIZE make_services
#include "tool.h"

#define ENTER ROCPROFILER_CALLBACK_PHASE_ENTER
#define EXIT ROCPROFILER_CALLBACK_PHASE_EXIT

/* The content of one call of the callback. */
typedef struct {
    rocprofiler_callback_tracing_record_t record;
    rocprofiler_callback_tracing_marker_api_data_t payload;
    uint64_t user_data;
    /* The arguments as texts, separated by commas. */
    char arguments[200];
    char message[32];
} call_t;

enum { MOST = 64 };

/* A context, and the calls of its callback. */
typedef struct {
    rocprofiler_context_id_t context;
    call_t calls[MOST];
    int count;
    /* What the callback does. */
    void (*act)(const rocprofiler_callback_tracing_record_t *record);
} traced_t;

static traced_t all, ranges, pushes, control, ordered;
/* In which order contexts were called. */
static char order[16];

static int visit(rocprofiler_callback_tracing_kind_t kind, rocprofiler_tracing_operation_t operation, uint32_t number,
                 const void *const value, int32_t indirections, const char *type, const char *name, const char *text,
                 int32_t dereferences, void *data)
{
    call_t *call = (call_t *)data;
    char argument[100];
    CHECK(kind == call->record.kind && operation == call->record.operation);
    CHECK(value == (const char *)call->record.payload + 8 + 8 * number);
    snprintf(argument, sizeof argument, "%s%u %s %s=%s %d %d", number > 0 ? ", " : "", number, type, name, text,
             indirections, dereferences);
    strcat(call->arguments, argument);
    return 0;
}

static void note(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    traced_t *traced = (traced_t *)data;
    CHECK(record.context_id.handle == traced->context.handle && user_data != NULL);
    if (traced->act != NULL)
        traced->act(&record);
    if (traced->count == MOST)
        return;
    call_t *call = &traced->calls[traced->count++];
    call->record = record;
    memcpy(&call->payload, record.payload, sizeof call->payload);
    CHECK(call->payload.size == sizeof call->payload);
    call->user_data = user_data->value;
    user_data->value = (uint64_t)traced->count;
    call->arguments[0] = '\0';
    OK(rocprofiler_iterate_callback_tracing_kind_operation_args(record, visit, 2, call));
    if (record.kind == ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_RANGE_API && record.operation <= 2)
        strcpy(call->message, call->payload.args.roctxThreadRangeA.message);
}

static void note_order(rocprofiler_callback_tracing_record_t record, rocprofiler_user_data_t *user_data, void *data)
{
    (void)user_data;
    if (strlen(order) + 2 < sizeof order) {
        strcat(order, (const char *)data);
        strcat(order, record.phase == ENTER ? "+" : "-");
    }
}

static void trace(traced_t *traced, rocprofiler_callback_tracing_kind_t kind)
{
    OK(rocprofiler_configure_callback_tracing_service(traced->context, kind, NULL, 0, note, traced));
}

static void switch_others(const rocprofiler_callback_tracing_record_t *record)
{
    if (record->operation == ROCPROFILER_MARKER_CONTROL_API_ID_roctxProfilerPause && record->phase == ENTER)
        OK(rocprofiler_stop_context(pushes.context));
    if (record->operation == ROCPROFILER_MARKER_CONTROL_API_ID_roctxProfilerResume && record->phase == EXIT)
        OK(rocprofiler_start_context(pushes.context));
}

static void make_services(void)
{
    static char a[] = "a", b[] = "b";
    const rocprofiler_tracing_operation_t operations[1] = {ROCPROFILER_MARKER_CORE_API_ID_roctxRangePushA};
    all.context = new_context();
    trace(&all, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API);
    trace(&all, ROCPROFILER_CALLBACK_TRACING_MARKER_CONTROL_API);
    trace(&all, ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API);
    ranges.context = new_context();
    trace(&ranges, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_RANGE_API);
    pushes.context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(pushes.context, ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API,
                                                      operations, 1, note, &pushes));
    control.context = new_context();
    control.act = switch_others;
    trace(&control, ROCPROFILER_CALLBACK_TRACING_MARKER_CONTROL_API);
    ordered.context = new_context();
    OK(rocprofiler_configure_callback_tracing_service(ordered.context, ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API,
                                                      NULL, 0, note_order, a));
    rocprofiler_context_id_t second = new_context();
    OK(rocprofiler_configure_callback_tracing_service(second, ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, NULL, 0,
                                                      note_order, b));
    OK(rocprofiler_start_context(second));
}

/* Begins to trace a context anew. */
static void start(traced_t *traced)
{
    traced->count = 0;
    OK(rocprofiler_start_context(traced->context));
}

/* Checks the two callbacks of a call, and returns that of its end. */
static const call_t *pair(traced_t *traced, int index, int32_t operation, const char *arguments)
{
    const call_t *enter = &traced->calls[index], *leave = &traced->calls[index + 1];
    CHECK(index + 1 < traced->count);
    CHECK(enter->record.phase == ENTER && leave->record.phase == EXIT);
    CHECK(enter->record.operation == operation && leave->record.operation == operation);
    CHECK(enter->record.thread_id == own_thread() && leave->record.thread_id == own_thread());
    CHECK(enter->record.correlation_id.internal > 0);
    CHECK(enter->record.correlation_id.internal == leave->record.correlation_id.internal);
    CHECK(enter->user_data == 0 && leave->user_data == (uint64_t)index + 1);
    CHECK(enter->payload.retval.int64_t_retval == 0);
    CHECK(memcmp(&enter->payload.args, &leave->payload.args, sizeof enter->payload.args) == 0);
    if (strcmp(leave->arguments, arguments) != 0)
        fprintf(stderr, "%s instead of %s\n", leave->arguments, arguments);
    CHECK(strcmp(leave->arguments, arguments) == 0);
    return leave;
}

/* Each function: its arguments, as they are and as texts, and its result. */
static void check_functions(void)
{
    char text[2][100];
    roctx_thread_id_t thread = 0;
    const struct hsa_agent_s *agent = (const struct hsa_agent_s *)0x1230;
    const struct ihipStream_t *stream = (const struct ihipStream_t *)0x4560;
    start(&all);
    roctxMarkA("hello");
    roctxMarkA(NULL);
    int level = roctxRangePushA("outer");
    roctxRangePushA("inner");
    roctxRangePop();
    roctxRangePop();
    roctxRangePop();
    roctx_range_id_t range = roctxRangeStartA("range");
    roctxRangeStop(range);
    roctxGetThreadId(&thread);
    roctxProfilerPause(7);
    roctxProfilerResume(8);
    roctxNameOsThread("main");
    roctxNameHsaAgent("agent", agent);
    roctxNameHipDevice("device", -3);
    roctxNameHipStream("stream", stream);
    OK(rocprofiler_stop_context(all.context));
    CHECK(all.count == 32 && level == 0 && range > 0);

    CHECK(pair(&all, 0, 0, "0 PKc message=hello 1 0")->payload.retval.int64_t_retval == 0);
    CHECK(strcmp(all.calls[0].payload.args.roctxMarkA.message, "hello") == 0);
    pair(&all, 2, 0, "0 PKc message=(null) 1 0");
    CHECK(pair(&all, 4, 1, "0 PKc message=outer 1 0")->payload.retval.int32_t_retval == 0);
    CHECK(pair(&all, 6, 1, "0 PKc message=inner 1 0")->payload.retval.int32_t_retval == 1);
    CHECK(pair(&all, 8, 2, "")->payload.retval.int32_t_retval == 1);
    CHECK(pair(&all, 10, 2, "")->payload.retval.int32_t_retval == 0);
    CHECK(pair(&all, 12, 2, "")->payload.retval.int32_t_retval == -1);
    CHECK(pair(&all, 14, 3, "0 PKc message=range 1 0")->payload.retval.roctx_range_id_t_retval == range);
    snprintf(text[0], sizeof text[0], "0 m id=%" PRIu64 " 0 0", range);
    CHECK(pair(&all, 16, 4, text[0])->payload.retval.int64_t_retval == 0);
    CHECK(all.calls[16].payload.args.roctxRangeStop.id == range);
    snprintf(text[0], sizeof text[0], "0 Pm tid=%" PRIu64 " 1 1", thread);
    pair(&all, 18, 5, text[0]);
    CHECK(all.calls[18].payload.args.roctxGetThreadId.tid == &thread);
    CHECK(strcmp(all.calls[18].arguments, "0 Pm tid=0 1 1") == 0);
    pair(&all, 20, 0, "0 m tid=7 0 0");
    CHECK(all.calls[20].record.kind == ROCPROFILER_CALLBACK_TRACING_MARKER_CONTROL_API);
    pair(&all, 22, 1, "0 m tid=8 0 0");
    CHECK(all.calls[22].payload.args.roctxProfilerResume.tid == 8);
    pair(&all, 24, 0, "0 PKc name=main 1 0");
    CHECK(all.calls[24].record.kind == ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API);
    pair(&all, 26, 1, "0 PKc name=agent 1 0, 1 PK11hsa_agent_s agent=0x1230 1 0");
    CHECK(all.calls[26].payload.args.roctxNameHsaAgent.agent == agent);
    pair(&all, 28, 2, "0 PKc name=device 1 0, 1 i device_id=-3 0 0");
    CHECK(all.calls[28].payload.args.roctxNameHipDevice.device_id == -3);
    pair(&all, 30, 3, "0 PKc name=stream 1 0, 1 PK12ihipStream_t stream=0x4560 1 0");
    for (int i = 2; i < all.count; i += 2)
        CHECK(all.calls[i].record.correlation_id.internal > all.calls[i - 1].record.correlation_id.internal);
}

/* If there are two contexts, the one that was created first is called first, at the beginning and at the end. */
static void check_order(void)
{
    order[0] = '\0';
    start(&ordered);
    roctxNameOsThread("main");
    OK(rocprofiler_stop_context(ordered.context));
    CHECK(strcmp(order, "a+b+a-b-") == 0);
}

/* A range's end has the message of its beginning, though the program changed it. */
static void check_ranges(void)
{
    char message[] = "thread range", text[100];
    roctx_thread_id_t thread = 0;
    start(&ranges);
    roctxMarkA("mark");
    roctxRangePushA(message);
    message[0] = '\0';
    roctx_range_id_t range = roctxRangeStartA("process range");
    roctxRangePop();
    roctxRangeStop(range);
    roctxGetThreadId(&thread);
    roctxRangePop();
    OK(rocprofiler_stop_context(ranges.context));
    CHECK(ranges.count == 8);
    pair(&ranges, 0, 0, "0 PKc message=mark 1 0");
    /* Push, start, pop, stop. */
    const call_t *calls = &ranges.calls[2];
    CHECK(calls[0].record.phase == ENTER && calls[1].record.phase == ENTER);
    CHECK(calls[2].record.phase == EXIT && calls[3].record.phase == EXIT);
    for (int i = 0; i < 2; i++) {
        CHECK(calls[i].record.operation == 1 + i && calls[i + 2].record.operation == 1 + i);
        CHECK(calls[i].record.correlation_id.internal == calls[i + 2].record.correlation_id.internal);
        CHECK(calls[i + 2].user_data == (uint64_t)i + 3);
        CHECK(strcmp(calls[i].message, i == 0 ? "thread range" : "process range") == 0);
        CHECK(strcmp(calls[i + 2].message, calls[i].message) == 0);
        CHECK(strcmp(calls[i + 2].arguments, calls[i].arguments) == 0);
    }
    CHECK(calls[2].payload.retval.int32_t_retval == 0);
    CHECK(calls[3].payload.retval.roctx_range_id_t_retval == range);
    snprintf(text, sizeof text, "0 Pm tid=%" PRIu64 " 1 1", thread);
    pair(&ranges, 6, 3, text);
}

static void stop_at_enter(const rocprofiler_callback_tracing_record_t *record)
{
    if (record->phase == ENTER)
        OK(rocprofiler_stop_context(all.context));
}

/* If the beginning was reported, the end is also reported. */
static void check_stopped_between(void)
{
    all.act = stop_at_enter;
    start(&all);
    roctxMarkA("stops");
    roctxMarkA("not told");
    all.act = NULL;
    CHECK(all.count == 2);
    pair(&all, 0, 0, "0 PKc message=stops 1 0");
}

/* A separate context switches another one, as the samples do. */
static void check_pause(void)
{
    int active = 7;
    start(&control);
    start(&pushes);
    roctxRangePushA("told");
    roctxProfilerPause(0);
    OK(rocprofiler_context_is_active(pushes.context, &active));
    CHECK(active == 0);
    roctxRangePushA("not told");
    roctxProfilerResume(0);
    roctxRangePushA("told again");
    for (int i = 0; i < 3; i++)
        roctxRangePop();
    OK(rocprofiler_stop_context(pushes.context));
    OK(rocprofiler_stop_context(control.context));
    CHECK(pushes.count == 4 && control.count == 4);
    pair(&pushes, 0, 1, "0 PKc message=told 1 0");
    pair(&pushes, 2, 1, "0 PKc message=told again 1 0");
}

static int nested;

static void nest(const rocprofiler_callback_tracing_record_t *record)
{
    if (record->operation == ROCPROFILER_MARKER_CORE_API_ID_roctxRangePushA && record->phase == ENTER && nested++ == 0)
        roctxMarkA("nested");
}

/* A call that a callback makes is reported, too, with the call that it is part of. */
static void check_nested(void)
{
    all.act = nest;
    start(&all);
    roctxRangePushA("outer");
    roctxRangePop();
    OK(rocprofiler_stop_context(all.context));
    all.act = NULL;
    CHECK(all.count == 6);
    const call_t *inner = &all.calls[0], *outer = &all.calls[2], *after = &all.calls[4];
    CHECK(inner->record.operation == ROCPROFILER_MARKER_CORE_API_ID_roctxMarkA);
    CHECK(inner->record.correlation_id.ancestor == outer->record.correlation_id.internal);
    CHECK(inner->record.correlation_id.internal != outer->record.correlation_id.internal);
    CHECK(outer->record.correlation_id.ancestor == 0 && after->record.correlation_id.ancestor == 0);
}

static void name_device(const rocprofiler_callback_tracing_record_t *record)
{
    roctxNameHipDevice("in a range's callback", record->phase == ENTER);
}

/*
 * What a range's callbacks call is part of the range, as is the function that begins or ends it. What is called between
 * is not.
 */
static void check_nested_in_ranges(void)
{
    const struct {
        /* Of a pair of callbacks: its function, and the range that it is in. */
        rocprofiler_callback_tracing_kind_t kind;
        int32_t operation;
        int range;
    } expected[] = {
        {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 2, 0}, {ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, 1, 0},
        {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 0, -1}, {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 2, 1},
        {ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, 3, 1}, {ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, 2, 0},
        {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 2, 0}, {ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, 4, 1},
        {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 2, 1}, {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 2, 2},
        {ROCPROFILER_CALLBACK_TRACING_MARKER_CORE_API, 0, 2}, {ROCPROFILER_CALLBACK_TRACING_MARKER_NAME_API, 2, 2}};
    const int count = sizeof expected / sizeof *expected;
    /* The callbacks of the ranges: thread and process begin, thread and process end, mark begins and ends. */
    static const int begin_of[3] = {0, 1, 4};
    ranges.act = name_device;
    start(&ranges);
    start(&all);
    roctxRangePushA("thread");
    roctxNameOsThread("between");
    roctx_range_id_t range = roctxRangeStartA("process");
    roctxRangePop();
    roctxRangeStop(range);
    roctxMarkA("mark");
    OK(rocprofiler_stop_context(all.context));
    OK(rocprofiler_stop_context(ranges.context));
    ranges.act = NULL;
    CHECK(ranges.count == 6 && all.count == 2 * count);
    for (int i = 0; i < ranges.count; i++)
        CHECK(ranges.calls[i].record.correlation_id.ancestor == 0);
    for (int i = 0; i < all.count; i++) {
        const rocprofiler_callback_tracing_record_t *call = &all.calls[i].record;
        const int in = expected[i / 2].range;
        CHECK(call->kind == expected[i / 2].kind && call->operation == expected[i / 2].operation);
        CHECK(call->phase == (i % 2 == 0 ? ENTER : EXIT));
        CHECK(call->correlation_id.ancestor ==
              (in < 0 ? 0 : ranges.calls[begin_of[in]].record.correlation_id.internal));
    }
}

static long recursions;

static void recurse(const rocprofiler_callback_tracing_record_t *record)
{
    (void)record;
    recursions++;
    roctxMarkA("again");
}

/* A callback that always makes the call that it is called for does not recurse forever. */
static void check_recursion(void)
{
    all.act = recurse;
    start(&all);
    roctxMarkA("endless");
    OK(rocprofiler_stop_context(all.context));
    all.act = NULL;
    CHECK(recursions > 2);
    start(&all);
    roctxMarkA("as before");
    OK(rocprofiler_stop_context(all.context));
    CHECK(all.count == 2);
}

static int stop_iteration(rocprofiler_callback_tracing_kind_t kind, rocprofiler_tracing_operation_t operation,
                          uint32_t number, const void *const value, int32_t indirections, const char *type,
                          const char *name, const char *text, int32_t dereferences, void *data)
{
    (void)kind, (void)operation, (void)number, (void)value, (void)indirections, (void)type, (void)name;
    (void)dereferences;
    strcat((char *)data, text);
    return 1;
}

static void iterate(const rocprofiler_callback_tracing_record_t *given)
{
    rocprofiler_callback_tracing_record_t record = *given;
    char text[100] = "";
    if (record.operation == ROCPROFILER_MARKER_CORE_API_ID_roctxGetThreadId) {
        /* A pointer to a number that is not to be followed is shown as one. */
        OK(rocprofiler_iterate_callback_tracing_kind_operation_args(record, stop_iteration, 0, text));
        CHECK(strncmp(text, "0x", 2) == 0);
        return;
    }
    OK(rocprofiler_iterate_callback_tracing_kind_operation_args(record, stop_iteration, 0, text));
    CHECK(strcmp(text, "first") == 0);
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_iterate_callback_tracing_kind_operation_args(record, NULL, 0, NULL));
    record.operation = 99;
    OK(rocprofiler_iterate_callback_tracing_kind_operation_args(record, stop_iteration, 0, text));
    record.operation = -1;
    OK(rocprofiler_iterate_callback_tracing_kind_operation_args(record, stop_iteration, 0, text));
    const struct {
        int kind;
        rocprofiler_status_t status;
    } others[] = {{ROCPROFILER_CALLBACK_TRACING_NONE, ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT},
                  {ROCPROFILER_CALLBACK_TRACING_LAST, ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT},
                  {ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT, ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED},
                  {ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH, ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED},
                  {ROCPROFILER_CALLBACK_TRACING_RCCL_API, ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED},
                  {ROCPROFILER_CALLBACK_TRACING_ROCJPEG_API, ROCPROFILER_STATUS_ERROR_NOT_IMPLEMENTED},
                  {ROCPROFILER_CALLBACK_TRACING_HSA_CORE_API, ROCPROFILER_STATUS_SUCCESS},
                  {ROCPROFILER_CALLBACK_TRACING_HIP_RUNTIME_API, ROCPROFILER_STATUS_SUCCESS}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        record.kind = (rocprofiler_callback_tracing_kind_t)others[i].kind;
        CHECK(rocprofiler_iterate_callback_tracing_kind_operation_args(record, stop_iteration, 0, text) ==
              others[i].status);
    }
    CHECK(strcmp(text, "first") == 0);
}

static void check_iteration(void)
{
    roctx_thread_id_t thread = 0;
    all.act = iterate;
    start(&all);
    roctxNameHipDevice("first", 2);
    roctxGetThreadId(&thread);
    OK(rocprofiler_stop_context(all.context));
    all.act = NULL;
}

int main(void)
{
    begin();
    order[0] = '\0';
    check_functions();
    check_order();
    check_ranges();
    check_stopped_between();
    check_pause();
    check_nested();
    check_nested_in_ranges();
    check_recursion();
    check_iteration();
    return 0;
}
