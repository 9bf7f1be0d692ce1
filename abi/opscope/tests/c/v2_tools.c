/* A program that is its own tool of rocprofiler v2: it is compiled with abi/rocprofiler-v2/tests/models/tool.c.
   Arguments: "first" if the tool comes before the model, or "late", and the model. */
#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif
void tool_begin(void);
void tool_end(void);
#ifdef __cplusplus
}
#endif

static void run(opscope_session_t session)
{
    float pixels[64] = {0};
    const opscope_tensor_t input = input_of(pixels);
    for (int i = 0; i < 3; i++)
        OK(opscope_session_run(session, &input, 1, NULL, NULL));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    opscope_session_t session;
    if (strcmp(argv[1], "first") == 0)
        tool_begin();
    OK(opscope_session_load(argv[2], NULL, &session));
    if (strcmp(argv[1], "late") == 0) {
        run(session);
        tool_begin();
    }
    run(session);
    OK(opscope_session_free(session));
    /* The names stay. */
    tool_end();
    return 0;
}
