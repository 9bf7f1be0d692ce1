/* A consumer: a library that counts the dispatches of each operator of the program that feeds it. */
#include "opscope_producer.h"

#include <stdio.h>
#include <string.h>

static unsigned dispatches, runs;
static char producer[64], first[128];

static void on_runtime(void *consumer, const opscope_producer_runtime_t *runtime)
{
    (void)consumer;
    snprintf(producer, sizeof producer, "%s", runtime->name);
}

static void on_run(void *consumer, const opscope_producer_run_t *run)
{
    (void)consumer;
    (void)run;
    runs++;
}

static void on_dispatch(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    (void)consumer;
    if (dispatches++ == 0)
        snprintf(first, sizeof first, "%s", dispatch->kernel->name);
}

int opscope_attach_producer(opscope_producer_t *table)
{
    if (table->version != OPSCOPE_PRODUCER_VERSION)
        return OPSCOPE_ATTACH_WRONG_VERSION;
    table->runtime_initialized = on_runtime;
    table->run_end = on_run;
    table->dispatch_end = on_dispatch;
    return OPSCOPE_ATTACHED;
}

/* For the program of the test, which finds it by dlsym. */
const char *consumer_report(void)
{
    static char text[512];
    snprintf(text, sizeof text, "fed by %s: %u runs, %u dispatches, the first of %s", producer, runs, dispatches, first);
    return text;
}
