/* Many threads make the first call at once. */
#include "check.h"

#include "rocprofiler-sdk-roctx/roctx.h"

#include <pthread.h>

enum { THREADS = 32 };

static pthread_barrier_t line;

static void *first_call(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&line);
    roctxMark("~");
    CHECK(roctxRangePush("~") == 0);
    CHECK(roctxRangePush("~") == 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&line, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, first_call, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    roctxMark("after");
    return 0;
}
