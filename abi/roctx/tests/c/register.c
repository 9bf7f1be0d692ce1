/*
 * Stands for librocprofiler-register.so.0: prints what it receives and wraps the mark. FAKE_REGISTER is what the first
 * call returns; then it wraps nothing.
 */
#include "check.h"

#include "rocprofiler-sdk-roctx/api_trace.h"

typedef struct {
    uint64_t handle;
} id_t_;

static void mark(const char *message)
{
    printf("wrapped mark %s\n", message);
}

#ifdef __cplusplus
extern "C"
#endif
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void), uint32_t version, void **tables,
                                           uint64_t count, id_t_ *id);
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void), uint32_t version, void **tables,
                                           uint64_t count, id_t_ *id)
{
    static int calls;
    printf("to rocprofiler-register %s %d %d", name, (int)import(), (int)version);
    for (uint64_t i = 0; i < count; i++)
        printf(" %d", (int)*(uint64_t *)tables[i]);
    printf("\n");
    id->handle = 1;
    const char *status = getenv("FAKE_REGISTER");
    if (calls++ == 0 && status != NULL)
        return atoi(status);
    ((roctxCoreApiTable_t *)tables[0])->roctxMarkA_fn = mark;
    return 0;
}
