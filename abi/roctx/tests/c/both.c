/* Loads both libraries by dlopen alone, uses each, closes and loads it again. Arguments: the libraries. */
#include "check.h"

#include <dlfcn.h>
#include <stdint.h>

typedef struct {
    int (*push)(const char *);
    int (*pop)(void);
    uint64_t (*start)(const char *);
} functions_t;

static functions_t load(const char *path, void **library)
{
    functions_t functions;
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(*library != NULL);
    FUNCTION(functions.push, dlsym(*library, "roctxRangePushA"));
    FUNCTION(functions.pop, dlsym(*library, "roctxRangePop"));
    FUNCTION(functions.start, dlsym(*library, "roctxRangeStartA"));
    CHECK(functions.push != NULL && functions.pop != NULL && functions.start != NULL);
    return functions;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    void *libraries[2];
    functions_t first = load(argv[1], &libraries[0]), second = load(argv[2], &libraries[1]);
    CHECK(first.push("of the first") == 0);
    CHECK(first.push("of the first") == 1);
    CHECK(second.push("of the second") == 0);
    CHECK(second.pop() == 0);
    CHECK(second.pop() == -1);
    CHECK(first.start("of the first") == 1);
    CHECK(second.start("of the second") == 1);
    CHECK(dlclose(libraries[0]) == 0);
    /* It stays loaded: a profiler may keep pointers to its tables. */
    first = load(argv[1], &libraries[0]);
    CHECK(first.pop() == 1);
    CHECK(first.start("of the first") == 2);
    return 0;
}
