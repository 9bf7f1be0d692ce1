// Functions that an output plugin defines and a profiling tool calls, one call at a time. Those
// that return an int return 0 on success and -1 on failure.
#ifndef ROCPROFILER_V2_ROCPROFILER_PLUGIN_H
#define ROCPROFILER_V2_ROCPROFILER_PLUGIN_H

#include "rocprofiler.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The versions are those of the tool's interface. Fails if the plugin does not support them.
ROCPROFILER_EXPORT int
rocprofiler_plugin_initialize(uint32_t rocprofiler_major_version,
                              uint32_t rocprofiler_minor_version,
                              void*    data);

ROCPROFILER_EXPORT void
rocprofiler_plugin_finalize(void);

// Writes a batch: see rocprofiler_buffer_callback_t.
ROCPROFILER_EXPORT int
rocprofiler_plugin_write_buffer_records(const rocprofiler_record_header_t* begin,
                                        const rocprofiler_record_header_t* end,
                                        rocprofiler_session_id_t           session_id,
                                        rocprofiler_buffer_id_t            buffer_id);

// Writes a record of a synchronous callback: see rocprofiler_sync_callback_t.
ROCPROFILER_EXPORT int
rocprofiler_plugin_write_record(rocprofiler_record_tracer_t record);

#ifdef __cplusplus
}
#endif

#endif
