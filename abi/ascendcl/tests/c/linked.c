/* A program that needs the vendor's libraries, as newer programs do. */
#include "acl/acl.h"
#include "acl/acl_dump.h"
#include "acl/ops/acl_dvpp.h"

#include <dlfcn.h>
#include <stdio.h>

static int32_t take(const acldumpChunk *chunk, int32_t length)
{
    (void)chunk;
    return length == 0;
}

int main(void)
{
    static const char *const names[] = {"libascendcl.so",     "libacl_rt.so",   "libacl_mdl.so",
                                        "libascend_dump.so", "libacl_dvpp.so", "libacl_cblas.so"};
    void *loaded[6];
    for (size_t i = 0; i < 6; i++) {
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
    /* Memory for images is memory of the device. */
    void *image = NULL;
    size_t before = 0, during = 0, after = 0, total = 0;
    failed |= aclrtSetDevice(0) != ACL_SUCCESS || aclrtGetMemInfo(ACL_HBM_MEM, &before, &total) != ACL_SUCCESS
        || acldvppMalloc(&image, 1 << 20) != ACL_SUCCESS || aclrtMemset(image, 1 << 20, 7, 1 << 20) != ACL_SUCCESS
        || aclrtGetMemInfo(ACL_HBM_MEM, &during, &total) != ACL_SUCCESS || acldvppFree(image) != ACL_SUCCESS
        || aclrtGetMemInfo(ACL_HBM_MEM, &after, &total) != ACL_SUCCESS || during + (1 << 20) > before || after != before
        || acldvppFree(image) == ACL_SUCCESS || acldvppMalloc(NULL, 1) == ACL_SUCCESS
        || acldvppMalloc(&image, 0) == ACL_SUCCESS || aclrtResetDevice(0) != ACL_SUCCESS;
    failed |= aclFinalize() != ACL_SUCCESS;
    puts(failed ? "failed" : "passed");
    return failed;
}
