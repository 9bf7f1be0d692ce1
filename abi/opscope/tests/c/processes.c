/* Threads that share a session, a fork, and the library loaded and unloaded by dlopen. Arguments: the model, the
 * library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static opscope_session_t session;

static opscope_status_t run_once(void)
{
    float pixels[64] = {0};
    const opscope_tensor_t input = input_of(pixels);
    opscope_tensor_t output;
    opscope_tensors_t outputs;
    opscope_status_t status = opscope_session_run(session, &input, 1, NULL, &outputs);
    if (status != OPSCOPE_OK)
        return status;
    output.size = sizeof output;
    OK(opscope_tensors_get(outputs, 0, &output));
    float sum = 0;
    for (int i = 0; i < 10; i++)
        sum += ((const float *)output.data)[i];
    CHECK(sum > 0.99f && sum < 1.01f);
    return opscope_tensors_free(outputs);
}

static void *run_many(void *argument)
{
    (void)argument;
    for (int i = 0; i < 100; i++)
        OK(run_once());
    /* The text of an error belongs to the thread. */
    opscope_session_t none;
    none.id = 0;
    IS(opscope_session_free(none), OPSCOPE_ERROR_INVALID_HANDLE);
    SAYS("session is 0");
    return NULL;
}

static void count(const opscope_batch_t *batch, void *user)
{
    *(uint64_t *)user += batch->records;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    OK(opscope_session_load(argv[1], NULL, &session));
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, run_many, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(opscope_error_text()[0] == '\0');

    /* A fork while no other thread runs the model: the child can. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        OK(run_once());
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);

    /* Forks while another thread makes calls. The child's buffer is empty, and works. Models run in the child, or it
     * reports that they cannot, because the other thread was running one. It never hangs. */
    uint64_t delivered = 0;
    const uint64_t payload[3] = {1, 2, 3};
    opscope_buffer_t buffer;
    OK(opscope_buffer_create(NULL, count, &delivered, &buffer));
    OK(opscope_buffer_emit(buffer, 7, 42, payload, sizeof payload));
    CHECK(pthread_create(&threads[0], NULL, run_many, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            OK(opscope_buffer_emit(buffer, 7, 42, payload, sizeof payload));
            OK(opscope_buffer_emit(buffer, 7, 42, payload, sizeof payload));
            OK(opscope_buffer_flush(buffer));
            opscope_status_t ran = run_once();
            CHECK(ran == OPSCOPE_OK || ran == OPSCOPE_ERROR_INVALID_STATE);
            if (ran != OPSCOPE_OK)
                SAYS("when this process was forked");
            _exit(delivered == 2 ? 0 : 3);
        }
        CHECK(waitpid(child, &status, 0) == child);
        if (status != 0)
            fprintf(stderr, "the child ended with status %#x\n", status);
        CHECK(status == 0);
    }
    CHECK(pthread_join(threads[0], NULL) == 0);
    OK(opscope_buffer_destroy(buffer));
    CHECK(delivered == 1);

    /* dlopen finds the same library. dlclose does not unload it, because its threads and its callers would not survive
     * that. */
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    void *symbol = dlsym(library, "opscope_version");
    CHECK(symbol != NULL);
    CHECK(dlclose(library) == 0);
    CHECK(opscope_version() == OPSCOPE_VERSION);
    OK(run_once());
    OK(opscope_session_free(session));
    return 0;
}
