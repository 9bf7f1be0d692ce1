/* Prints which libraries functions are bound to. */
#include "check.h"

#include "rocprofiler-sdk-roctx/roctx.h"

#include <dlfcn.h>

static void print(const char *name, void *function)
{
    Dl_info information;
    CHECK(dladdr(function, &information) != 0);
    const char *slash = strrchr(information.dli_fname, '/');
    printf("%s of %s\n", name, slash != NULL ? slash + 1 : information.dli_fname);
}

int main(void)
{
    void (*mark)(const char *) = roctxMarkA;
    int (*pause_)(uint64_t) = roctxProfilerPause;
    void *functions[2];
    memcpy(&functions[0], &mark, sizeof mark);
    memcpy(&functions[1], &pause_, sizeof pause_);
    print("mark", functions[0]);
    print("pause", functions[1]);
    return 0;
}
