/* A callback that checks every rule that chunks of dumps follow, and writes the files that they make. */
#ifndef DUMP_H
#define DUMP_H

#include "check.h"

#include "acl/acl_dump.h"

enum { MOST_FILES = 4096, MOST_NAME = 4200 };

typedef struct dumped_file
{
    char *name;
    FILE *to;
    int is_whole;
} dumped_file;

static struct
{
    pthread_mutex_t lock;
    /* The directory of the files, which are named 0, 1 and so on. The lines of `names` are their real names. */
    const char *directory;
    FILE *names;
    dumped_file files[MOST_FILES];
    int count;
    int whole;
    int is_registered;
    int is_inside;
    /* The thread that registers callbacks, and the one that calls them. */
    pthread_t program;
    pthread_t caller;
    int has_caller;
    /* Milliseconds that each call takes. */
    int slowness;
    /* The result of a call. The library continues with any result. */
    int answer;
    /* Whether the next call throws an exception, where the language has them. */
    int throws;
    /* What the next call does after it has stored its chunk. */
    void (*inside)(const char *);
    const char *what;
} dumps;

static inline void dumps_go_to(const char *directory)
{
    char path[MOST_NAME];
    pthread_mutex_init(&dumps.lock, NULL);
    dumps.directory = directory;
    dumps.program = pthread_self();
    snprintf(path, sizeof(path), "%s/names", directory);
    dumps.names = fopen(path, "w");
    CHECK(dumps.names != NULL);
    /* The child of a fork must not write again what is waiting in a buffer. */
    setvbuf(dumps.names, NULL, _IONBF, 0);
}

/* Sets whether a callback is registered: 1 before it can be called, and 0 once it can no longer be called. */
static inline void dumps_are_registered(int are)
{
    pthread_mutex_lock(&dumps.lock);
    dumps.is_registered = are;
    pthread_mutex_unlock(&dumps.lock);
}

/* Returns the file of a chunk. */
static inline dumped_file *dumped_to(const char *name)
{
    char path[MOST_NAME];
    dumped_file *file;
    for (int i = dumps.count - 1; i >= 0; i--)
        if (strcmp(dumps.files[i].name, name) == 0)
            return &dumps.files[i];
    CHECK(dumps.count < MOST_FILES);
    snprintf(path, sizeof(path), "%s/%d", dumps.directory, dumps.count);
    file = &dumps.files[dumps.count++];
    file->name = strdup(name);
    file->to = fopen(path, "wb");
    CHECK(file->name != NULL && file->to != NULL);
    setvbuf(file->to, NULL, _IONBF, 0);
    fprintf(dumps.names, "%s\n", name);
    return file;
}

static inline int32_t dumped(const acldumpChunk *chunk, int32_t length)
{
    const uint8_t *bytes = (const uint8_t *)chunk;
    void (*inside)(const char *);
    dumped_file *file;
    int throws;

    pthread_mutex_lock(&dumps.lock);
    CHECK(dumps.is_registered);
    CHECK(!dumps.is_inside);
    dumps.is_inside = 1;
    if (!dumps.has_caller)
        dumps.caller = pthread_self();
    dumps.has_caller = 1;
    CHECK(pthread_equal(dumps.caller, pthread_self()));
    CHECK(!pthread_equal(dumps.program, pthread_self()));

    CHECK(length == (int32_t)(4120 + chunk->bufLen));
    CHECK(chunk->bufLen > 0);
    CHECK(chunk->offset == -1);
    CHECK(chunk->flag == 0);
    CHECK(chunk->isLastChunk == 0 || chunk->isLastChunk == 1);
    CHECK(chunk->dataBuf == bytes + 4116);
    CHECK(memchr(chunk->fileName, 0, sizeof(chunk->fileName)) != NULL && chunk->fileName[0] != 0);

    file = dumped_to(chunk->fileName);
    CHECK(!file->is_whole);
    CHECK(fwrite(chunk->dataBuf, 1, chunk->bufLen, file->to) == chunk->bufLen);
    if (chunk->isLastChunk) {
        file->is_whole = 1;
        dumps.whole++;
        CHECK(fclose(file->to) == 0);
        file->to = NULL;
    }
    inside = dumps.inside;
    throws = dumps.throws;
    dumps.inside = NULL;
    dumps.throws = 0;
    pthread_mutex_unlock(&dumps.lock);

    if (dumps.slowness > 0)
        rest(dumps.slowness);
    if (inside != NULL)
        inside(dumps.what);
    pthread_mutex_lock(&dumps.lock);
    dumps.is_inside = 0;
    pthread_mutex_unlock(&dumps.lock);
#ifdef __cplusplus
    if (throws)
        throw 7;
#endif
    (void)throws;
    return dumps.answer;
}

/* Ends the collection. Returns how many files never ended. */
static inline int dumps_end(void)
{
    int open = 0;
    pthread_mutex_lock(&dumps.lock);
    CHECK(!dumps.is_inside);
    for (int i = 0; i < dumps.count; i++) {
        if (dumps.files[i].to != NULL) {
            open++;
            fclose(dumps.files[i].to);
        }
        free(dumps.files[i].name);
    }
    fclose(dumps.names);
    pthread_mutex_unlock(&dumps.lock);
    return open;
}

#endif
