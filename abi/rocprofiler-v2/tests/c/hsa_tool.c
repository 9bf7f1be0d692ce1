/* What an HSA runtime does with a library that HSA_TOOLS_LIB names. */
#include "tool.h"

#include <dlfcn.h>

typedef struct HsaApiTable HsaApiTable;

int main(void)
{
    void *library = dlopen("librocprofiler64.so.2", RTLD_NOW);
    CHECK(library != NULL);
    const uint32_t *priority = (const uint32_t *)dlsym(library, "HSA_AMD_TOOL_PRIORITY");
    CHECK(priority != NULL && *priority == 25);
    /* C's _Bool is C++'s bool. */
#ifndef __cplusplus
    typedef _Bool bool;
#endif
    bool (*load)(HsaApiTable *, uint64_t, uint64_t, const char *const *);
    void (*unload)(void);
    void *symbols[2] = {dlsym(library, "OnLoad"), dlsym(library, "OnUnload")};
    memcpy(&load, &symbols[0], sizeof load);
    memcpy(&unload, &symbols[1], sizeof unload);
    /* Also without a table, and out of order. */
    unload();
    CHECK(load(NULL, 0, 0, NULL));
    CHECK(load(NULL, 0, 0, NULL));
    unload();
    OK(rocprofiler_initialize());
    OK(rocprofiler_finalize());
    return 0;
}
