/* A callback that waits does not hold up the interval of another buffer. */
#include "tool.h"

#include <roctracer/roctx.h>

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int is_waiting, others, own;

static void on_other(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    pthread_mutex_lock(&lock);
    for (; begin < end; begin = after(begin, session, buffer))
        others++;
    pthread_cond_broadcast(&arrived);
    pthread_mutex_unlock(&lock);
}

/* Waits until the other buffer's record arrived. If it never does, the test's time runs out. */
static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    pthread_mutex_lock(&lock);
    is_waiting = 1;
    pthread_cond_broadcast(&arrived);
    while (others == 0)
        pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
    for (; begin < end; begin = after(begin, session, buffer))
        own++;
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced_t slow = create_roctx(4096, on_batch), other = create_roctx(4096, on_other);
    OK(set_interval(slow, 1));
    OK(rocprofiler_start_session(slow.session));
    roctxMarkA("a mark");
    pthread_mutex_lock(&lock);
    while (!is_waiting)
        pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
    OK(rocprofiler_terminate_session(slow.session));
    OK(set_interval(other, 1));
    OK(rocprofiler_start_session(other.session));
    roctxMarkA("a mark of the other one");
    OK(rocprofiler_terminate_session(other.session));
    OK(flush(slow));
    CHECK(own == 1 && others == 1);
    OK(rocprofiler_destroy_session(slow.session));
    OK(rocprofiler_destroy_session(other.session));
    OK(rocprofiler_finalize());
    return 0;
}
