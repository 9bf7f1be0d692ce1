/* Loads a model from a file and from memory, describes it and runs it. Arguments: the model, its input. */
#include "check.h"

static void *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *length = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*length);
    CHECK(bytes != NULL && fread(bytes, 1, *length, file) == *length);
    fclose(file);
    return bytes;
}

static int digit(opscope_session_t session, const float *pixels)
{
    const opscope_tensor_t input = input_of(pixels);
    opscope_tensors_t outputs;
    OK(opscope_session_run(session, &input, 1, NULL, &outputs));
    CHECK(opscope_tensors_count(outputs) == 1);
    opscope_tensor_t output;
    output.size = sizeof output;
    OK(opscope_tensors_get(outputs, 0, &output));
    CHECK(output.dtype == OPSCOPE_FLOAT32 && output.rank == 2 && output.dims[1] == 10);
    const float *probabilities = (const float *)output.data;
    int best = 0;
    for (int i = 1; i < 10; i++) {
        if (probabilities[i] > probabilities[best])
            best = i;
    }
    OK(opscope_tensors_free(outputs));
    return best;
}

/* Objects are numbered as they are made. A run without a place for its outputs makes no list, which the caller could
 * not free. */
static void leave_outputs(opscope_session_t session, const float *pixels)
{
    const opscope_tensor_t input = input_of(pixels);
    opscope_tensors_t before, after;
    OK(opscope_session_run(session, &input, 1, NULL, &before));
    OK(opscope_session_run(session, &input, 1, NULL, NULL));
    OK(opscope_session_run(session, &input, 1, NULL, &after));
    CHECK(after.id == before.id + 1);
    OK(opscope_tensors_free(before));
    OK(opscope_tensors_free(after));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    CHECK(opscope_version() == OPSCOPE_VERSION);

    opscope_session_t session;
    OK(opscope_session_load(argv[1], NULL, &session));
    opscope_session_info_t info;
    info.size = sizeof info;
    OK(opscope_session_info(session, &info));
    printf("model %s (%s, by %s), %zu operators, engine %s, fidelity %u, %u thread\n", info.name, info.path,
           info.producer, info.operators, info.engine, info.fidelity, info.threads);
    opscope_value_t value;
    value.size = sizeof value;
    OK(opscope_session_input(session, 0, &value));
    printf("input %s: %s, rank %d [", value.name, opscope_dtype_name(value.dtype), value.rank);
    for (int i = 0; i < value.rank; i++)
        printf(" %s%lld", value.dim_names[i] ? value.dim_names[i] : "", (long long)value.dims[i]);
    printf(" ]\n");
    for (size_t i = 0; i < info.operators; i++) {
        opscope_operator_t op;
        op.size = sizeof op;
        OK(opscope_session_operator(session, i, &op));
        CHECK(op.id == i && op.output_count > 0);
        printf("operator %u %s (%s) %s -> %s\n", op.id, op.name, op.op_type, op.inputs[0], op.outputs[0]);
    }
    opscope_operator_t none;
    none.size = sizeof none;
    IS(opscope_session_operator(session, info.operators, &none), OPSCOPE_ERROR_NOT_FOUND);

    float *pixels = image(argv[2]);
    printf("digit %d\n", digit(session, pixels));
    leave_outputs(session, pixels);
    OK(opscope_session_free(session));

    size_t length;
    void *bytes = read_file(argv[1], &length);
    opscope_session_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.fidelity = OPSCOPE_EXACT;
    OK(opscope_session_load_memory(bytes, length, &options, &session));
    free(bytes);
    OK(opscope_session_info(session, &info));
    printf("from %s, fidelity %u: digit %d\n", info.path, info.fidelity, digit(session, pixels));
    OK(opscope_session_free(session));
    free(pixels);
    return 0;
}
