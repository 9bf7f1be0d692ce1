/* Attaches to the debuggee and writes the images of its models into files, as a debugger does before it reads them:
 *
 *     images LIBRARY DIRECTORY
 *
 * writes DIRECTORY/<number>.relocated and DIRECTORY/<number>.other for each model, and prints a line for each. */
#include <dlfcn.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudadebugger.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, message()); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)
#define OK(call) CHECK((call) == CUDBG_SUCCESS)

static CUDBGAPI api;
static sem_t    events;

/* What the library says of the call that failed last. */
static const char* message(void)
{
    static char text[1024];
    return api && api->getErrorStringEx(text, sizeof text, NULL) == CUDBG_SUCCESS ? text : "";
}

static void notified(void* data)
{
    sem_post((sem_t*)data);
}

/* Writes an image of this type. The library writes as many bytes as it has announced, and no more. */
static void write_image(const char* directory, uint64_t handle, uint64_t size, CUDBGElfImageType type)
{
    static const unsigned char guard[16] = "0123456789abcde";
    char                       path[4096];
    unsigned char*             image = (unsigned char*)malloc(size + sizeof guard);
    FILE*                      file;

    CHECK(image != NULL);
    memset(image, 0xa5, size);
    memcpy(image + size, guard, sizeof guard);
    CHECK(api->getElfImageByHandle(0, handle, type, image, size - 1) == CUDBG_ERROR_INVALID_ARGS);
    CHECK(image[0] == 0xa5);
    CHECK(api->getElfImageByHandle(0, handle, type, NULL, size) == CUDBG_ERROR_INVALID_ARGS);
    OK(api->getElfImageByHandle(0, handle, type, image, size + sizeof guard));
    CHECK(memcmp(image + size, guard, sizeof guard) == 0);
    CHECK(memcmp(image, "\177ELF", 4) == 0);
    snprintf(path, sizeof path, "%s/%llu.%s", directory, (unsigned long long)handle,
             type == CUDBG_ELF_IMAGE_TYPE_RELOCATED ? "relocated" : "other");
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(image, 1, size, file) == size && fclose(file) == 0);
    free(image);
}

int main(int argc, char** argv)
{
    CUDBGEvent event;
    int        attached = 0;
    void*      library;
    CUDBGResult (*get)(uint32_t, uint32_t, uint32_t, CUDBGAPI*);

    CHECK(argc == 3);
    library = dlopen(argv[1], RTLD_NOW);
    CHECK(library != NULL);
    *(void**)&get = dlsym(library, "cudbgGetAPI");
    CHECK(get != NULL);
    OK(get(CUDBG_API_VERSION_MAJOR, CUDBG_API_VERSION_MINOR, CUDBG_API_VERSION_REVISION, &api));
    CHECK(sem_init(&events, 0, 0) == 0);
    OK(api->setNotifyNewEventCallback31(notified, &events));
    OK(api->initialize());
    while (!attached) {
        sem_wait(&events);
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
            if (event.kind == CUDBG_EVENT_ELF_IMAGE_LOADED) {
                uint64_t handle = event.cases.elfImageLoaded.handle, size = event.cases.elfImageLoaded.size;
                CHECK(handle != 0 && handle == event.cases.elfImageLoaded.module);
                write_image(argv[2], handle, size, CUDBG_ELF_IMAGE_TYPE_RELOCATED);
                write_image(argv[2], handle, size, CUDBG_ELF_IMAGE_TYPE_NONRELOCATED);
                printf("image %llu\n", (unsigned long long)handle);
            }
            attached |= event.kind == CUDBG_EVENT_ATTACH_COMPLETE;
        }
        OK(api->acknowledgeSyncEvents());
    }
    OK(api->finalize());
    return 0;
}
