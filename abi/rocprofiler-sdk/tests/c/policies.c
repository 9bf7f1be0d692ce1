/* Both variables that override policies are set, which contradict each other. */
static void make_buffer(void);
#define TOOL_INITIALIZE make_buffer
#include "tool.h"

#include "kept.h"

static void make_buffer(void)
{
    rocprofiler_buffer_id_t buffer = {0};
    ANSWERS(ERROR_INVALID_ARGUMENT, rocprofiler_create_buffer(new_context(), 4096, 0,
                                                              ROCPROFILER_BUFFER_POLICY_LOSSLESS,
                                                              keep, NULL, &buffer));
    CHECK(buffer.handle == 0);
}

int main(void)
{
    begin();
    return 0;
}
