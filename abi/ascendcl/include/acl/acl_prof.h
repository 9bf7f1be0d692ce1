// Profiling is set up in the "profiler" section of aclInit's file, so no function is declared. The aclprof
// functions are exported, and answer 200006, or 0 where they return something else than an aclError.
#ifndef ACL_ACL_PROF_H
#define ACL_ACL_PROF_H

#include "acl_base.h"

#endif
