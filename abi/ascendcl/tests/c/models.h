/* What the programs that use models share. */
#ifndef MODELS_H
#define MODELS_H

#include "check.h"

#define DIGIT (64 * sizeof(float))

/* Opens the device, as every program does first. Returns the context. With DUMP in the environment, models are
 * dumped. */
static inline aclrtContext begin(void)
{
    aclrtContext context = NULL;
    OK(aclInit(NULL));
    if (getenv("DUMP") != NULL)
        OK(aclmdlInitDump());
    OK(aclrtSetDevice(0));
    OK(aclrtCreateContext(&context, 0));
    return context;
}

/* Closes the device. */
static inline void end(aclrtContext context)
{
    OK(aclrtDestroyContext(context));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
}

/* Returns device memory, with this content unless it is NULL. */
static inline void *device(const void *from, size_t size)
{
    void *memory = NULL;
    OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    if (from != NULL)
        OK(aclrtMemcpy(memory, size, from, size, ACL_MEMCPY_HOST_TO_DEVICE));
    return memory;
}

/* Returns a file's content, which the caller frees. */
static inline char *content(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = (char *)malloc(*size + 1);
    CHECK(bytes != NULL);
    CHECK(fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

/* Returns the last bytes of an npy file, which are its elements. The caller frees them. */
static inline void *elements(const char *path, size_t bytes)
{
    size_t size;
    char *all = content(path, &size);
    CHECK(size >= bytes);
    memmove(all, all + (size - bytes), bytes);
    return all;
}

/* Returns the index of the largest number. */
static inline int largest(const float *numbers, int count)
{
    int at = 0;
    for (int i = 1; i < count; i++)
        if (numbers[i] > numbers[at])
            at = i;
    return at;
}

/* Returns a dataset of one buffer. */
static inline aclmdlDataset *dataset_of(void *data, size_t size)
{
    aclmdlDataset *dataset = aclmdlCreateDataset();
    aclDataBuffer *buffer = aclCreateDataBuffer(data, size);
    CHECK(dataset != NULL && buffer != NULL);
    OK(aclmdlAddDatasetBuffer(dataset, buffer));
    return dataset;
}

/* Destroys a dataset with its buffers. */
static inline void destroy(aclmdlDataset *dataset)
{
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); i++)
        OK(aclDestroyDataBuffer(aclmdlGetDatasetBuffer(dataset, i)));
    OK(aclmdlDestroyDataset(dataset));
}

#endif
