/* What the programs here have in common: the library, a session, and an array of numbers. */
#ifndef CHECK_H
#define CHECK_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

static const OrtApi *api;

/* The function that is looked up in the library that the program opens. */
#ifndef ENTRY
#define ENTRY "OrtGetApiBase"
#endif

/* Returns the library's function: of the library that the program is linked with, or of the one that it opens. */
static inline const OrtApiBase *library(const char *path)
{
#ifdef LINKED
    (void)path;
    return OrtGetApiBase();
#else
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const OrtApiBase *(*entry)(void) = NULL;
    void *found = handle == NULL ? NULL : dlsym(handle, ENTRY);
    if (found == NULL) {
        printf("no library: %s\n", dlerror());
        exit(1);
    }
    memcpy(&entry, &found, sizeof entry);
    return entry();
#endif
}

/* Prints an error and returns whether there is one. */
static inline int failed(OrtStatus *status)
{
    if (status == NULL)
        return 0;
    printf("error %d: %s\n", ORT(api, GetErrorCode, int, (const OrtStatus *))(status),
           ORT(api, GetErrorMessage, const char *, (const OrtStatus *))(status));
    fflush(stdout);
    ORT(api, ReleaseStatus, void, (OrtStatus *))(status);
    return 1;
}

/* Ends the program if there is an error. */
static inline void must(OrtStatus *status)
{
    if (failed(status))
        exit(1);
}

/* What a program makes before it runs a model. */
typedef struct {
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtSession *session;
} Opened;

/* Finds the library, and makes an environment, and options for this many threads; 0 means the library's default. */
static inline Opened opened(const char *path, int threads)
{
    const OrtApiBase *base = library(path);
    Opened made = {NULL, NULL, NULL};
    api = base->GetApi(ORT_INTERFACE);
    if (api == NULL || base->GetVersionString()[0] != '1') {
        printf("the library has no interface %d\n", ORT_INTERFACE);
        exit(1);
    }
    must(ORT(api, CreateEnv, OrtStatus *, (int, const char *, OrtEnv **))(3, "test", &made.env));
    must(ORT(api, CreateSessionOptions, OrtStatus *, (OrtSessionOptions **))(&made.options));
    if (threads > 0)
        must(ORT(api, SetIntraOpNumThreads, OrtStatus *, (OrtSessionOptions *, int))(made.options, threads));
    return made;
}

/* Makes the session of a model in a file. */
static inline OrtStatus *load(Opened *made, const char *model)
{
    return ORT(api, CreateSession, OrtStatus *, (const OrtEnv *, const char *, const OrtSessionOptions *, OrtSession **))(
        made->env, model, made->options, &made->session);
}

/* Releases the session, and what it was made of. */
static inline void closed(Opened *made)
{
    if (made->session != NULL)
        ORT(api, ReleaseSession, void, (OrtSession *))(made->session);
    ORT(api, ReleaseSessionOptions, void, (OrtSessionOptions *))(made->options);
    ORT(api, ReleaseEnv, void, (OrtEnv *))(made->env);
}

/* Reads a whole file. */
static inline char *contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = (char *)malloc(*size);
    if (fread(bytes, 1, *size, file) != *size)
        exit(1);
    fclose(file);
    return bytes;
}

/* Reads the numbers of a .npy file of float32. */
static inline float *numbers(const char *path, size_t *count)
{
    size_t size;
    char *bytes = contents(path, &size);
    size_t header = 10 + (unsigned char)bytes[8] + 256 * (size_t)(unsigned char)bytes[9];
    *count = (size - header) / sizeof(float);
    float *read = (float *)malloc(size - header + 1);
    memcpy(read, bytes + header, size - header);
    free(bytes);
    return read;
}

/* Makes a tensor of the program's own memory. */
static inline OrtValue *tensor(float *data, size_t count, const int64_t *shape, size_t rank)
{
    OrtMemoryInfo *memory = NULL;
    OrtValue *value = NULL;
    must(ORT(api, CreateCpuMemoryInfo, OrtStatus *, (int, int, OrtMemoryInfo **))(1, 0, &memory));
    must(ORT(api, CreateTensorWithDataAsOrtValue, OrtStatus *,
             (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **))(
        memory, data, count * sizeof(float), shape, rank, 1, &value));
    ORT(api, ReleaseMemoryInfo, void, (OrtMemoryInfo *))(memory);
    return value;
}

/* Returns a number that depends on every bit of a tensor of float32. */
static inline uint64_t hash_of(OrtValue *value)
{
    OrtTypeInfo *info = NULL;
    size_t count = 0;
    unsigned char *data = NULL;
    must(ORT(api, GetTensorTypeAndShape, OrtStatus *, (const OrtValue *, OrtTypeInfo **))(value, &info));
    must(ORT(api, GetTensorShapeElementCount, OrtStatus *, (const OrtTypeInfo *, size_t *))(info, &count));
    ORT(api, ReleaseTensorTypeAndShapeInfo, void, (OrtTypeInfo *))(info);
    must(ORT(api, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))(value, (void **)&data));
    uint64_t hash = 14695981039346656037u;
    for (size_t at = 0; at < count * sizeof(float); at++)
        hash = (hash ^ data[at]) * 1099511628211u;
    return hash;
}

static inline OrtStatus *run(OrtSession *session, const char *const *input_names, const OrtValue *const *inputs, size_t input_count,
                             const char *const *output_names, size_t output_count, OrtValue **outputs)
{
    return ORT(api, Run, OrtStatus *,
               (OrtSession *, const void *, const char *const *, const OrtValue *const *, size_t, const char *const *, size_t,
                OrtValue **))(session, NULL, input_names, inputs, input_count, output_names, output_count, outputs);
}

static inline void release(OrtValue *value)
{
    ORT(api, ReleaseValue, void, (OrtValue *))(value);
}

#endif
