/* The parts that the programs of the tests share. */
#ifndef SDK_H
#define SDK_H

#include <rocprofiler-sdk/opscope.h>
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#include <rocprofiler-sdk-roctx/roctx.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the program if a condition does not hold. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Checks the status of a call, which is the end of an enumerator of rocprofiler_status_t. */
#define ANSWERS(status, call) check_status(__FILE__, __LINE__, #call, ROCPROFILER_STATUS_##status, (call))
#define OK(call) ANSWERS(SUCCESS, call)

static inline void check_status(const char *file, int line, const char *call, rocprofiler_status_t expected,
                                rocprofiler_status_t status)
{
    if (status != expected) {
        const char *names[2] = {rocprofiler_get_status_name(status), rocprofiler_get_status_name(expected)};
        fprintf(stderr, "%s:%d: %s is %s instead of %s\n", file, line, call, names[0] != NULL ? names[0] : "unknown",
                names[1]);
        _exit(1);
    }
}

/* Sets a pointer to a function to what dlsym returned, which C itself cannot convert. */
#define FUNCTION(function, symbol)                                                                                     \
    do {                                                                                                               \
        void *symbol_ = (symbol);                                                                                      \
        memcpy(&(function), &symbol_, sizeof symbol_);                                                                 \
    } while (0)

#ifdef __cplusplus
#define EXTERN_C extern "C"
#else
#define EXTERN_C
#endif

enum { OWN_CATEGORY = 100 };

static inline rocprofiler_context_id_t new_context(void)
{
    rocprofiler_context_id_t context = {0};
    OK(rocprofiler_create_context(&context));
    CHECK(context.handle != 0);
    return context;
}

static inline rocprofiler_buffer_id_t new_buffer(rocprofiler_context_id_t context, size_t size, size_t watermark,
                                                 rocprofiler_buffer_policy_t policy,
                                                 rocprofiler_buffer_tracing_cb_t callback, void *data)
{
    rocprofiler_buffer_id_t buffer = {0};
    OK(rocprofiler_create_buffer(context, size, watermark, policy, callback, data, &buffer));
    CHECK(buffer.handle != 0);
    return buffer;
}

static inline uint64_t own_thread(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

static inline uint64_t now(void)
{
    rocprofiler_timestamp_t time = 0;
    OK(rocprofiler_get_timestamp(&time));
    return time;
}

static inline int initialized(void)
{
    int status = 7;
    OK(rocprofiler_is_initialized(&status));
    return status;
}

static inline int finalized(void)
{
    int status = 7;
    OK(rocprofiler_is_finalized(&status));
    return status;
}

#endif
