// What opscope adds to AscendCL. The vendor's library does not have these functions.
#ifndef ACL_ACL_OPSCOPE_H
#define ACL_ACL_OPSCOPE_H

#include <stddef.h>

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sets the most bytes of tensors in a chunk of a dump, for models that are loaded afterwards: from 1
// to 128 MiB, which is what there is without this call. Other sizes become the nearest of these.
ACL_FUNC_VISIBILITY void opscope_acldump_set_piece_size(size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
