// Attaches to the debuggee and writes the images of its models into files, as debuggers do to read them:
//
//     images DIRECTORY
//
// writes DIRECTORY/<handle>.relocated and DIRECTORY/<handle>.other for each model, and prints a line for each.
#include <stdint.h>

#include "check.h"

static void on_event(void* data)
{
    (void)data;
    notify();
}

// Writes an image of this type. The library writes as many bytes as it has announced, and no more.
static void write_image(const char* directory, uint64_t handle, uint64_t size, CUDBGElfImageType type)
{
    static const unsigned char guard[16] = "0123456789abcde";
    char                       path[4096];
    unsigned char*             image = (unsigned char*)malloc(size + sizeof guard);

    CHECK(image);
    memset(image, 0xa5, size);
    memcpy(image + size, guard, sizeof guard);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getElfImageByHandle(0, handle, type, image, size - 1));
    CHECK(image[0] == 0xa5);
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getElfImageByHandle(0, handle, type, NULL, size));
    ANSWERS(CUDBG_ERROR_INVALID_ARGS, api->getElfImageByHandle(0, handle, (CUDBGElfImageType)2, image, size));
    ANSWERS(CUDBG_SUCCESS, api->getElfImageByHandle(0, handle, type, image, size + sizeof guard));
    CHECK(memcmp(image + size, guard, sizeof guard) == 0);
    CHECK(memcmp(image, "\177ELF", 4) == 0);
    snprintf(path, sizeof path, "%s/%llu.%s", directory, (unsigned long long)handle,
             type == CUDBG_ELF_IMAGE_TYPE_RELOCATED ? "relocated" : "other");
    FILE* file = fopen(path, "wb");
    CHECK(file && fwrite(image, 1, size, file) == size && fclose(file) == 0);
    free(image);
}

int main(int argc, char** argv)
{
    CUDBGEvent event;
    int        attached = 0;

    CHECK(argc == 2);
    get_table(CUDBG_API_VERSION_MAJOR, CUDBG_API_VERSION_MINOR, CUDBG_API_VERSION_REVISION);
    ANSWERS(CUDBG_SUCCESS, api->setNotifyNewEventCallback31(on_event, NULL));
    ANSWERS(CUDBG_SUCCESS, api->initialize());
    while (!attached) {
        wait_for_notification();
        while (api->getNextEvent(CUDBG_EVENT_QUEUE_TYPE_SYNC, &event) == CUDBG_SUCCESS) {
            if (event.kind == CUDBG_EVENT_ELF_IMAGE_LOADED) {
                uint64_t handle = event.cases.elfImageLoaded.handle, size = event.cases.elfImageLoaded.size;
                CHECK(handle != 0 && handle == event.cases.elfImageLoaded.module);
                write_image(argv[1], handle, size, CUDBG_ELF_IMAGE_TYPE_RELOCATED);
                write_image(argv[1], handle, size, CUDBG_ELF_IMAGE_TYPE_NONRELOCATED);
                printf("image %llu\n", (unsigned long long)handle);
            }
            attached |= event.kind == CUDBG_EVENT_ATTACH_COMPLETE;
        }
        ANSWERS(CUDBG_SUCCESS, api->acknowledgeSyncEvents());
    }
    ANSWERS(CUDBG_SUCCESS, api->finalize());
    return 0;
}
