/* Callback threads: their creation, which buffers they serve, and that a slow callback holds up only its own. */
static void make_threads(void);
#define TOOL_INITIALIZE make_threads
#include "tool.h"

#include "kept.h"

#define LOSSLESS ROCPROFILER_BUFFER_POLICY_LOSSLESS

/* The functions that were called around the creation of threads. */
static char events[64];
static uint64_t creator;

static void note(rocprofiler_runtime_library_t library, void *data)
{
    CHECK(library == ROCPROFILER_LIBRARY && own_thread() == creator);
    strcat(events, (const char *)data);
}

static void note_after(rocprofiler_runtime_library_t library, void *data)
{
    char text[2] = {(char)(*(const char *)data + 'A' - 'a'), 0};
    CHECK(library == ROCPROFILER_LIBRARY && own_thread() == creator);
    strcat(events, text);
}

static kept_t by_default, first, second, third, moved, back;
static rocprofiler_callback_thread_t threads[2];

static void make_threads(void)
{
    static char a[] = "a", b[] = "b", c[] = "c";
    creator = own_thread();
    OK(rocprofiler_at_internal_thread_create(note, note_after, 0, a));
    OK(rocprofiler_at_internal_thread_create(note, note_after, ROCPROFILER_LIBRARY | ROCPROFILER_HSA_LIBRARY, b));
    OK(rocprofiler_at_internal_thread_create(note, note_after, ROCPROFILER_HSA_LIBRARY, c));
    OK(rocprofiler_at_internal_thread_create(NULL, NULL, 0, c));

    for (uint64_t i = 0; i < 2; i++) {
        OK(rocprofiler_create_callback_thread(&threads[i]));
        CHECK(threads[i].handle == i + 1);
    }
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_callback_thread(NULL));
    CHECK(strcmp(events, "abABabAB") == 0);

    rocprofiler_context_id_t context = new_context();
    kept_t *kept[6] = {&by_default, &first, &second, &third, &moved, &back};
    for (int i = 0; i < 6; i++)
        make_kept(kept[i], context, 4096, 0, LOSSLESS);
    OK(rocprofiler_assign_callback_thread(first.buffer, threads[0]));
    OK(rocprofiler_assign_callback_thread(second.buffer, threads[0]));
    OK(rocprofiler_assign_callback_thread(third.buffer, threads[1]));
    /* The last assignment counts; 0 is the default thread. */
    rocprofiler_callback_thread_t by_default_ = {0}, unknown = {3}, absurd = {UINT64_MAX};
    OK(rocprofiler_assign_callback_thread(moved.buffer, threads[0]));
    OK(rocprofiler_assign_callback_thread(moved.buffer, threads[1]));
    OK(rocprofiler_assign_callback_thread(back.buffer, threads[1]));
    OK(rocprofiler_assign_callback_thread(back.buffer, by_default_));

    rocprofiler_buffer_id_t no_buffer = {1};
    ANSWERS(ERROR_THREAD_NOT_FOUND, rocprofiler_assign_callback_thread(first.buffer, unknown));
    ANSWERS(ERROR_THREAD_NOT_FOUND, rocprofiler_assign_callback_thread(no_buffer, absurd));
    ANSWERS(ERROR_BUFFER_NOT_FOUND, rocprofiler_assign_callback_thread(no_buffer, threads[0]));
}

int main(void)
{
    begin();
    /* A pair for each thread: the two, and the default one. */
    CHECK(strcmp(events, "abABabABabAB") == 0);

    /* The threads of the others work while this one's callback takes long. */
    hold(&first);
    emit(&first, 0, 1, 8);
    await_inside(&first);
    kept_t *others[4] = {&by_default, &third, &moved, &back};
    for (int i = 0; i < 4; i++) {
        emit(others[i], 0, 3, 8);
        OK(rocprofiler_flush_buffer(others[i]->buffer));
        CHECK(others[i]->records == 3);
    }
    emit(&second, 0, 1, 8);
    CHECK(second.callbacks == 0);
    release(&first);
    await_callbacks(&second, 1);

    CHECK(first.thread == second.thread && third.thread == moved.thread && by_default.thread == back.thread);
    CHECK(first.thread != third.thread && first.thread != by_default.thread && third.thread != by_default.thread);
    CHECK(first.thread != own_thread() && third.thread != own_thread() && by_default.thread != own_thread());

    rocprofiler_callback_thread_t late = {0};
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_create_callback_thread(&late));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_assign_callback_thread(first.buffer, threads[1]));
    CHECK(late.handle == 0);
    return 0;
}
