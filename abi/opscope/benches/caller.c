/* A program in C that calls libopscope, for the benchmark c_api. */
#include "opscope.h"

#include <stdlib.h>
#include <string.h>

static opscope_buffer_t buffer;
static opscope_session_t session;
static opscope_dumper_t dumper;
static uint64_t delivered, pieces, bytes;

static void count_records(const opscope_batch_t *batch, void *user)
{
    (void)user;
    delivered += batch->records;
}

static int32_t count_pieces(const opscope_stream_t *stream, const opscope_piece_t *piece, void *user)
{
    (void)stream;
    (void)user;
    pieces++;
    bytes += piece->bytes;
    return OPSCOPE_CONTINUE;
}

int caller_begin_records(void)
{
    opscope_buffer_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.watermark = 8 << 20;
    return opscope_buffer_create(&options, count_records, NULL, &buffer);
}

/* Emits records with their timestamps, and returns how many were refused. */
uint64_t caller_emit(uint64_t first, uint64_t count)
{
    uint64_t refused = 0;
    for (uint64_t i = 0; i < count; i++) {
        opscope_dispatch_record_t record;
        memset(&record, 0, sizeof record);
        record.run = first + i;
        record.kernel = (uint32_t)(first + i);
        record.start = opscope_ticks();
        record.end = record.start;
        refused += opscope_buffer_emit(buffer, OPSCOPE_CATEGORY, OPSCOPE_OPERATOR_DISPATCH, &record, sizeof record) !=
                   OPSCOPE_OK;
    }
    return refused;
}

int caller_flush(void)
{
    return opscope_buffer_flush(buffer);
}

uint64_t caller_delivered(void)
{
    return delivered;
}

int caller_load(const char *path, size_t piece_size)
{
    opscope_session_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.fidelity = OPSCOPE_EXACT;
    opscope_status_t status = opscope_session_load(path, &options, &session);
    if (status != OPSCOPE_OK)
        return status;
    opscope_dump_request_t request;
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.delivery = OPSCOPE_DIRECT;
    request.piece_size = piece_size;
    opscope_sink_t sink;
    memset(&sink, 0, sizeof sink);
    sink.size = sizeof sink;
    sink.piece = count_pieces;
    status = opscope_dumper_create(&dumper);
    return status != OPSCOPE_OK ? status : opscope_dumper_subscribe(dumper, &request, &sink, NULL);
}

/* Runs the model once, with the dumper, and returns the status. */
int caller_dump(const opscope_tensor_t *inputs, size_t count)
{
    opscope_instruments_t instruments;
    memset(&instruments, 0, sizeof instruments);
    instruments.size = sizeof instruments;
    instruments.dumper = dumper;
    return opscope_session_run(session, inputs, count, &instruments, NULL);
}

uint64_t caller_pieces(void)
{
    return pieces;
}

uint64_t caller_bytes(void)
{
    return bytes;
}
