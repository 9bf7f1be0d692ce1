// What the programs share: checks, a table, waiting for the callback, and the names of events.
#ifndef CHECK_H
#define CHECK_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudadebugger.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

// Checks the result of a function of the table, and prints the text of a failure.
#define ANSWERS(expected, answer) answers((expected), (answer), #answer, __FILE__, __LINE__)

static CUDBGAPI api;

static inline void answers(CUDBGResult expected, CUDBGResult answer, const char* text, const char* file, int line)
{
    if (answer == expected) {
        return;
    }
    char     message[1024] = "";
    uint32_t size          = 0;
    if (api) {
        api->getErrorStringEx(message, sizeof message, &size);
    }
    fprintf(stderr, "%s:%d: %s answers %s, not %s: %s\n", file, line, text, cudbgGetErrorString(answer),
            cudbgGetErrorString(expected), message);
    exit(1);
}

static inline void get_table(uint32_t major, uint32_t minor, uint32_t revision)
{
    CHECK(cudbgGetAPI(major, minor, revision, &api) == CUDBG_SUCCESS && api);
}

static inline const char* name_of(CUDBGEventKind kind)
{
    static const char* const names[] = {"INVALID",         "ELF_IMAGE_LOADED", "KERNEL_READY",       "KERNEL_FINISHED",
                                        "INTERNAL_ERROR",  "CTX_PUSH",         "CTX_POP",            "CTX_CREATE",
                                        "CTX_DESTROY",     "TIMEOUT",          "ATTACH_COMPLETE",    "DETACH_COMPLETE",
                                        "ELF_IMAGE_UNLOADED", "FUNCTIONS_LOADED", "ALL_DEVICES_SUSPENDED"};
    CHECK((size_t)kind < sizeof names / sizeof *names);
    return names[kind];
}

// Counts notifications. The callback's thread adds one, and the program waits for it.
static pthread_mutex_t notified_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  notified      = PTHREAD_COND_INITIALIZER;
static unsigned        notifications;

static inline void notify(void)
{
    pthread_mutex_lock(&notified_lock);
    ++notifications;
    pthread_cond_signal(&notified);
    pthread_mutex_unlock(&notified_lock);
}

// Waits for a notification that was not waited for yet. Several count as one.
static inline void wait_for_notification(void)
{
    pthread_mutex_lock(&notified_lock);
    while (!notifications) {
        pthread_cond_wait(&notified, &notified_lock);
    }
    notifications = 0;
    pthread_mutex_unlock(&notified_lock);
}

#endif
