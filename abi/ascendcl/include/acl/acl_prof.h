// Profiling is set up in the "profiler" section of aclInit's file, so no function is declared.
#ifndef ACL_ACL_PROF_H
#define ACL_ACL_PROF_H

#include "acl_base.h"

#endif
