/*
 * A consumer that writes a line for every call to the file that the macro LOG or the variable CONSUMER_LOG names. A
 * line is a list of fields, separated by tabs: first the function, then key=value.
 *
 * Macros that tests define:
 *   STATUS      what opscope_attach_producer returns, before it touches the table
 *   ONLY_ENDS   sets dispatch_end and run_end alone
 *   NOTHING     sets nothing
 *   STOP_AFTER  puts the first dispatch_end back when so many runs have ended
 *   NAME        a name for its lines
 */

#define _GNU_SOURCE
#include "opscope_producer.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef NAME
#define NAME "consumer"
#endif

static FILE *output;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static opscope_producer_t *own_table;
static void (*first_dispatch_end)(void *, const opscope_producer_dispatch_t *);
static unsigned long runs_ended;
static int state = 42;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&turn);
    if (output == NULL) {
#ifdef LOG
        const char *path = LOG;
#else
        const char *path = getenv("CONSUMER_LOG");
#endif
        output = path ? fopen(path, "a") : stderr;
        if (output == NULL)
            abort();
        /* A line is one write, so that a process that is killed leaves whole lines. */
        setvbuf(output, NULL, _IOLBF, 1 << 16);
    }
    va_start(arguments, format);
    vfprintf(output, format, arguments);
    va_end(arguments);
    fputc('\n', output);
    pthread_mutex_unlock(&turn);
}

/* The size of a struct from the producer must be that of this header. */
#define CHECK(consumer, argument)                                                                                      \
    do {                                                                                                               \
        if ((consumer) != &state || (argument)->size != sizeof *(argument))                                            \
            abort();                                                                                                   \
    } while (0)

#define ID(number) ((unsigned long long)(number))

#if !defined(NOTHING) && !defined(STATUS)

#ifndef ONLY_ENDS
static void runtime_initialized(void *consumer, const opscope_producer_runtime_t *runtime)
{
    CHECK(consumer, runtime);
    say("runtime_initialized\tby=" NAME "\tname=%s\tversion=%s\tnumber=%llu\tthread=%llu\ttime=%llu", runtime->name,
        runtime->version, ID(runtime->version_number), ID(runtime->thread), ID(runtime->time));
}

static void model_loaded(void *consumer, const opscope_producer_model_t *model)
{
    CHECK(consumer, model);
    say("model_loaded\tmodel=%llu\tname=%s\tpath=%s\tengine=%s\tengine_version=%s\tfidelity=%llu\toperators=%zu",
        ID(model->id), model->name, model->path, model->engine, model->engine_version, ID(model->fidelity),
        model->operator_count);
    for (size_t index = 0; index < model->operator_count; index++) {
        const opscope_producer_operator_t *op = model->operators[index];
        CHECK(consumer, op);
        say("operator\tmodel=%llu\tid=%llu\tname=%s\ttype=%s\tdomain=%s", ID(model->id), ID(op->id), op->name, op->type,
            op->domain);
    }
}

static void model_unloaded(void *consumer, const opscope_producer_model_t *model)
{
    CHECK(consumer, model);
    say("model_unloaded\tmodel=%llu\tname=%s", ID(model->id), model->name);
}

static void plan_made(void *consumer, const opscope_producer_plan_t *plan)
{
    CHECK(consumer, plan);
    say("plan_made\tplan=%llu\tmodel=%llu\tkernels=%zu", ID(plan->id), ID(plan->model), plan->kernel_count);
    for (size_t index = 0; index < plan->kernel_count; index++) {
        const opscope_producer_kernel_t *kernel = plan->kernels[index];
        char operators[512] = "", shape[512] = "";
        int written = 0;
        CHECK(consumer, kernel);
        for (size_t at = 0; at < kernel->operator_count && written < 400; at++)
            written += snprintf(operators + written, sizeof operators - (size_t)written, "%s%llu%s", at ? "," : "",
                                ID(kernel->operators[at].operator_id), kernel->operators[at].exact ? "" : "?");
        written = 0;
        for (size_t at = 0; at < kernel->output_rank && written < 400; at++)
            written += snprintf(shape + written, sizeof shape - (size_t)written, "%s%llu", at ? "x" : "",
                                ID(kernel->output_shape[at]));
        say("kernel\tplan=%llu\tindex=%llu\toperator=%llu\tname=%s\ttype=%s\tkernel=%s\top=%s\toperators=%s\tdtype=%s\t"
            "shape=%s",
            ID(plan->id), ID(kernel->index), ID(kernel->operator_id), kernel->name, kernel->type, kernel->kernel,
            kernel->op, operators, kernel->output_dtype, shape);
    }
}

static void thread_started(void *consumer, const opscope_producer_thread_t *thread)
{
    CHECK(consumer, thread);
    say("thread_started\tthread=%llu\tname=%s\ttime=%llu", ID(thread->id), thread->name, ID(thread->time));
}

static void run_begin(void *consumer, const opscope_producer_run_t *run)
{
    CHECK(consumer, run);
    say("run_begin\trun=%llu\tnumber=%llu\tmodel=%llu\tplan=%llu\tthread=%llu\tbegin=%llu\tend=%llu", ID(run->id),
        ID(run->number), ID(run->model), ID(run->plan), ID(run->thread), ID(run->begin), ID(run->end));
}

static void dispatch_begin(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    CHECK(consumer, dispatch);
    say("dispatch_begin\trun=%llu\tkernel=%llu\tname=%s\tthread=%llu\tstart=%llu\tend=%llu", ID(dispatch->run),
        ID(dispatch->kernel->index), dispatch->kernel->name, ID(dispatch->thread), ID(dispatch->start),
        ID(dispatch->end));
}

static void copy(void *consumer, const opscope_producer_copy_t *copy)
{
    CHECK(consumer, copy);
    say("copy\trun=%llu\tdirection=%llu\tbytes=%llu\ttensors=%llu\tthread=%llu\tstart=%llu\tend=%llu", ID(copy->run),
        ID(copy->direction), ID(copy->bytes), ID(copy->tensors), ID(copy->thread), ID(copy->start), ID(copy->end));
}

static void allocation(void *consumer, const opscope_producer_allocation_t *allocation)
{
    CHECK(consumer, allocation);
    say("allocation\trun=%llu\toperation=%llu\taddress=%llu\tbytes=%llu\tthread=%llu\ttime=%llu", ID(allocation->run),
        ID(allocation->operation), ID(allocation->address), ID(allocation->bytes), ID(allocation->thread),
        ID(allocation->time));
}
#endif

static void run_end(void *consumer, const opscope_producer_run_t *run)
{
    CHECK(consumer, run);
    say("run_end\tby=" NAME "\trun=%llu\tnumber=%llu\tmodel=%llu\tthread=%llu\tbegin=%llu\tend=%llu\tfailed=%llu",
        ID(run->id), ID(run->number), ID(run->model), ID(run->thread), ID(run->begin), ID(run->end), ID(run->failed));
#ifdef STOP_AFTER
    if (__atomic_add_fetch(&runs_ended, 1, __ATOMIC_RELAXED) == STOP_AFTER)
        __atomic_store_n(&own_table->dispatch_end, first_dispatch_end, __ATOMIC_RELEASE);
#else
    runs_ended++;
#endif
}

static void dispatch_end(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    char path[512] = "";
    int written = 0;
    CHECK(consumer, dispatch);
    for (size_t at = 0; at < dispatch->path_length && written < 400; at++)
        written += snprintf(path + written, sizeof path - (size_t)written, "%s%llu:%llu", at ? "," : "",
                            ID(dispatch->path[at].operator_id), ID(dispatch->path[at].iteration));
    say("dispatch_end\tby=" NAME
        "\tmodel=%llu\tplan=%llu\trun=%llu\tkernel=%llu\tname=%s\ttype=%s\tpath=%s\tthread=%llu\tstart=%llu\tend=%llu",
        ID(dispatch->model), ID(dispatch->plan), ID(dispatch->run), ID(dispatch->kernel->index), dispatch->kernel->name,
        dispatch->kernel->type, path, ID(dispatch->thread), ID(dispatch->start), ID(dispatch->end));
}

#endif

int opscope_attach_producer(opscope_producer_t *table)
{
    say("attach\tby=" NAME "\tversion=%llu\tsize=%zu", ID(table->version), table->size);
    own_table = table;
    first_dispatch_end = table->dispatch_end;
    table->consumer = &state;
#if defined(STATUS)
    (void)runs_ended;
    return STATUS;
#elif defined(NOTHING)
    (void)runs_ended;
    return OPSCOPE_ATTACHED;
#else
    if (table->version != OPSCOPE_PRODUCER_VERSION)
        return OPSCOPE_ATTACH_WRONG_VERSION;
#ifndef ONLY_ENDS
    table->runtime_initialized = runtime_initialized;
    table->model_loaded = model_loaded;
    table->model_unloaded = model_unloaded;
    table->plan_made = plan_made;
    table->thread_started = thread_started;
    table->run_begin = run_begin;
    table->dispatch_begin = dispatch_begin;
    table->copy = copy;
    table->allocation = allocation;
#endif
    table->run_end = run_end;
    table->dispatch_end = dispatch_end;
    return OPSCOPE_ATTACHED;
#endif
}
