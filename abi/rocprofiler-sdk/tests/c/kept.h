/* A buffer's callback that keeps its arguments, and lets other threads wait for its calls. */
#ifndef KEPT_H
#define KEPT_H

#include "sdk.h"

enum { MOST_CALLBACKS = 4096 };

/* The arguments of a call of a buffer's callback. */
typedef struct {
    rocprofiler_context_id_t context;
    rocprofiler_buffer_id_t buffer;
    /* How many records each callback received. */
    size_t batches[MOST_CALLBACKS];
    size_t callbacks, records;
    uint64_t drop_count, thread;
    /* The callback waits while this is set. */
    int is_held, is_inside;
    /* What the callback does first. */
    void (*act)(void);
} kept_t;

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t kept_changed = PTHREAD_COND_INITIALIZER;

static inline void keep(rocprofiler_context_id_t context, rocprofiler_buffer_id_t buffer,
                        rocprofiler_record_header_t **headers, size_t count, void *data, uint64_t drop_count)
{
    kept_t *kept = (kept_t *)data;
    CHECK(context.handle == kept->context.handle && buffer.handle == kept->buffer.handle);
    CHECK(headers != NULL && count > 0 && drop_count >= kept->drop_count);
    pthread_mutex_lock(&kept_lock);
    kept->is_inside = 1;
    pthread_cond_broadcast(&kept_changed);
    while (kept->is_held)
        pthread_cond_wait(&kept_changed, &kept_lock);
    pthread_mutex_unlock(&kept_lock);
    if (kept->act != NULL)
        kept->act();
    pthread_mutex_lock(&kept_lock);
    for (size_t i = 0; i < count; i++) {
        /* A tool's own records begin with a number that counts up. */
        CHECK(headers[i]->category != OWN_CATEGORY || *(uint64_t *)headers[i]->payload == kept->records + i);
        CHECK((uintptr_t)headers[i]->payload % 8 == 0);
    }
    CHECK(kept->callbacks < MOST_CALLBACKS);
    kept->batches[kept->callbacks++] = count;
    kept->records += count;
    kept->drop_count = drop_count;
    kept->thread = own_thread();
    kept->is_inside = 0;
    pthread_cond_broadcast(&kept_changed);
    pthread_mutex_unlock(&kept_lock);
}

/* Waits until the callback was called this often. */
static inline void await_callbacks(kept_t *kept, size_t callbacks)
{
    pthread_mutex_lock(&kept_lock);
    while (kept->callbacks < callbacks)
        pthread_cond_wait(&kept_changed, &kept_lock);
    pthread_mutex_unlock(&kept_lock);
}

/* Lets the next callback wait. */
static inline void hold(kept_t *kept)
{
    pthread_mutex_lock(&kept_lock);
    kept->is_held = 1;
    pthread_mutex_unlock(&kept_lock);
}

/* Waits until a callback is inside. */
static inline void await_inside(kept_t *kept)
{
    pthread_mutex_lock(&kept_lock);
    while (!kept->is_inside)
        pthread_cond_wait(&kept_changed, &kept_lock);
    pthread_mutex_unlock(&kept_lock);
}

static inline void release(kept_t *kept)
{
    pthread_mutex_lock(&kept_lock);
    kept->is_held = 0;
    pthread_cond_broadcast(&kept_changed);
    pthread_mutex_unlock(&kept_lock);
}

static inline void make_kept(kept_t *kept, rocprofiler_context_id_t context, size_t size, size_t watermark,
                             rocprofiler_buffer_policy_t policy)
{
    kept->context = context;
    kept->buffer = new_buffer(context, size, watermark, policy, keep, kept);
}

/* Puts records of the tool's own into a buffer: numbers from `first`, of `size` bytes. */
static inline void emit(kept_t *kept, uint64_t first, uint64_t count, size_t size)
{
    uint64_t payload[32] = {0};
    CHECK(size <= sizeof payload);
    for (uint64_t i = 0; i < count; i++) {
        payload[0] = first + i;
        OK(opscope_rocprofiler_emit(kept->buffer, OWN_CATEGORY, 7, payload, size));
    }
}

/* Emits a record, and returns the status. */
static inline rocprofiler_status_t try_emit(kept_t *kept, uint64_t number, size_t size)
{
    uint64_t payload[32] = {0};
    payload[0] = number;
    return opscope_rocprofiler_emit(kept->buffer, OWN_CATEGORY, 7, payload, size);
}

#endif
