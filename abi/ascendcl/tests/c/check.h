/* The parts that the programs of the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include "acl/acl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Ends the program if a condition does not hold. */
#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            const char *text_ = aclGetRecentErrMsg();                                               \
            fprintf(stderr, "%s:%d: %s does not hold; %s\n", __FILE__, __LINE__, #condition,        \
                    text_ == NULL ? "no message" : text_);                                          \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

/* Ends the program if a call does not return 0. */
#define OK(call) IS(call, 0)

/* Ends the program if a call does not return this code, or a failure has no message. */
#define IS(call, expected)                                                                          \
    do {                                                                                            \
        int code_;                                                                                  \
        const char *text_;                                                                          \
        aclGetRecentErrMsg();                                                                       \
        code_ = (call);                                                                             \
        text_ = aclGetRecentErrMsg();                                                               \
        if (code_ != (expected) || (code_ != 0 && text_ == NULL)) {                                 \
            fprintf(stderr, "%s:%d: %s returned %d, not %d: %s\n", __FILE__, __LINE__, #call, code_, \
                    (int)(expected), text_ == NULL ? "no message" : text_);                         \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

/* A pointer that is no handle of the library. */
#define GARBAGE ((void *)(size_t)0x1234567890)

/* Sleeps. */
static inline void rest(int milliseconds)
{
    struct timespec time;
    time.tv_sec = milliseconds / 1000;
    time.tv_nsec = (milliseconds % 1000) * 1000000L;
    nanosleep(&time, NULL);
}

static inline double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A gate that holds a stream until it is opened. */
typedef struct gate
{
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_open;
    int passed;
} gate;

static inline void gate_init(gate *of)
{
    pthread_mutex_init(&of->lock, NULL);
    pthread_cond_init(&of->changed, NULL);
    of->is_open = 0;
    of->passed = 0;
}

static inline void gate_open(gate *of)
{
    pthread_mutex_lock(&of->lock);
    of->is_open = 1;
    pthread_cond_broadcast(&of->changed);
    pthread_mutex_unlock(&of->lock);
}

/* A host function: waits until its gate is open. */
static inline void gate_wait(void *data)
{
    gate *of = (gate *)data;
    pthread_mutex_lock(&of->lock);
    while (!of->is_open) {
        pthread_cond_wait(&of->changed, &of->lock);
    }
    of->passed++;
    pthread_mutex_unlock(&of->lock);
}

/* Runs a function in a thread of its own. */
static inline void in_thread(void *(*body)(void *), void *data)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, data) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

#endif
