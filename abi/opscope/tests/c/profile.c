/* A recording that is created, finished and exported. Arguments: the model, an empty directory. */
#include "check.h"

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    opscope_session_t session;
    OK(opscope_session_load(argv[1], NULL, &session));
    char path[4096];
    snprintf(path, sizeof path, "%s/recording", argv[2]);
    opscope_profiler_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.switches = "task-time=maybe";
    opscope_profiler_t profiler;
    IS(opscope_profiler_create(session, path, &options, &profiler), OPSCOPE_ERROR_INVALID_ARGUMENT);
    SAYS("on or off");
    options.switches = "sys-hardware-mem=off,task-memory=on";
    OK(opscope_profiler_create(session, path, &options, &profiler));
    opscope_profiler_t twice;
    IS(opscope_profiler_create(session, path, &options, &twice), OPSCOPE_ERROR_SYSTEM);

    float pixels[64] = {0};
    const opscope_tensor_t input = input_of(pixels);
    opscope_instruments_t instruments;
    memset(&instruments, 0, sizeof instruments);
    instruments.size = sizeof instruments;
    instruments.profiler = profiler;
    OK(opscope_range_push("three runs"));
    for (int i = 0; i < 3; i++)
        OK(opscope_session_run(session, &input, 1, &instruments, NULL));
    OK(opscope_range_pop());
    OK(opscope_profiler_finish(profiler));
    IS(opscope_profiler_finish(profiler), OPSCOPE_ERROR_INVALID_HANDLE);
    OK(opscope_recording_export(path, "csv"));

    snprintf(path, sizeof path, "%s/recording/op_summary.csv", argv[2]);
    FILE *table = fopen(path, "r");
    CHECK(table != NULL);
    char line[4096];
    int convolutions = 0;
    while (fgets(line, sizeof line, table) != NULL)
        convolutions += strstr(line, "/conv1/Conv") != NULL;
    fclose(table);
    CHECK(convolutions > 0);
    snprintf(path, sizeof path, "%s/recording/msprof_tx.csv", argv[2]);
    table = fopen(path, "r");
    CHECK(table != NULL && fgets(line, sizeof line, table) != NULL && fgets(line, sizeof line, table) != NULL);
    CHECK(strstr(line, "three runs") != NULL);
    fclose(table);
    OK(opscope_session_free(session));
    return 0;
}
