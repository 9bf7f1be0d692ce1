/* The library finds a ROCTx runtime that the program has not loaded. With an argument, there is none. */
#include "tool.h"

#include <dlfcn.h>

static int records;

static void on_batch(record_t begin, record_t end, rocprofiler_session_id_t session, rocprofiler_buffer_id_t buffer)
{
    for (; begin < end; begin = after(begin, session, buffer))
        records++;
}

int main(int argc, char **argv)
{
    (void)argv;
    CHECK(dlopen("libroctx64.so.4", RTLD_NOW | RTLD_NOLOAD) == NULL);
    OK(rocprofiler_initialize());
    traced_t traced = create_roctx(4096, on_batch);
    OK(rocprofiler_start_session(traced.session));
    void *runtime = dlopen("libroctx64.so.4", RTLD_NOW | RTLD_NOLOAD);
    CHECK((runtime != NULL) == (argc == 1));
    if (runtime != NULL) {
        void (*mark)(const char *);
        void *found = dlsym(runtime, "roctxMarkA");
        memcpy(&mark, &found, sizeof mark);
        mark("a mark");
    }
    OK(rocprofiler_terminate_session(traced.session));
    OK(flush(traced));
    CHECK(records == (argc == 1));
    OK(rocprofiler_destroy_session(traced.session));
    return 0;
}
