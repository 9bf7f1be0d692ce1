// Tensor descriptions: data type, shape, format and name of a tensor.
#ifndef ACL_ACL_BASE_MDL_H
#define ACL_ACL_BASE_MDL_H

#include <stddef.h>
#include <stdint.h>

#include "acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclTensorDesc aclTensorDesc;

// Returns NULL if an argument is wrong. dims is not read if numDims is 0.
ACL_FUNC_VISIBILITY aclTensorDesc* aclCreateTensorDesc(aclDataType    dataType,
                                                       int            numDims,
                                                       const int64_t* dims,
                                                       aclFormat      format);
ACL_FUNC_VISIBILITY void           aclDestroyTensorDesc(const aclTensorDesc* desc);

// For NULL these return -1, -1, 0, 0 and 0.
ACL_FUNC_VISIBILITY aclDataType aclGetTensorDescType(const aclTensorDesc* desc);
ACL_FUNC_VISIBILITY aclFormat   aclGetTensorDescFormat(const aclTensorDesc* desc);
ACL_FUNC_VISIBILITY size_t      aclGetTensorDescSize(const aclTensorDesc* desc);
ACL_FUNC_VISIBILITY size_t      aclGetTensorDescElementCount(const aclTensorDesc* desc);
ACL_FUNC_VISIBILITY size_t      aclGetTensorDescNumDims(const aclTensorDesc* desc);

// Deprecated. Returns -1 on an error.
ACL_FUNC_VISIBILITY int64_t  aclGetTensorDescDim(const aclTensorDesc* desc, size_t index);
ACL_FUNC_VISIBILITY aclError aclGetTensorDescDimV2(const aclTensorDesc* desc,
                                                   size_t               index,
                                                   int64_t*             dim);

ACL_FUNC_VISIBILITY const char*    aclGetTensorDescName(aclTensorDesc* desc);
ACL_FUNC_VISIBILITY void           aclSetTensorDescName(aclTensorDesc* desc, const char* name);
ACL_FUNC_VISIBILITY aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* desc, size_t index);
ACL_FUNC_VISIBILITY void*          aclGetTensorDescAddress(const aclTensorDesc* desc);

#ifdef __cplusplus
}
#endif

#endif
