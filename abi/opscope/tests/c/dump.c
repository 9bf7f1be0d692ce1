/* Dumps: every output by a callback, the same in a directory, selections, answers, reports. Arguments: the model,
 * its input, an empty directory. */
#include "check.h"

#include <math.h>

struct seen {
    uint64_t begun, pieces, bytes, ended, closed, broken;
    uint64_t tensor_bytes, offset;
    int32_t answer;
    double sum;
    opscope_dumper_t dumper;
    opscope_status_t finish_inside, finish_in_run_ended, finish_in_closed;
};

static int32_t begin(const opscope_stream_t *stream, void *user)
{
    struct seen *seen = (struct seen *)user;
    CHECK(stream->size >= sizeof *stream);
    seen->begun++;
    seen->tensor_bytes = stream->bytes;
    seen->offset = 0;
    if (seen->begun <= 3 && seen->answer == OPSCOPE_CONTINUE)
        printf("run %lld %s (%s) output %u = %s, %s, rank %u, %llu bytes\n", (long long)stream->run,
               stream->operator_name, stream->operator_type, stream->slot, stream->value,
               opscope_dtype_name(stream->dtype), stream->rank, (unsigned long long)stream->bytes);
    return OPSCOPE_CONTINUE;
}

static int32_t piece(const opscope_stream_t *stream, const opscope_piece_t *piece, void *user)
{
    struct seen *seen = (struct seen *)user;
    CHECK(piece->size == sizeof *piece && piece->offset == seen->offset);
    seen->pieces++;
    seen->bytes += piece->bytes;
    seen->offset += piece->bytes;
    CHECK(piece->last == (seen->offset == seen->tensor_bytes));
    if (stream->dtype == OPSCOPE_FLOAT32) {
        const float *elements = (const float *)piece->data;
        for (size_t i = 0; i < piece->bytes / sizeof(float); i++)
            seen->sum += fabs((double)elements[i]);
    }
    if (seen->dumper.id != 0)
        seen->finish_inside = opscope_dumper_finish(seen->dumper, NULL);
    return seen->answer;
}

static void broken(const opscope_stream_t *stream, const char *reason, void *user)
{
    (void)stream;
    (void)reason;
    ((struct seen *)user)->broken++;
}

static int32_t run_ended(uint64_t run, void *user)
{
    struct seen *seen = (struct seen *)user;
    (void)run;
    seen->ended++;
    if (seen->dumper.id != 0)
        seen->finish_in_run_ended = opscope_dumper_finish(seen->dumper, NULL);
    return OPSCOPE_CONTINUE;
}

static void closed(void *user)
{
    struct seen *seen = (struct seen *)user;
    seen->closed++;
    if (seen->dumper.id != 0)
        seen->finish_in_closed = opscope_dumper_finish(seen->dumper, NULL);
}

static opscope_sink_t sink_of(struct seen *seen)
{
    opscope_sink_t sink;
    memset(&sink, 0, sizeof sink);
    sink.size = sizeof sink;
    sink.begin = begin;
    sink.piece = piece;
    sink.broken = broken;
    sink.run_ended = run_ended;
    sink.closed = closed;
    sink.user = seen;
    return sink;
}

static opscope_status_t run(opscope_session_t session, opscope_dumper_t dumper, const float *pixels)
{
    const opscope_tensor_t input = input_of(pixels);
    opscope_instruments_t instruments;
    memset(&instruments, 0, sizeof instruments);
    instruments.size = sizeof instruments;
    instruments.dumper = dumper;
    return opscope_session_run(session, &input, 1, &instruments, NULL);
}

/* Objects are numbered as they are made. A report that is not taken is not kept, because it could not be freed. */
static void leave_report(void)
{
    opscope_dumper_t dumper;
    opscope_dump_report_t before, after;
    OK(opscope_dumper_create(&dumper));
    OK(opscope_dumper_finish(dumper, &before));
    OK(opscope_dumper_finish(dumper, NULL));
    OK(opscope_dumper_finish(dumper, &after));
    CHECK(after.id == before.id + 1);
    OK(opscope_dump_report_free(before));
    OK(opscope_dump_report_free(after));
    OK(opscope_dumper_free(dumper));
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    leave_report();
    opscope_session_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.fidelity = OPSCOPE_EXACT;
    opscope_session_t session;
    OK(opscope_session_load(argv[1], &options, &session));
    float *pixels = image(argv[2]);

    /* Dumps everything to a callback and to a directory at the same time. */
    struct seen all;
    memset(&all, 0, sizeof all);
    opscope_dumper_t dumper;
    OK(opscope_dumper_create(&dumper));
    opscope_sink_t sink = sink_of(&all);
    opscope_dump_request_t request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.session = session;
    request.piece_size = 1024;
    OK(opscope_dumper_subscribe(dumper, &request, &sink, NULL));
    char path[4096];
    snprintf(path, sizeof path, "%s/dump", argv[3]);
    OK(opscope_dumper_subscribe_directory(dumper, NULL, session, path, NULL, NULL));
    OK(run(session, dumper, pixels));
    OK(run(session, dumper, pixels));
    opscope_dump_report_t report;
    OK(opscope_dumper_finish(dumper, &report));
    opscope_dump_counts_t counts;
    counts.size = sizeof counts;
    OK(opscope_dump_report_counts(report, &counts));
    CHECK(counts.complete == 1 && counts.missing == 0 && counts.errors == 0);
    CHECK(counts.tensors == 2 * all.begun && counts.bytes == 2 * all.bytes);
    CHECK(all.ended == 2 && all.closed == 1 && all.broken == 0 && all.pieces > all.begun);
    printf("%llu tensors, %llu bytes, sum of magnitudes %.1f\n", (unsigned long long)all.begun,
           (unsigned long long)all.bytes, all.sum);
    OK(opscope_dump_report_free(report));
    IS(opscope_dump_report_counts(report, &counts), OPSCOPE_ERROR_INVALID_HANDLE);

    /* A selection, delivered while the run waits; the sink may not end its own dumper. */
    struct seen some;
    memset(&some, 0, sizeof some);
    some.dumper = dumper;
    some.answer = OPSCOPE_SKIP;
    sink = sink_of(&some);
    const char *types[1] = {"Conv"};
    request.types = types;
    request.type_count = 1;
    request.delivery = OPSCOPE_DIRECT;
    opscope_subscription_t subscription;
    OK(opscope_dumper_subscribe(dumper, &request, &sink, &subscription));
    OK(run(session, dumper, pixels));
    CHECK(some.begun == 3 && some.pieces == 3 && some.finish_inside == OPSCOPE_ERROR_BUSY);
    OK(opscope_dumper_unsubscribe(subscription, NULL));
    IS(opscope_dumper_unsubscribe(subscription, NULL), OPSCOPE_ERROR_INVALID_HANDLE);
    CHECK(some.closed == 1);
    CHECK(some.finish_in_run_ended == OPSCOPE_ERROR_BUSY && some.finish_in_closed == OPSCOPE_ERROR_BUSY);
    OK(run(session, dumper, pixels));
    CHECK(some.begun == 3);

    /* A sink stops. The report names the tensors that it did not receive. */
    struct seen stops;
    memset(&stops, 0, sizeof stops);
    stops.answer = OPSCOPE_STOP;
    sink = sink_of(&stops);
    OK(opscope_dumper_subscribe(dumper, &request, &sink, &subscription));
    OK(run(session, dumper, pixels));
    IS(opscope_dumper_unsubscribe(subscription, &report), OPSCOPE_ERROR_INCOMPLETE);
    OK(opscope_dump_report_counts(report, &counts));
    CHECK(counts.complete == 0 && counts.missing == 3 && counts.named == 3);
    opscope_stream_t missing;
    missing.size = sizeof missing;
    const char *reason;
    OK(opscope_dump_report_missing(report, 2, &missing, &reason));
    printf("missing: %s of %s: %s\n", missing.value, missing.operator_name, reason);
    IS(opscope_dump_report_missing(report, 3, &missing, &reason), OPSCOPE_ERROR_NOT_FOUND);
    for (size_t i = 0; i < counts.errors; i++)
        printf("error: %s\n", opscope_dump_report_error(report, i));
    CHECK(opscope_dump_report_error(report, counts.errors) == NULL);
    OK(opscope_dump_report_free(report));

    /* A sink that stops may stop the run, too. */
    OK(opscope_dumper_subscribe(dumper, NULL, &sink, &subscription));
    OK(opscope_dumper_finish(dumper, NULL));
    IS(opscope_dumper_unsubscribe(subscription, NULL), OPSCOPE_ERROR_INVALID_HANDLE);
    request.stops_run = 1;
    OK(opscope_dumper_subscribe(dumper, &request, &sink, &subscription));
    IS(run(session, dumper, pixels), OPSCOPE_ERROR_STOPPED);
    IS(opscope_dumper_unsubscribe(subscription, NULL), OPSCOPE_ERROR_INCOMPLETE);

    /* Requests that are refused. They leave no directory. */
    snprintf(path, sizeof path, "%s/wrong", argv[3]);
    request.io = 99;
    IS(opscope_dumper_subscribe_directory(dumper, &request, session, path, NULL, NULL),
       OPSCOPE_ERROR_INVALID_ARGUMENT);
    CHECK(fopen(path, "r") == NULL);
    snprintf(path, sizeof path, "%s/dump", argv[3]);
    request.io = OPSCOPE_OUTPUTS;
    const char *names[1] = {"/conv1/Conf"};
    request.operators = names;
    request.operator_count = 1;
    IS(opscope_dumper_subscribe(dumper, &request, &sink, NULL), OPSCOPE_ERROR_NOT_FOUND);
    SAYS("/conv1/Conv");
    request.session.id = 0;
    request.operators = NULL;
    IS(opscope_dumper_subscribe(dumper, &request, &sink, NULL), OPSCOPE_ERROR_INVALID_ARGUMENT);
    request.operator_count = 0;
    request.runs = "5-2";
    IS(opscope_dumper_subscribe(dumper, &request, &sink, NULL), OPSCOPE_ERROR_INVALID_ARGUMENT);
    request.runs = NULL;
    sink.piece = NULL;
    IS(opscope_dumper_subscribe(dumper, &request, &sink, NULL), OPSCOPE_ERROR_INVALID_ARGUMENT);
    IS(opscope_dumper_subscribe_directory(dumper, NULL, session, path, NULL, NULL), OPSCOPE_ERROR_SYSTEM);
    IS(opscope_dumper_subscribe_directory(dumper, NULL, session, argv[3], "npz", NULL),
       OPSCOPE_ERROR_INVALID_ARGUMENT);
    SAYS("npy, ascend, statistics");

    OK(opscope_dumper_free(dumper));
    OK(opscope_session_free(session));
    free(pixels);
    return 0;
}
