#ifndef OPSCOPE_ACL_DVPP_H
#define OPSCOPE_ACL_DVPP_H

#include <stddef.h>

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif

// Memory of the device, as aclrtMalloc and aclrtFree. Nothing else of this interface is here: no image
// is decoded or scaled.
ACL_FUNC_VISIBILITY aclError acldvppMalloc(void** devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError acldvppFree(void* devPtr);

#ifdef __cplusplus
}
#endif

#endif
