#include "check.h"

#include <sys/wait.h>

static gate held;

static void is_well(pid_t child)
{
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void forks_inside(void *data)
{
    pid_t child = fork();
    if (child == 0) {
        /* Back into the library, which ends this thread, and with it the child. */
        return;
    }
    *(pid_t *)data = child;
}

static void *busy(void *context)
{
    int i;
    OK(aclrtSetCurrentContext(context));
    for (i = 0; i < 300; i++) {
        aclrtStream stream;
        void *memory;
        OK(aclrtCreateStream(&stream));
        OK(aclrtMalloc(&memory, 100000, ACL_MEM_MALLOC_NORMAL_ONLY));
        OK(aclrtMemsetAsync(memory, 100000, 1, 100000, stream));
        OK(aclrtDestroyStream(stream));
        OK(aclrtFree(memory));
    }
    return NULL;
}

int main(void)
{
    aclrtStream stream, own;
    aclrtContext context;
    aclrtEvent event;
    pthread_t thread;
    pid_t child;
    void *memory;
    char *bytes;
    int i;

    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&context));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
    gate_init(&held);
    OK(aclrtLaunchHostFunc(stream, gate_wait, &held));
    OK(aclrtRecordEvent(event, stream));
    CHECK(pthread_create(&thread, NULL, busy, context) == 0);
    for (i = 0; i < 20; i++) {
        fflush(stdout);
        child = fork();
        if (child == 0) {
            alarm(60);
            /* The streams are the parent's; the memory is a copy. */
            IS(aclrtSynchronizeStream(stream), 107000);
            IS(aclrtSynchronizeStream(NULL), 107002);
            IS(aclrtSynchronizeEvent(event), 107000);
            IS(aclrtResetDevice(0), 107002);
            OK(aclrtSetDevice(0));
            OK(aclrtCreateStream(&own));
            CHECK(own != stream);
            OK(aclrtMemsetAsync(memory, 64, 9, 64, own));
            OK(aclrtSynchronizeStream(own));
            bytes = (char *)memory;
            CHECK(bytes[63] == 9);
            OK(aclrtFree(memory));
            OK(aclrtResetDevice(0));
            exit(0);
        }
        is_well(child);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    gate_open(&held);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtLaunchHostFunc(stream, forks_inside, &child));
    OK(aclrtSynchronizeStream(stream));
    is_well(child);
    OK(aclrtResetDevice(0));
    puts("passed");
    return 0;
}
