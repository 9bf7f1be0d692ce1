/* While the library looks for a ROCTx runtime, which may wait for the loader, other threads can use sessions. The
 * program intercepts the library's call of dlopen, and lets another thread end the session there. */
#include "tool.h"

#include <dlfcn.h>
#include <pthread.h>

static rocprofiler_session_id_t session;
static int looked;

static void *end_it(void *nothing)
{
    OK(rocprofiler_terminate_session(session));
    return nothing;
}

#ifdef __cplusplus
extern "C"
#endif
void *dlopen(const char *path, int flags)
{
    void *(*real)(const char *, int);
    void *found = dlsym(RTLD_NEXT, "dlopen");
    memcpy(&real, &found, sizeof real);
    if (session.handle != 0 && looked++ == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, end_it, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    return real(path, flags);
}

static int records;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t of, rocprofiler_buffer_id_t buffer)
{
    for (; begin < end; begin = after(begin, of, buffer))
        records++;
}

static void mark(void)
{
    void (*mark)(const char *);
    void *runtime = dlopen("libroctx64.so.4", RTLD_NOW), *found = dlsym(runtime, "roctxMarkA");
    memcpy(&mark, &found, sizeof mark);
    mark("a mark");
}

int main(void)
{
    OK(rocprofiler_initialize());
    traced_t traced = create_roctx(4096, on_batch);
    session = traced.session;
    OK(rocprofiler_start_session(session));
    CHECK(looked > 0);
    /* The session was ended meanwhile, so the library does not listen for it. */
    FAILS(rocprofiler_terminate_session(session), SESSION_NOT_ACTIVE);
    mark();
    OK(flush(traced));
    CHECK(records == 0);
    OK(rocprofiler_start_session(session));
    mark();
    OK(flush(traced));
    CHECK(records == 1);
    OK(rocprofiler_destroy_session(session));
    return 0;
}
