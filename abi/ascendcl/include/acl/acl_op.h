// Single operators. They are not executed here, so no function is declared.
#ifndef ACL_ACL_OP_H
#define ACL_ACL_OP_H

#include "acl_base.h"
#include "acl_dump.h"
#include "acl_rt.h"

typedef struct aclOpExecutor aclOpExecutor;

#endif
