#include <opscope.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a call fails. */
static void check(opscope_status_t status)
{
    if (status == OPSCOPE_OK)
        return;
    fprintf(stderr, "%s: %s\n", opscope_status_text(status), opscope_error_text());
    exit(1);
}

/* A picture of 8 x 8 pixels, and the model that reads the digit in it. */
static float pixels[64];
static const size_t dims[4] = {1, 1, 8, 8};
static opscope_session_t session;

static opscope_tensor_t picture(void)
{
    opscope_tensor_t tensor = {.size = sizeof tensor};
    tensor.dtype = OPSCOPE_FLOAT32;
    tensor.dims = dims;
    tensor.rank = 4;
    tensor.data = pixels;
    tensor.bytes = sizeof pixels;
    return tensor;
}

/* Load and run. */
static void load_and_run(const char *path)
{
    opscope_session_options_t options = {.size = sizeof options, .fidelity = OPSCOPE_EXACT};
    check(opscope_session_load(path, &options, &session));

    opscope_session_info_t info = {.size = sizeof info};
    check(opscope_session_info(session, &info));
    printf("%s: %zu operators, run by %s\n", info.name, info.operators, info.engine);

    opscope_tensor_t input = picture();
    opscope_tensors_t outputs;
    check(opscope_session_run(session, &input, 1, NULL, &outputs));

    opscope_tensor_t output = {.size = sizeof output};
    check(opscope_tensors_get(outputs, 0, &output));
    const float *probability = output.data;
    int digit = 0;
    for (int i = 1; i < 10; i++)
        if (probability[i] > probability[digit])
            digit = i;
    printf("%s: digit %d, probability %.3f\n", output.name, digit, probability[digit]);
    check(opscope_tensors_free(outputs));
}

/* Records by callback. */
static void on_records(const opscope_batch_t *batch, void *user)
{
    int *convolutions = user;
    opscope_record_t record = {.size = sizeof record};
    while (opscope_batch_next(batch, &record) == OPSCOPE_OK) {
        const opscope_dispatch_record_t *dispatch = record.payload;
        opscope_kernel_t kernel = {.size = sizeof kernel};
        check(opscope_kernel(dispatch->plan, dispatch->kernel, &kernel));
        if (strcmp(kernel.operator_type, "Conv") != 0)
            continue;
        uint64_t start = opscope_batch_nanoseconds(batch, dispatch->start);
        uint64_t end = opscope_batch_nanoseconds(batch, dispatch->end);
        printf("%s took %llu ns\n", kernel.operator_name, (unsigned long long)(end - start));
        ++*convolutions;
    }
}

static void records(void)
{
    int convolutions = 0;
    opscope_buffer_t buffer;
    check(opscope_buffer_create(NULL, on_records, &convolutions, &buffer));
    opscope_context_t context;
    check(opscope_context_create(&context));
    check(opscope_context_configure(context, OPSCOPE_OPERATOR_DISPATCH, NULL, 0, buffer));

    check(opscope_context_start(context));
    opscope_tensor_t input = picture();
    check(opscope_session_run(session, &input, 1, NULL, NULL));
    check(opscope_context_stop(context));

    check(opscope_buffer_flush(buffer)); /* everything is delivered when it returns */
    printf("%d kernels of convolutions\n", convolutions);
    check(opscope_context_destroy(context));
    check(opscope_buffer_destroy(buffer));
}

/* A dump by callback. */
static int32_t on_piece(const opscope_stream_t *stream, const opscope_piece_t *piece, void *user)
{
    (void)user;
    printf("%s = %s, %llu bytes, from byte %llu on:", stream->value, stream->operator_type,
           (unsigned long long)piece->bytes, (unsigned long long)piece->offset);
    for (int i = 0; i < 3; i++)
        printf(" %.3f", ((const float *)piece->data)[i]);
    printf(" ...\n");
    return OPSCOPE_CONTINUE;
}

static void dump(void)
{
    const char *types[] = {"Gemm", "Softmax"};
    opscope_dump_request_t request = {.size = sizeof request, .types = types, .type_count = 2, .session = session};
    opscope_sink_t sink = {.size = sizeof sink, .piece = on_piece};
    opscope_dumper_t dumper;
    check(opscope_dumper_create(&dumper));
    check(opscope_dumper_subscribe(dumper, &request, &sink, NULL));

    opscope_tensor_t input = picture();
    opscope_instruments_t instruments = {.size = sizeof instruments, .dumper = dumper};
    check(opscope_session_run(session, &input, 1, &instruments, NULL));

    check(opscope_dumper_finish(dumper, NULL)); /* OPSCOPE_ERROR_INCOMPLETE if anything is missing */
    check(opscope_dumper_free(dumper));
}

/* A breakpoint. */
static void *debugged_run(void *user)
{
    opscope_tensor_t input = picture();
    opscope_instruments_t instruments = {.size = sizeof instruments, .debugger = *(opscope_debugger_t *)user};
    if (opscope_session_run(session, &input, 1, &instruments, NULL) == OPSCOPE_ERROR_STOPPED)
        printf("%s\n", opscope_error_text());
    return NULL;
}

static void on_events(void *user)
{
    opscope_attachment_t attachment = *(opscope_attachment_t *)user;
    opscope_event_t event = {.size = sizeof event};
    while (opscope_attachment_next_event(attachment, OPSCOPE_SYNC, &event) == OPSCOPE_OK) {
        printf("%s\n", event.text);
        opscope_resume_t abort = {.size = sizeof abort, .action = OPSCOPE_RESUME_ABORT, .text = "seen enough"};
        check(opscope_attachment_acknowledge(attachment, event.sequence,
                                             event.kind == OPSCOPE_BREAKPOINT ? &abort : NULL));
    }
}

static void breakpoint(void)
{
    opscope_debugger_t debugger;
    check(opscope_debugger_create(&debugger));
    check(opscope_debugger_load(debugger, session)); /* so that breakpoints find their operators */
    opscope_attachment_t attachment;
    check(opscope_debugger_attach(debugger, NULL, &attachment));
    opscope_breakpoint_t relu = {.size = sizeof relu, .target = "type:Relu", .condition = "max(output) > 2"};
    uint32_t number;
    check(opscope_attachment_add_breakpoint(attachment, &relu, &number));
    check(opscope_attachment_set_notification_callback(attachment, on_events, &attachment));

    pthread_t thread;
    pthread_create(&thread, NULL, debugged_run, &debugger);
    pthread_join(thread, NULL);
    check(opscope_attachment_free(attachment));
    check(opscope_debugger_free(debugger));
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    FILE *file = fopen(argv[2], "rb"); /* an npy file: the data is at its end */
    if (!file || fseek(file, -(long)sizeof pixels, SEEK_END) || fread(pixels, sizeof pixels, 1, file) != 1)
        return 1;
    fclose(file);
    load_and_run(argv[1]);
    records();
    dump();
    breakpoint();
    check(opscope_session_free(session));
    return 0;
}
