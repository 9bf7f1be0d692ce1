// Access to the function tables of runtimes when they register.
#ifndef ROCPROFILER_SDK_INTERCEPT_TABLE_H
#define ROCPROFILER_SDK_INTERCEPT_TABLE_H

#include <rocprofiler-sdk/defines.h>
#include <rocprofiler-sdk/fwd.h>

ROCPROFILER_EXTERN_C_INIT

// Receives a runtime's live tables. type is a single bit; num_tables is 1.
typedef void (*rocprofiler_intercept_library_cb_t)(rocprofiler_intercept_table_t type,
                                                   uint64_t                      lib_version,
                                                   uint64_t                      lib_instance,
                                                   void**                        tables,
                                                   uint64_t                      num_tables,
                                                   void*                         user_data);

// Registers a callback. libs: bits of rocprofiler_intercept_table_t, 0 = all.
// Not legal once initialization is complete.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_at_intercept_table_registration(rocprofiler_intercept_library_cb_t callback,
                                            int                                libs,
                                            void*                              data);

// Sets *name and *name_len for a single bit. Both pointers may be null.
ROCPROFILER_API rocprofiler_status_t
rocprofiler_query_intercept_table_name(rocprofiler_intercept_table_t kind,
                                       const char**                  name,
                                       uint64_t*                     name_len);

ROCPROFILER_EXTERN_C_FINI

#endif
