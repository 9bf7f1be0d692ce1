/* The older library: its version, and its slot for a callback. */
#include "check.h"

#include "roctracer/roctx.h"
#include "rocprofiler-sdk-roctx/roctx.h"

typedef struct {
    const char *message;
    uint64_t id;
} arguments_t;

typedef int (*callback_t)(int domain, uint32_t operation, void *data);

#ifdef __cplusplus
extern "C"
#endif
void roctxRegisterTracerCallback(callback_t callback);

static int calls;

static int callback(int domain, uint32_t operation, void *data)
{
    const arguments_t *arguments = (const arguments_t *)data;
    calls++;
    printf("called %d %d %s %d\n", domain, (int)operation, arguments->message != NULL ? arguments->message : "-",
           (int)arguments->id);
    return 7;
}

/* A callback that queries the level during a call. It is called before the level changes. */
static int pushing(int domain, uint32_t operation, void *data)
{
    (void)domain, (void)data;
    roctxRegisterTracerCallback(NULL);
    int level = roctxRangePop();
    printf("%s at level %d\n", operation == 1 ? "push" : "pop", level + 1);
    CHECK(level == -1 || roctxRangePush("again") == level);
    return 0;
}

int main(void)
{
    CHECK(roctx_version_major() == 4);
    CHECK(roctx_version_minor() == 1);
    roctxMark("nothing is set");

    roctxRegisterTracerCallback(callback);
    roctxMark("mark");
    roctxMark(NULL);
    printf("%d\n", roctxRangePush("push"));
    printf("%d\n", roctxRangePop());
    printf("%d\n", roctxRangePop());
    printf("%d\n", (int)roctxRangeStart("start"));
    roctxRangeStop(1);
    CHECK(calls == 7);
    /* The older library does not know these, so its callback has no number for them. */
    CHECK(roctxProfilerPause(0) % 10 == 0);
    CHECK(roctxNameOsThread("main") == 0);
    CHECK(calls == 7);

    roctxRegisterTracerCallback(pushing);
    CHECK(roctxRangePush("outer") == 0);
    roctxRegisterTracerCallback(pushing);
    CHECK(roctxRangePush("inner") == 1);
    roctxRegisterTracerCallback(pushing);
    CHECK(roctxRangePop() == 1);

    roctxMark("removed");
    CHECK(calls == 7);
    return 0;
}
