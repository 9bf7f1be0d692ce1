/*
 * A program that is its own tool of rocprofiler-sdk: it is compiled with abi/rocprofiler-sdk/tests/models/tool.c.
 * Arguments: what it does, and the model. With the macro FORCED it passes the tool itself, else the library finds it.
 * With IN_CALLBACKS the tool's callbacks may run models, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include "../../../rocprofiler-sdk/tests/models/tool.h"
#include <pthread.h>
#include <rocprofiler-sdk-roctx/roctx.h>
#include <unistd.h>

static opscope_session_t load(const char *model)
{
    opscope_session_t session;
    OK(opscope_session_load(model, NULL, &session));
    return session;
}

static void run(opscope_session_t session, int times)
{
    float pixels[64] = {0};
    const opscope_tensor_t input = input_of(pixels);
    for (int i = 0; i < times; i++)
        OK(opscope_session_run(session, &input, 1, NULL, NULL));
}

static void configure(void)
{
#ifdef FORCED
    int initialized = 9;
    CHECK(rocprofiler_is_initialized(&initialized) == ROCPROFILER_STATUS_SUCCESS && initialized == 0);
    CHECK(rocprofiler_force_configure(tool_configure) == ROCPROFILER_STATUS_SUCCESS);
    CHECK(rocprofiler_is_initialized(&initialized) == ROCPROFILER_STATUS_SUCCESS && initialized == 1);
    CHECK(rocprofiler_force_configure(tool_configure) == ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED);
#endif
}

/* The number of runs that the threads made, and the number at which they end. */
static int runs_made, runs_wanted = 40;

static void *run_on_thread(void *session)
{
    do {
        run(*(opscope_session_t *)session, 1);
    } while (__atomic_add_fetch(&runs_made, 1, __ATOMIC_ACQ_REL) < __atomic_load_n(&runs_wanted, __ATOMIC_ACQUIRE));
    return NULL;
}

#ifdef IN_CALLBACKS

/* What is run in callbacks of this kind and operation; NULL for nothing. */
static opscope_session_t *inside;
static int kind_inside, operation_inside, runs_inside;

void tool_called(const rocprofiler_callback_tracing_record_t *record)
{
    if (inside == NULL || record->phase != ROCPROFILER_CALLBACK_PHASE_ENTER || (int)record->kind != kind_inside ||
        record->operation != operation_inside)
        return;
    opscope_session_t *session = inside;
    inside = NULL;
    run(*session, 1);
    runs_inside++;
    inside = session;
}

/* Runs two models, and one of them in the callbacks for this: in its own, or in those for the other one. */
static void run_inside(const char *model, int kind, int operation, int is_own)
{
    opscope_session_t sessions[2] = {load(model), load(model)};
    kind_inside = kind;
    operation_inside = operation;
    inside = &sessions[is_own ? 0 : 1];
    run(sessions[0], 2);
    inside = NULL;
    CHECK(runs_inside > 0);
    /* Models that were not announced in a callback are announced now. */
    for (int i = 0; i < 2; i++)
        run(sessions[i], 1);
    for (int i = 0; i < 2; i++)
        OK(opscope_session_free(sessions[i]));
}

#endif

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    const char *what = argv[1], *model = argv[2];
    if (strcmp(what, "runs") == 0) {
        configure();
        opscope_session_t session = load(model);
        run(session, 3);
        OK(opscope_session_free(session));
    } else if (strcmp(what, "late") == 0) {
        opscope_session_t session = load(model);
        run(session, 2);
        configure();
        run(session, 3);
        OK(opscope_session_free(session));
    } else if (strcmp(what, "switched") == 0) {
        configure();
        opscope_session_t session = load(model);
        for (int i = 0; i < 6; i++) {
            run(session, 1);
            if (i % 2 == 0)
                tool_stop();
            else
                tool_start();
        }
        OK(opscope_session_free(session));
    } else if (strcmp(what, "again") == 0) {
        configure();
        for (int i = 0; i < 3; i++) {
            opscope_session_t session = load(model), other = load(model);
            run(session, 1);
            run(other, 1);
            OK(opscope_session_free(session));
            OK(opscope_session_free(other));
        }
    } else if (strcmp(what, "threads") == 0 || strcmp(what, "late threads") == 0) {
        const int late = strcmp(what, "late threads") == 0;
        if (!late)
            configure();
        opscope_session_t session = load(model);
        pthread_t threads[4];
        if (late)
            runs_wanted = 1000000;
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, run_on_thread, &session) == 0);
        if (late) {
            while (__atomic_load_n(&runs_made, __ATOMIC_ACQUIRE) < 10)
                usleep(100);
            configure();
            __atomic_store_n(&runs_wanted, __atomic_load_n(&runs_made, __ATOMIC_ACQUIRE) + 20, __ATOMIC_RELEASE);
        }
        for (int i = 0; i < 4; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        OK(opscope_session_free(session));
    } else if (strcmp(what, "markers") == 0) {
        configure();
        opscope_session_t session = load(model);
        for (int i = 0; i < 3; i++) {
            CHECK(roctxRangePushA("run") == 0);
            run(session, 1);
            roctxMarkA("ran");
            CHECK(roctxRangePop() == 0);
        }
        OK(opscope_session_free(session));
#ifdef IN_CALLBACKS
    } else if (strcmp(what, "own in enqueue") == 0 || strcmp(what, "other in enqueue") == 0) {
        configure();
        run_inside(model, ROCPROFILER_CALLBACK_TRACING_KERNEL_DISPATCH, ROCPROFILER_KERNEL_DISPATCH_ENQUEUE,
                   strncmp(what, "own", 3) == 0);
    } else if (strcmp(what, "own in code object") == 0 || strcmp(what, "other in code object") == 0) {
        configure();
        run_inside(model, ROCPROFILER_CALLBACK_TRACING_CODE_OBJECT, ROCPROFILER_CODE_OBJECT_LOAD,
                   strncmp(what, "own", 3) == 0);
#endif
    } else if (strcmp(what, "unloaded at exit") == 0) {
        configure();
        run(load(model), 1);
    } else {
        CHECK(0);
    }
    return 0;
}
