/* A buffer in a file whose bytes are changed. The records before the damage are delivered, and then the damage is
   reported. Argument: the directory of the files, which OPSCOPE_ROCPROFILER_BUFFERS names. docs/records.md describes
   the layout. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <fcntl.h>
#include <unistd.h>

#define RECORDS 20
/* The layouts of a file and of a chunk, according to docs/records.md. */
#define HEAD 4096
#define STRIDE 32
#define COUNT 40
#define COMMITTED 0
#define DELIVERED 24
#define FIRST_HEADER 56
#define FIRST_RECORD 64

static int file;
static const char *text = "a mark";
static int records, batches;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    batches++;
    for (; begin < end; begin = after(begin, session, buffer)) {
        CHECK(TRACER(begin)->name != NULL && strcmp(TRACER(begin)->name, text) == 0);
        CHECK(TRACER(begin)->domain == ACTIVITY_DOMAIN_ROCTX && TRACER(begin)->operation_id.id == 0);
        records++;
    }
}

static uint64_t word_at(uint64_t offset)
{
    uint64_t word = 0;
    CHECK(pread(file, &word, sizeof word, (off_t)offset) == sizeof word);
    return word;
}

static void flip(uint64_t offset, int bit)
{
    uint64_t word = word_at(offset) ^ (uint64_t)1 << bit;
    CHECK(pwrite(file, &word, sizeof word, (off_t)offset) == sizeof word);
}

/* Returns the place of the chunk in which records wait, and sets where in it they begin and how long each is. */
static uint64_t find_records(uint64_t *begin, uint64_t *length)
{
    uint64_t stride = word_at(STRIDE), count = word_at(COUNT);
    for (uint64_t chunk = HEAD; chunk < HEAD + count * stride; chunk += stride) {
        uint64_t committed = (uint32_t)word_at(chunk + COMMITTED), delivered = (uint32_t)word_at(chunk + DELIVERED);
        *begin = delivered > FIRST_RECORD ? delivered : FIRST_RECORD;
        if (committed > *begin) {
            *length = (committed - *begin) / RECORDS;
            CHECK(*length * RECORDS == committed - *begin);
            return chunk;
        }
    }
    CHECK(!"records wait in a chunk");
    return 0;
}

static void emit(int count)
{
    records = batches = 0;
    for (int i = 0; i < count; i++)
        roctxMarkA(text);
}

/* The buffer works again. */
static void is_whole(traced_t traced)
{
    OK(flush(traced));
    emit(RECORDS);
    OK(flush(traced));
    CHECK(records == RECORDS);
}

/* Creates a session whose buffer is in a file, and starts it. */
static traced_t open_buffer(const char *directory)
{
    traced_t traced = create_roctx(1 << 20, on_batch);
    char path[4096];
    snprintf(path, sizeof path, "%s/%d-%d-%d.records", directory, (int)getpid(), (int)traced.session.handle,
             (int)traced.buffer.value);
    file = open(path, O_RDWR);
    CHECK(file >= 0);
    CHECK((word_at(0) & 0xff) == 'O');
    OK(rocprofiler_start_session(traced.session));
    emit(RECORDS);
    OK(flush(traced));
    CHECK(records == RECORDS && batches == 1);
    return traced;
}

/* Two words of a message are exchanged, so a sum of all words would not change. The records before and after this
 * one are delivered. */
static void words_that_changed_places(const char *directory)
{
    static char message[200];
    memset(message, 'c', sizeof message);
    memset(message, 'a', 8);
    memset(message + 64, 'b', 8);
    message[sizeof message - 1] = 0;
    text = message;
    traced_t traced = open_buffer(directory);
    emit(RECORDS);
    uint64_t begin = 0, length = 0, chunk = find_records(&begin, &length);
    uint64_t first = chunk + begin + 5 * length + 40, second = first + 64;
    uint64_t words[] = {word_at(first), word_at(second)};
    CHECK(memcmp(words, "aaaaaaaabbbbbbbb", sizeof words) == 0);
    CHECK(pwrite(file, &words[1], 8, (off_t)first) == 8 && pwrite(file, &words[0], 8, (off_t)second) == 8);
    FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
    CHECK(records == RECORDS - 1);
    is_whole(traced);
    /* The highest bits of two words, which are those of any products. */
    emit(RECORDS);
    chunk = find_records(&begin, &length);
    flip(chunk + begin + 5 * length + 40, 63);
    flip(chunk + begin + 5 * length + 40 + 64, 63);
    FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
    CHECK(records == RECORDS - 1);
    is_whole(traced);
    OK(rocprofiler_destroy_session(traced.session));
}

/* A message that is too long for the buffer, whose record names another one or none. */
static void a_long_message(const char *directory)
{
    static char message[400];
    memset(message, 'm', sizeof message);
    message[sizeof message - 1] = 0;
    text = message;
    traced_t traced = open_buffer(directory);
    for (int bit = 0; bit < 64; bit += 9) {
        emit(RECORDS);
        uint64_t begin = 0, length = 0, chunk = find_records(&begin, &length);
        CHECK(length == 40);
        flip(chunk + begin + 3 * length + 32, bit);
        FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
        CHECK(records == RECORDS - 1);
        is_whole(traced);
    }
    OK(rocprofiler_destroy_session(traced.session));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    OK(rocprofiler_initialize());
    traced_t traced = open_buffer(argv[1]);

    /* Each word of a record, in the first, in the middle, and in the last. */
    uint64_t begin = 0, length = 0;
    for (uint64_t word = 0; word < 6; word++) {
        for (int place = 0; place < RECORDS; place += 6) {
            emit(RECORDS);
            uint64_t chunk = find_records(&begin, &length);
            CHECK(length >= 48 && length % 8 == 0);
            flip(chunk + begin + (uint64_t)place * length + word * 8, (int)(word * 11 + (uint64_t)place) % 64);
            FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
            CHECK(records >= place && records < RECORDS);
            is_whole(traced);
        }
    }
    /* A word of two records. */
    emit(RECORDS);
    uint64_t chunk = find_records(&begin, &length);
    flip(chunk + begin + 5 * length, 1);
    flip(chunk + begin + 7 * length, 1);
    FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
    CHECK(records >= 5 && records < RECORDS - 1);
    is_whole(traced);

    OK(rocprofiler_destroy_session(traced.session));
    words_that_changed_places(argv[1]);
    a_long_message(argv[1]);
    text = "a mark";

    /* The header that says what the records of a chunk are: its category, their kind and their length. */
    int bits[] = {0, 7, 16, 17, 31, 35, 36, 47};
    for (int i = 0; i < 8; i++) {
        traced = open_buffer(argv[1]);
        emit(RECORDS);
        flip(find_records(&begin, &length) + FIRST_HEADER, bits[i]);
        FAILS(flush(traced), CORRUPTED_SESSION_BUFFER);
        CHECK(records < RECORDS);
        OK(flush(traced));
        /* The records after it are lost with it, until the next chunk begins. */
        int rounds = 0;
        do {
            CHECK(rounds++ < 10000);
            emit(RECORDS);
        } while (flush(traced) != ROCPROFILER_STATUS_SUCCESS || records != RECORDS);
        is_whole(traced);
        OK(rocprofiler_destroy_session(traced.session));
    }
    OK(rocprofiler_finalize());
    return 0;
}
