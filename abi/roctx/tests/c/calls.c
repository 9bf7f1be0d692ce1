/* Calls every function once and prints the results, which a profiler may change. With TOOL, it is a tool itself. */
#include "check.h"

#include "rocprofiler-sdk-roctx/roctx.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifdef TOOL
#ifdef __cplusplus
extern "C"
#endif
void *rocprofiler_configure(void);
void *rocprofiler_configure(void)
{
    return NULL;
}
#endif

int main(void)
{
    roctxMark("here");
    printf("push %d\n", roctxRangePush("outer"));
    printf("pop %d\n", roctxRangePop());
    unsigned long long id = roctxRangeStart("range");
    printf("start %llu\n", id);
    roctxRangeStop(id);
    roctx_thread_id_t thread = 0;
    int status = roctxGetThreadId(&thread);
    printf("thread %d %d\n", status, thread == (roctx_thread_id_t)syscall(SYS_gettid));
    printf("pause %d\n", roctxProfilerPause(7));
    printf("resume %d\n", roctxProfilerResume(8));
    printf("name %d\n", roctxNameOsThread("main"));
    printf("name %d\n", roctxNameHsaAgent("agent", NULL));
    printf("name %d\n", roctxNameHipDevice("device", 3));
    printf("name %d\n", roctxNameHipStream("stream", NULL));
    return 0;
}
