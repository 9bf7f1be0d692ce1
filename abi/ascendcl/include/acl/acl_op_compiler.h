// Operators are not compiled here, so no function is declared.
#ifndef ACL_ACL_OP_COMPILER_H
#define ACL_ACL_OP_COMPILER_H

#include "acl_base.h"
#include "acl_op.h"

#endif
