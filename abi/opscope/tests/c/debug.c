/* The debugger in the same process: a breakpoint with a condition, tensors that are read and replaced, steps, a skipped
 * operator, an aborted run, the server. Arguments: the model, its input, the path of a socket. */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>

struct program {
    opscope_session_t session;
    opscope_debugger_t debugger;
    const float *pixels;
    opscope_status_t status;
    int digit;
    char error[512];
};

static void *run(void *argument)
{
    struct program *program = (struct program *)argument;
    const opscope_tensor_t input = input_of(program->pixels);
    opscope_tensor_t output;
    opscope_instruments_t instruments;
    memset(&instruments, 0, sizeof instruments);
    instruments.size = sizeof instruments;
    instruments.debugger = program->debugger;
    opscope_tensors_t outputs;
    program->status = opscope_session_run(program->session, &input, 1, &instruments, &outputs);
    snprintf(program->error, sizeof program->error, "%s", opscope_error_text());
    if (program->status == OPSCOPE_OK) {
        output.size = sizeof output;
        OK(opscope_tensors_get(outputs, 0, &output));
        program->digit = 0;
        for (int i = 1; i < 10; i++)
            if (((const float *)output.data)[i] > ((const float *)output.data)[program->digit])
                program->digit = i;
        OK(opscope_tensors_free(outputs));
    }
    return NULL;
}

/* Waits for the next event of the sync queue. */
static opscope_event_t next(opscope_attachment_t attachment)
{
    int descriptor;
    OK(opscope_attachment_descriptor(attachment, &descriptor));
    opscope_event_t event;
    event.size = sizeof event;
    for (;;) {
        opscope_status_t status = opscope_attachment_next_event(attachment, OPSCOPE_SYNC, &event);
        if (status == OPSCOPE_OK)
            return event;
        CHECK(status == OPSCOPE_EMPTY);
        struct pollfd poll_for;
        poll_for.fd = descriptor;
        poll_for.events = POLLIN;
        poll_for.revents = 0;
        CHECK(poll(&poll_for, 1, 60 * 1000) == 1);
    }
}

/* Acknowledges events until one stops a run. */
static opscope_event_t stop(opscope_attachment_t attachment)
{
    for (;;) {
        opscope_event_t event = next(attachment);
        printf("%s\n", event.text);
        if (event.stop != OPSCOPE_NOT_STOPPED)
            return event;
        OK(opscope_attachment_acknowledge(attachment, event.sequence, NULL));
    }
}

static void look(const opscope_tensor_t *tensor, void *user)
{
    *(size_t *)user = tensor->bytes;
    CHECK(tensor->dtype == OPSCOPE_FLOAT32 && tensor->rank == 4);
}

static opscope_attachment_t used_at_the_end;
static opscope_status_t statuses_at_the_end[3];

/* Called when the thread ends, after everything that the thread keeps is gone. */
static void at_the_end(void *value)
{
    (void)value;
    const char *json;
    opscope_event_t event;
    event.size = sizeof event;
    statuses_at_the_end[0] = opscope_attachment_status(used_at_the_end, &json);
    statuses_at_the_end[1] = opscope_attachment_next_event(used_at_the_end, OPSCOPE_SYNC, &event);
    opscope_push_external(7);
    statuses_at_the_end[2] = opscope_pop_external(NULL);
}

static void *end(void *argument)
{
    const char *json;
    CHECK(pthread_setspecific(*(pthread_key_t *)argument, argument) == 0);
    OK(opscope_attachment_status(used_at_the_end, &json));
    opscope_event_t event;
    event.size = sizeof event;
    IS(opscope_attachment_next_event(used_at_the_end, OPSCOPE_SYNC, &event), OPSCOPE_EMPTY);
    OK(opscope_push_external(7));
    OK(opscope_pop_external(NULL));
    IS(opscope_pop_external(NULL), OPSCOPE_ERROR_INVALID_STATE);
    return NULL;
}

struct notified {
    opscope_attachment_t attachment;
    opscope_status_t status;
    sem_t called;
};

static void notified(void *user)
{
    struct notified *seen = (struct notified *)user;
    size_t count;
    if (seen->status != OPSCOPE_OK)
        return;
    seen->status = opscope_attachment_pause(seen->attachment, OPSCOPE_NO_RUN, &count);
    sem_post(&seen->called);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    struct program program;
    memset(&program, 0, sizeof program);
    opscope_session_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.fidelity = OPSCOPE_EXACT;
    OK(opscope_session_load(argv[1], &options, &program.session));
    float *pixels = image(argv[2]);
    program.pixels = pixels;
    OK(opscope_debugger_create(&program.debugger));
    OK(opscope_debugger_load(program.debugger, program.session));

    opscope_attach_options_t attach;
    memset(&attach, 0, sizeof attach);
    attach.size = sizeof attach;
    attach.name = "a test";
    opscope_attachment_t attachment, second;
    OK(opscope_debugger_attach(program.debugger, &attach, &attachment));
    IS(opscope_debugger_attach(program.debugger, &attach, &second), OPSCOPE_ERROR_INVALID_STATE);
    SAYS("a test");

    /* Breakpoints. */
    opscope_breakpoint_t breakpoint;
    memset(&breakpoint, 0, sizeof breakpoint);
    breakpoint.size = sizeof breakpoint;
    breakpoint.target = "/conv1/Conf";
    uint32_t number, after;
    IS(opscope_attachment_add_breakpoint(attachment, &breakpoint, &number), OPSCOPE_ERROR_NOT_FOUND);
    SAYS("/conv1/Conv");
    breakpoint.target = "/conv1/Conv";
    breakpoint.condition = "absmax(input";
    IS(opscope_attachment_add_breakpoint(attachment, &breakpoint, &number), OPSCOPE_ERROR_INVALID_ARGUMENT);
    breakpoint.condition = "absmax(input) > 0.1";
    OK(opscope_attachment_add_breakpoint(attachment, &breakpoint, &number));
    breakpoint.target = "type:Softmax";
    breakpoint.condition = NULL;
    breakpoint.moment = OPSCOPE_AFTER;
    breakpoint.disabled = 1;
    OK(opscope_attachment_add_breakpoint(attachment, &breakpoint, &after));

    /* Stop, look, step, and let the run continue. */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, &program) == 0);
    opscope_event_t event = stop(attachment);
    CHECK(event.kind == OPSCOPE_BREAKPOINT && event.breakpoint_count == 1 && event.breakpoints[0] == number);
    CHECK(event.moment == OPSCOPE_BEFORE && strcmp(event.operator_name, "/conv1/Conv") == 0 && event.run == 0);
    size_t bytes = 0;
    OK(opscope_attachment_look(attachment, event.sequence, "input[0]", look, &bytes));
    CHECK(bytes == 64 * sizeof(float));
    opscope_tensors_t tensors;
    opscope_tensor_t tensor;
    tensor.size = sizeof tensor;
    OK(opscope_attachment_tensor(attachment, event.sequence, "input", &tensors));
    OK(opscope_tensors_get(tensors, 0, &tensor));
    CHECK(memcmp(tensor.data, pixels, tensor.bytes) == 0);
    OK(opscope_tensors_free(tensors));
    IS(opscope_attachment_tensor(attachment, event.sequence, "output[0]", &tensors), OPSCOPE_ERROR_NOT_FOUND);
    const char *json;
    OK(opscope_attachment_location(attachment, event.sequence, &json));
    CHECK(strstr(json, "\"conv1.weight\"") != NULL);
    OK(opscope_attachment_status(attachment, &json));
    CHECK(strstr(json, "\"stopped\"") != NULL);
    opscope_breakpoint_info_t info;
    info.size = sizeof info;
    OK(opscope_attachment_breakpoint(attachment, number, &info));
    CHECK(info.hits == 1 && info.locations == 1 && info.moment == OPSCOPE_BEFORE && info.condition_failed == 0);
    OK(opscope_attachment_renew(attachment, event.sequence));
    opscope_resume_t resume;
    memset(&resume, 0, sizeof resume);
    resume.size = sizeof resume;
    resume.action = OPSCOPE_RESUME_STEP;
    OK(opscope_attachment_acknowledge(attachment, event.sequence, &resume));
    IS(opscope_attachment_acknowledge(attachment, event.sequence, &resume), OPSCOPE_ERROR_INVALID_STATE);
    event = stop(attachment);
    CHECK(event.kind == OPSCOPE_STEP_COMPLETE && event.operator_id == 1);
    resume.action = OPSCOPE_RESUME_UNTIL;
    resume.text = "/fc2/Gemm";
    OK(opscope_attachment_acknowledge(attachment, event.sequence, &resume));
    event = stop(attachment);
    CHECK(strcmp(event.operator_type, "Gemm") == 0);
    resume.action = OPSCOPE_RESUME_FINISH;
    OK(opscope_attachment_acknowledge(attachment, event.sequence, &resume));
    event = stop(attachment);
    CHECK(event.moment == OPSCOPE_AFTER);

    /* Replace the logits: the run computes another digit. */
    const float logits[10] = {0, 0, 0, 9, 0, 0, 0, 0, 0, 0};
    const size_t dims[2] = {1, 10};
    opscope_tensor_t replacement;
    memset(&replacement, 0, sizeof replacement);
    replacement.size = sizeof replacement;
    replacement.dtype = OPSCOPE_FLOAT32;
    replacement.dims = dims;
    replacement.rank = 2;
    replacement.data = logits;
    replacement.bytes = sizeof logits;
    OK(opscope_attachment_replace(attachment, event.sequence, "output", &replacement));
    replacement.dims = NULL;
    replacement.rank = 0;
    replacement.bytes = 4;
    IS(opscope_attachment_replace(attachment, event.sequence, "output", &replacement),
       OPSCOPE_ERROR_INVALID_ARGUMENT);
    size_t resumed;
    OK(opscope_attachment_acknowledge_all(attachment, &resumed));
    CHECK(resumed == 1);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(program.status);
    printf("digit %d\n", program.digit);
    CHECK(program.digit == 3);

    /* Change and remove breakpoints; abort a run. */
    const uint32_t no = 0;
    opscope_breakpoint_change_t change;
    memset(&change, 0, sizeof change);
    change.size = sizeof change;
    change.disabled = &no;
    OK(opscope_attachment_change_breakpoint(attachment, after, &change));
    OK(opscope_attachment_remove_breakpoint(attachment, number));
    IS(opscope_attachment_remove_breakpoint(attachment, number), OPSCOPE_ERROR_NOT_FOUND);
    CHECK(pthread_create(&thread, NULL, run, &program) == 0);
    event = stop(attachment);
    CHECK(event.breakpoints[0] == after && event.moment == OPSCOPE_AFTER);
    resume.action = OPSCOPE_RESUME_ABORT;
    resume.text = "one look is enough";
    OK(opscope_attachment_acknowledge(attachment, event.sequence, &resume));
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(program.status == OPSCOPE_ERROR_STOPPED);
    printf("%s\n", program.error);
    OK(opscope_attachment_remove_breakpoint(attachment, after));

    /* Calls while a thread ends. */
    pthread_key_t key;
    CHECK(pthread_key_create(&key, at_the_end) == 0);
    used_at_the_end = attachment;
    CHECK(pthread_create(&thread, NULL, end, &key) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(statuses_at_the_end[i] == OPSCOPE_ERROR_INVALID_STATE);

    /* A call from inside of the notification callback. */
    struct notified seen;
    seen.attachment = attachment;
    seen.status = OPSCOPE_OK;
    CHECK(sem_init(&seen.called, 0, 0) == 0);
    OK(opscope_attachment_set_notification_callback(attachment, notified, &seen));
    const uint32_t wanted[1] = {OPSCOPE_RUN_PUSHED};
    OK(opscope_attachment_subscribe(attachment, wanted, 1));
    CHECK(pthread_create(&thread, NULL, run, &program) == 0);
    CHECK(sem_wait(&seen.called) == 0);
    event = next(attachment);
    CHECK(event.kind == OPSCOPE_RUN_PUSHED);
    OK(opscope_attachment_acknowledge(attachment, event.sequence, NULL));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(opscope_attachment_set_notification_callback(attachment, NULL, NULL));
    CHECK(seen.status == OPSCOPE_ERROR_BUSY);

    OK(opscope_attachment_detach(attachment));
    IS(opscope_attachment_detach(attachment), OPSCOPE_ERROR_INVALID_STATE);
    do
        event = next(attachment);
    while (event.kind != OPSCOPE_DETACH_COMPLETE);
    OK(opscope_attachment_free(attachment));

    /* The server. */
    opscope_server_t server;
    OK(opscope_debugger_serve(program.debugger, argv[3], &server));
    CHECK(strcmp(opscope_server_path(server), argv[3]) == 0);
    opscope_server_t twice;
    IS(opscope_debugger_serve(program.debugger, argv[3], &twice), OPSCOPE_ERROR_SYSTEM);
    OK(opscope_server_free(server));
    CHECK(opscope_server_path(server) == NULL);
    CHECK(fopen(argv[3], "r") == NULL);

    OK(opscope_debugger_unload(program.debugger, program.session));
    IS(opscope_debugger_unload(program.debugger, program.session), OPSCOPE_ERROR_INVALID_STATE);
    OK(opscope_debugger_free(program.debugger));
    OK(opscope_session_free(program.session));
    free(pixels);
    return 0;
}
