/* Loads the library under each of its names, as tools do. libraries DIRECTORY */
#include "acl/acl.h"
#include "acl/acl_dump.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int holds, const char *name, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s does not hold; %s\n", name, what, dlerror());
        exit(1);
    }
}
#define CHECK(condition) require(condition, name, #condition)

static int32_t take(const acldumpChunk *chunk, int32_t length)
{
    (void)chunk;
    return length == 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"libascendcl.so",     "libacl_rt.so",   "libacl_mdl.so",
                                        "libascend_dump.so", "libacl_dvpp.so", "libacl_cblas.so"};
    static const char *const functions[] = {"aclInit", "aclrtMalloc", "aclmdlLoadFromFile", "acldumpRegCallback"};
    void *first = NULL;
    const char *name = "the program";
    CHECK(argc == 2);
    for (size_t i = 0; i < 6; i++) {
        char path[4096];
        name = names[i];
        snprintf(path, sizeof path, "%s/%s", argv[1], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        first = first == NULL ? library : first;
        /* All names lead to one object, so there is one state. */
        CHECK(library == first);
        for (size_t function = 0; function < 4; function++)
            CHECK(dlsym(library, functions[function]) == dlsym(first, functions[function]));
        CHECK(dlsym(library, "acldumpUnregCallback") != NULL);
    }

    /* The vendor's registration is found in one library, and initialization in another. */
    aclError (*init)(const char *) = NULL;
    aclError (*reg)(int32_t (*const)(const acldumpChunk *, int32_t), int32_t) = NULL;
    aclError (*finalize)(void) = NULL;
    void (*unreg)(void) = NULL;
    void *found = dlsym(first, "aclInit");
    memcpy(&init, &found, sizeof found);
    found = dlsym(first, "acldumpRegCallback");
    memcpy(&reg, &found, sizeof found);
    found = dlsym(first, "acldumpUnregCallback");
    memcpy(&unreg, &found, sizeof found);
    found = dlsym(first, "aclFinalize");
    memcpy(&finalize, &found, sizeof found);
    CHECK(init(NULL) == ACL_SUCCESS);
    CHECK(reg(take, 0) == ACL_SUCCESS);
    unreg();
    CHECK(finalize() == ACL_SUCCESS);
    puts("passed");
    return 0;
}
