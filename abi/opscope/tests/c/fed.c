/* Runs a model while a consumer, a library in OPSCOPE_LIB_DIR, is fed. Arguments: the model, the consumer. */
#include "check.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    opscope_session_t session;
    OK(opscope_session_load(argv[1], NULL, &session));
    size_t attached = 9;
    const char *skipped;
    OK(opscope_attach_consumers(&attached, &skipped));
    CHECK(attached == 0);
    float pixels[64] = {0};
    const opscope_tensor_t input = input_of(pixels);
    for (int i = 0; i < 3; i++)
        OK(opscope_session_run(session, &input, 1, NULL, NULL));
    void *consumer = dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD);
    CHECK(consumer != NULL);
    void *found = dlsym(consumer, "consumer_report");
    const char *(*report)(void);
    memcpy(&report, &found, sizeof report);
    printf("%s\n", report());
    OK(opscope_session_free(session));
    return 0;
}
