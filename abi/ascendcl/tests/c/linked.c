/* A program that needs four libraries, as newer programs do. */
#include "acl/acl.h"
#include "acl/acl_dump.h"

#include <dlfcn.h>
#include <stdio.h>

static int32_t take(const acldumpChunk *chunk, int32_t length)
{
    (void)chunk;
    return length == 0;
}

int main(void)
{
    static const char *const names[] = {"libascendcl.so", "libacl_rt.so", "libacl_mdl.so", "libascend_dump.so"};
    void *loaded[4];
    for (size_t i = 0; i < 4; i++) {
        loaded[i] = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
        if (loaded[i] == NULL || loaded[i] != loaded[0]) {
            fprintf(stderr, "%s is not the library that is loaded\n", names[i]);
            return 1;
        }
    }
    aclmdlDesc *description = aclmdlCreateDesc();
    int failed = description == NULL || aclmdlDestroyDesc(description) != ACL_SUCCESS || aclInit(NULL) != ACL_SUCCESS
        || acldumpRegCallback(take, 0) != ACL_SUCCESS;
    acldumpUnregCallback();
    failed |= aclFinalize() != ACL_SUCCESS;
    puts(failed ? "failed" : "passed");
    return failed;
}
