/* A consumer that counts dispatches, and writes their number to the file COUNT when a model is unloaded. */

#include "opscope_producer.h"

#include <stdio.h>
#include <stdlib.h>

/* All runs of the benchmark are on one thread. */
static unsigned long long count;

static void dispatch(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    (void)dispatch;
    ++*(unsigned long long *)consumer;
}

static void model_unloaded(void *consumer, const opscope_producer_model_t *model)
{
    FILE *file = fopen(getenv("COUNT"), "w");
    (void)model;
    if (file == NULL)
        abort();
    fprintf(file, "%llu", *(unsigned long long *)consumer);
    fclose(file);
}

int opscope_attach_producer(opscope_producer_t *table)
{
    if (table->version != OPSCOPE_PRODUCER_VERSION)
        return OPSCOPE_ATTACH_WRONG_VERSION;
    table->consumer = &count;
    table->model_unloaded = model_unloaded;
#ifdef BEGIN
    table->dispatch_begin = dispatch;
#endif
#ifdef END
    table->dispatch_end = dispatch;
#endif
    return OPSCOPE_ATTACHED;
}
