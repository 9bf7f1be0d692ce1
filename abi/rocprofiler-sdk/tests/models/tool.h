/* The functions of the tool that a program is compiled with. */
#ifndef TOOL_H
#define TOOL_H

#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>

#ifdef __cplusplus
extern "C" {
#endif

rocprofiler_tool_configure_result_t* tool_configure(uint32_t version, const char* text, uint32_t priority,
                                                    rocprofiler_client_id_t* id);

/* Start and stop its context, and deliver what waits in its buffer. */
void tool_start(void);
void tool_stop(void);
void tool_flush(void);

/* The program's own, which each callback calls first (with IN_CALLBACKS). */
void tool_called(const rocprofiler_callback_tracing_record_t* record);

/* Writes a line of its own. */
void tool_say(const char* text);

#ifdef __cplusplus
}
#endif

#endif
