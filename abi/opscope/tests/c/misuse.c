/* Wrong calls, and the statuses that they return. Argument: the model. */
#include "check.h"

static void no_batch(const opscope_batch_t *batch, void *user)
{
    (void)batch;
    (void)user;
}

static int32_t no_piece(const opscope_stream_t *stream, const opscope_piece_t *piece, void *user)
{
    (void)stream;
    (void)piece;
    (void)user;
    return 0;
}

/* Every function that takes a handle, with one that was freed or never set. */
static void invalid_handles(uint64_t id)
{
    opscope_session_t session;
    opscope_tensors_t tensors;
    opscope_buffer_t buffer;
    opscope_context_t context;
    opscope_callback_thread_t thread;
    opscope_dumper_t dumper;
    opscope_subscription_t subscription;
    opscope_dump_report_t report;
    opscope_profiler_t profiler;
    opscope_debugger_t debugger;
    opscope_server_t server;
    opscope_attachment_t attachment;
    session.id = tensors.id = buffer.id = context.id = thread.id = dumper.id = subscription.id = report.id = id;
    profiler.id = debugger.id = server.id = attachment.id = id;
    const opscope_status_t no = OPSCOPE_ERROR_INVALID_HANDLE;
    opscope_session_info_t info;
    info.size = sizeof info;
    opscope_value_t value;
    value.size = sizeof value;
    opscope_operator_t op;
    op.size = sizeof op;
    opscope_tensor_t tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.size = sizeof tensor;
    tensor.dtype = OPSCOPE_FLOAT32;
    tensor.bytes = 4;
    tensor.data = &value;
    opscope_event_t event;
    event.size = sizeof event;
    opscope_sink_t sink;
    memset(&sink, 0, sizeof sink);
    sink.size = sizeof sink;
    sink.piece = no_piece;
    opscope_breakpoint_t breakpoint;
    memset(&breakpoint, 0, sizeof breakpoint);
    breakpoint.size = sizeof breakpoint;
    breakpoint.target = "type:Conv";
    opscope_breakpoint_change_t change;
    memset(&change, 0, sizeof change);
    change.size = sizeof change;
    opscope_breakpoint_info_t breakpoint_info;
    breakpoint_info.size = sizeof breakpoint_info;
    opscope_buffer_statistics_t statistics;
    statistics.size = sizeof statistics;
    opscope_dump_counts_t counts;
    counts.size = sizeof counts;
    opscope_stream_t stream;
    stream.size = sizeof stream;
    const char *text;
    uint32_t number;
    int32_t descriptor;
    size_t count;

    IS(opscope_session_info(session, &info), no);
    IS(opscope_session_input(session, 0, &value), no);
    IS(opscope_session_output(session, 0, &value), no);
    IS(opscope_session_operator(session, 0, &op), no);
    IS(opscope_session_run(session, &tensor, 1, NULL, NULL), no);
    IS(opscope_session_free(session), no);
    CHECK(opscope_tensors_count(tensors) == 0);
    IS(opscope_tensors_get(tensors, 0, &tensor), no);
    IS(opscope_tensors_free(tensors), no);
    IS(opscope_buffer_emit(buffer, 7, 1, &value, 8), no);
    IS(opscope_buffer_flush(buffer), no);
    IS(opscope_buffer_flush_within(buffer, 1), no);
    IS(opscope_buffer_assign(buffer, thread), no);
    IS(opscope_buffer_statistics(buffer, &statistics), no);
    IS(opscope_buffer_kind_statistics(buffer, 1, 1, &statistics), no);
    IS(opscope_buffer_destroy(buffer), no);
    IS(opscope_callback_thread_free(thread), no);
    IS(opscope_context_configure(context, OPSCOPE_MARKER, NULL, 0, buffer), no);
    IS(opscope_context_start(context), no);
    IS(opscope_context_stop(context), no);
    IS(opscope_context_destroy(context), no);
    IS(opscope_dumper_subscribe(dumper, NULL, &sink, NULL), no);
    IS(opscope_dumper_subscribe_directory(dumper, NULL, session, "nowhere", NULL, NULL), no);
    IS(opscope_dumper_unsubscribe(subscription, NULL), no);
    IS(opscope_dumper_finish(dumper, NULL), no);
    IS(opscope_dumper_free(dumper), no);
    IS(opscope_dump_report_counts(report, &counts), no);
    IS(opscope_dump_report_missing(report, 0, &stream, &text), no);
    CHECK(opscope_dump_report_error(report, 0) == NULL);
    IS(opscope_dump_report_free(report), no);
    IS(opscope_profiler_create(session, "nowhere", NULL, &profiler), no);
    profiler.id = id;
    IS(opscope_profiler_finish(profiler), no);
    IS(opscope_debugger_load(debugger, session), no);
    IS(opscope_debugger_unload(debugger, session), no);
    IS(opscope_debugger_serve(debugger, NULL, &server), no);
    IS(opscope_debugger_attach(debugger, NULL, &attachment), no);
    IS(opscope_debugger_free(debugger), no);
    CHECK(opscope_server_path(server) == NULL);
    IS(opscope_server_free(server), no);
    IS(opscope_attachment_next_event(attachment, OPSCOPE_SYNC, &event), no);
    IS(opscope_attachment_acknowledge(attachment, 1, NULL), no);
    IS(opscope_attachment_acknowledge_all(attachment, &count), no);
    IS(opscope_attachment_renew(attachment, 1), no);
    IS(opscope_attachment_set_notification_callback(attachment, NULL, NULL), no);
    IS(opscope_attachment_descriptor(attachment, &descriptor), no);
    IS(opscope_attachment_subscribe(attachment, NULL, 0), no);
    IS(opscope_attachment_add_breakpoint(attachment, &breakpoint, &number), no);
    IS(opscope_attachment_change_breakpoint(attachment, 1, &change), no);
    IS(opscope_attachment_remove_breakpoint(attachment, 1), no);
    IS(opscope_attachment_breakpoint(attachment, 1, &breakpoint_info), no);
    IS(opscope_attachment_pause(attachment, OPSCOPE_NO_RUN, NULL), no);
    IS(opscope_attachment_tensor(attachment, 1, "input", &tensors), no);
    tensors.id = id;
    IS(opscope_attachment_replace(attachment, 1, "input", &tensor), no);
    IS(opscope_attachment_location(attachment, 1, &text), no);
    IS(opscope_attachment_status(attachment, &text), no);
    IS(opscope_attachment_detach(attachment), no);
    IS(opscope_attachment_free(attachment), no);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const opscope_status_t argument = OPSCOPE_ERROR_INVALID_ARGUMENT, size = OPSCOPE_ERROR_INVALID_SIZE;
    opscope_session_t session, other;

    /* Models that cannot be loaded. */
    IS(opscope_session_load(NULL, NULL, &session), argument);
    SAYS("path is NULL");
    IS(opscope_session_load(argv[1], NULL, NULL), argument);
    IS(opscope_session_load("no such file.onnx", NULL, &session), OPSCOPE_ERROR_MODEL);
    SAYS("no such file.onnx");
    IS(opscope_session_load_memory("garbage", 7, NULL, &session), OPSCOPE_ERROR_MODEL);
    IS(opscope_session_load_memory(NULL, 7, NULL, &session), argument);
    IS(opscope_session_load_memory(NULL, 0, NULL, &session), OPSCOPE_ERROR_MODEL);
    opscope_session_options_t options;
    memset(&options, 0, sizeof options);
    IS(opscope_session_load(argv[1], &options, &session), size);
    SAYS("sizeof(opscope_session_options_t)");
    options.size = sizeof options;
    options.threads = 100000;
    IS(opscope_session_load(argv[1], &options, &session), argument);
    SAYS("1024");
    options.threads = 0;
    options.fidelity = 2;
    IS(opscope_session_load(argv[1], &options, &session), argument);
    SAYS("opscope_fidelity_t");

    /* A struct of a newer header: what this library does not know must be zero. */
    struct {
        opscope_session_options_t known;
        uint64_t newer;
    } longer;
    memset(&longer, 0, sizeof longer);
    longer.known.size = sizeof longer;
    longer.newer = 1;
    IS(opscope_session_load(argv[1], &longer.known, &session), size);
    SAYS("newer library");
    longer.newer = 0;
    OK(opscope_session_load(argv[1], &longer.known, &session));
    struct {
        opscope_session_info_t known;
        uint64_t newer;
    } info;
    memset(&info, 0xff, sizeof info);
    info.known.size = sizeof info;
    OK(opscope_session_info(session, &info.known));
    CHECK(info.known.size == sizeof info && info.known.operators == 16 && info.newer == 0);
    info.known.size = sizeof(opscope_session_info_t) - 8;
    IS(opscope_session_info(session, &info.known), size);
    info.known.size = (size_t)-1;
    IS(opscope_session_info(session, &info.known), size);
    IS(opscope_session_info(session, NULL), argument);

    /* Inputs that do not fit. */
    const size_t dims[4] = {1, 1, 8, 8};
    float pixels[64] = {0};
    opscope_tensor_t input[2];
    memset(input, 0, sizeof input);
    for (int i = 0; i < 2; i++) {
        input[i].size = sizeof input[i];
        input[i].dtype = OPSCOPE_FLOAT32;
        input[i].dims = dims;
        input[i].rank = 4;
        input[i].data = pixels;
        input[i].bytes = sizeof pixels;
    }
    OK(opscope_session_run(session, input, 1, NULL, NULL));
    IS(opscope_session_run(session, input, 2, NULL, NULL), OPSCOPE_ERROR_INPUT);
    IS(opscope_session_run(session, NULL, 0, NULL, NULL), OPSCOPE_ERROR_INPUT);
    IS(opscope_session_run(session, NULL, 1, NULL, NULL), argument);
    input[1].size = 8;
    IS(opscope_session_run(session, input, 2, NULL, NULL), size);
    input[0].dtype = OPSCOPE_INT32;
    IS(opscope_session_run(session, input, 1, NULL, NULL), OPSCOPE_ERROR_INPUT);
    SAYS("float32");
    input[0].dtype = 99;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    input[0].dtype = OPSCOPE_FLOAT32;
    input[0].bytes = 8;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    input[0].bytes = sizeof pixels;
    input[0].dims = NULL;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    input[0].dims = dims;

    /* Numbers that no program can mean: nothing is read or allocated by them. */
    const size_t enormous[4] = {(size_t)1 << 42, 1, 8, 8};
    input[0].rank = (uint32_t)-1;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    SAYS("at most 128 dimensions");
    input[0].rank = 129;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    input[0].rank = 4;
    input[0].dims = enormous;
    input[0].bytes = (size_t)1 << 50;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    SAYS("no memory for a copy of data");
    input[0].dims = dims;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    input[0].bytes = (size_t)-1;
    IS(opscope_session_run(session, input, 1, NULL, NULL), argument);
    input[0].bytes = sizeof pixels;
    IS(opscope_session_run(session, input, (size_t)-1, NULL, NULL), argument);
    IS(opscope_session_run(session, input, (size_t)1 << 32, NULL, NULL), argument);
    IS(opscope_session_load_memory(pixels, (size_t)1 << 50, NULL, &other), argument);
    IS(opscope_session_load_memory(pixels, (size_t)-1, NULL, &other), argument);
    OK(opscope_session_run(session, input, 1, NULL, NULL));

    opscope_instruments_t instruments;
    memset(&instruments, 0, sizeof instruments);
    instruments.size = sizeof instruments;
    instruments.dumper.id = session.id;
    IS(opscope_session_run(session, input, 1, &instruments, NULL), OPSCOPE_ERROR_INVALID_HANDLE);
    SAYS("is not a dumper");

    /* Handles that were freed, never set, or never returned. */
    opscope_buffer_t buffer;
    OK(opscope_buffer_create(NULL, no_batch, NULL, &buffer));
    invalid_handles(0);
    SAYS("never set");
    invalid_handles(1u << 30);
    SAYS("ever returned");
    OK(opscope_session_free(session));
    invalid_handles(session.id);
    SAYS("freed");
    OK(opscope_session_load(argv[1], NULL, &other));
    CHECK(other.id != session.id);
    OK(opscope_session_free(other));

    /* Buffers, names and texts. */
    IS(opscope_buffer_create(NULL, NULL, NULL, &buffer), argument);
    SAYS("callback is NULL");
    IS(opscope_buffer_create(NULL, no_batch, NULL, NULL), argument);
    opscope_buffer_options_t buffer_options;
    memset(&buffer_options, 0, sizeof buffer_options);
    buffer_options.size = sizeof buffer_options;
    buffer_options.bytes = 100;
    buffer_options.watermark = 200;
    opscope_buffer_t none;
    IS(opscope_buffer_create(&buffer_options, no_batch, NULL, &none), argument);
    SAYS("watermark");
    buffer_options.watermark = 0;
    buffer_options.policy = 3;
    IS(opscope_buffer_create(&buffer_options, no_batch, NULL, &none), argument);
    IS(opscope_buffer_emit(buffer, 7, 1, NULL, 8), argument);
    IS(opscope_buffer_emit(buffer, 7, 1, pixels, 0), argument);
    IS(opscope_buffer_emit(buffer, 7, 1, pixels, (size_t)-1), argument);
    opscope_context_t context;
    IS(opscope_context_create(NULL), argument);
    OK(opscope_context_create(&context));
    const uint32_t operations[1] = {9};
    IS(opscope_context_configure(context, 99, NULL, 0, buffer), argument);
    IS(opscope_context_configure(context, OPSCOPE_MARKER, operations, 1, buffer), argument);
    IS(opscope_context_configure(context, OPSCOPE_MARKER, NULL, 1, buffer), argument);
    IS(opscope_context_configure(context, OPSCOPE_MARKER, operations, (size_t)1 << 32, buffer), argument);
    IS(opscope_context_configure(context, OPSCOPE_MARKER, operations, (size_t)-1, buffer), argument);
    OK(opscope_context_destroy(context));
    OK(opscope_buffer_destroy(buffer));
    IS(opscope_range_push(NULL), argument);
    IS(opscope_mark("\xff"), argument);
    SAYS("UTF-8");
    uint32_t number;
    IS(opscope_intern(NULL, &number), argument);
    IS(opscope_intern("name", NULL), argument);
    CHECK(opscope_name(0) == NULL && opscope_name(1u << 30) == NULL);
    CHECK(opscope_dtype_name(0) == NULL && opscope_kind_name(0) == NULL);
    CHECK(strcmp(opscope_status_text(99), "unknown status") == 0);
    IS(opscope_recording_export("nowhere", "perfetto"), OPSCOPE_ERROR_SYSTEM);
    IS(opscope_recording_export("nowhere", "pdf"), argument);
    SAYS("perfetto, chrome or csv");
    return 0;
}
