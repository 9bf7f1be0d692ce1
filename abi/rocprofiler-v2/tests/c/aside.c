/* Callbacks that emit more into their own buffer than fits. Records for which only the callback's return could free
 * space are kept. They come after the callback's earlier records, without another event, before a later flush
 * returns, and before the buffer ends. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>

/* Records of 56 and of 88 bytes that make up 4096: the callback then has the whole buffer, and no record is waiting. */
#define SHORT 70
#define LONG 2
#define FILLING (SHORT + LONG)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static unsigned of_program, of_callback, emitted;
static int callbacks_to_emit, records_to_emit, stops;
static traced_t traced;

/* The records have several lengths, because a shorter one may fit where a longer one does not. */
static void emit_in_callback(void)
{
    char text[300];
    static const int lengths[] = {200, 3, 40, 270, 10};
    int length = snprintf(text, sizeof text, "callback %u ", emitted);
    memset(text + length, '.', sizeof text - (size_t)length);
    text[length + lengths[emitted % 5]] = 0;
    emitted++;
    roctxMarkA(text);
}

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    pthread_mutex_lock(&lock);
    if (callbacks_to_emit > 0) {
        callbacks_to_emit--;
        for (int i = 0; i < records_to_emit; i++)
            emit_in_callback();
    }
    for (; begin < end; begin = after(begin, session, buffer)) {
        unsigned number;
        if (sscanf(TRACER(begin)->name, "callback %u ", &number) == 1) {
            CHECK(number == of_callback);
            of_callback++;
        } else {
            of_program++;
        }
    }
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
}

static void start(int callbacks, int records)
{
    callbacks_to_emit = callbacks;
    records_to_emit = records;
    of_program = of_callback = emitted = 0;
    traced = create_roctx(4096, on_batch);
    OK(rocprofiler_start_session(traced.session));
}

/* The last record makes the callback due. */
static void fill(void)
{
    for (int i = 0; i < SHORT; i++)
        roctxMarkA("a mark");
    for (int i = 0; i < LONG; i++)
        roctxMarkA("a mark of more than 16 bytes");
}

/* Waits until everything arrived without a flush. If it never does, the test's time runs out. */
static void comes_by_itself(void)
{
    pthread_mutex_lock(&lock);
    while (callbacks_to_emit > 0 || of_callback < emitted)
        pthread_cond_wait(&arrived, &lock);
    CHECK(of_callback == emitted && of_program == FILLING);
    pthread_mutex_unlock(&lock);
}

/* Callbacks that never stop emitting do not keep a flush from returning. */
static void on_batch_without_end(record_t begin, record_t end, rocprofiler_session_id_t session,
                                 rocprofiler_buffer_id_t buffer)
{
    for (int i = 0; i < 100 && !__atomic_load_n(&stops, __ATOMIC_ACQUIRE); i++)
        emit_in_callback();
    for (; begin < end; begin = after(begin, session, buffer)) {
        unsigned number;
        if (sscanf(TRACER(begin)->name, "callback %u ", &number) == 1) {
            CHECK(number == of_callback);
            of_callback++;
        }
    }
}

int main(void)
{
    OK(rocprofiler_initialize());
    int counts[] = {1, 2, 50, 500};
    for (int i = 0; i < 4; i++) {
        start(1, counts[i]);
        fill();
        comes_by_itself();
        OK(rocprofiler_destroy_session(traced.session));

        /* The records that the first callbacks emit cause further callbacks. */
        start(5, counts[i]);
        fill();
        if (counts[i] > 50)
            comes_by_itself();
        for (int flushes = 0; flushes < 8; flushes++)
            OK(flush(traced));
        OK(rocprofiler_destroy_session(traced.session));
        CHECK(of_callback == emitted && of_program == FILLING);

        /* The first flush waits for the callback that emits, the second one for what it emitted. */
        start(1, counts[i]);
        fill();
        OK(flush(traced));
        OK(flush(traced));
        CHECK(of_callback == (unsigned)counts[i] && of_program == FILLING);
        OK(rocprofiler_destroy_session(traced.session));
    }

    start(0, 0);
    OK(rocprofiler_destroy_session(traced.session));
    traced = create_roctx(4096, on_batch_without_end);
    OK(rocprofiler_start_session(traced.session));
    fill();
    for (int i = 0; i < 10; i++)
        OK(flush(traced));
    __atomic_store_n(&stops, 1, __ATOMIC_RELEASE);
    OK(flush(traced));
    OK(flush(traced));
    CHECK(emitted >= 1000 && of_callback == emitted);
    OK(rocprofiler_destroy_session(traced.session));
    OK(rocprofiler_finalize());
    return 0;
}
