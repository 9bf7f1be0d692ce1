/* Every misuse of models has its code, and none crashes.
 * model_misuse MODEL: a model of one picture of 8 x 8, with ten outputs. Runs in the directory of the models. */
#include "models.h"

static char garbage[64];

static void load(const char *path)
{
    uint32_t model = 77;
    size_t size, work = 0, weights = 0;
    char *bytes = content(path, &size);

    IS(aclmdlLoadFromFile(NULL, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadFromFile(path, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadFromFile("", &model), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlLoadFromFile("absent.onnx", &model), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlLoadFromFile(".", &model), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlLoadFromFile("/dev/zero", &model), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlLoadFromFile("fixtures/empty.onnx", &model), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlLoadFromFile("fixtures/text.onnx", &model), ACL_ERROR_PARSE_MODEL);
    IS(aclmdlLoadFromFile("fixtures/truncated.onnx", &model), ACL_ERROR_PARSE_MODEL);
    IS(aclmdlLoadFromFile("fixtures/cycle.onnx", &model), ACL_ERROR_PARSE_MODEL);
    IS(aclmdlLoadFromFile("fixtures/external_missing.onnx", &model), ACL_ERROR_GE_LOAD_MODEL);
    IS(aclmdlLoadFromFile("fixtures/unknown_operator.onnx", &model), ACL_ERROR_GE_LOAD_MODEL);

    IS(aclmdlLoadFromMem(NULL, size, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadFromMem(bytes, 0, &model), ACL_ERROR_INVALID_PARAM);
    /* Sizes that no memory has. */
    IS(aclmdlLoadFromMem(bytes, (size_t)1 << 50, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadFromMem(bytes, (size_t)-1, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadFromMem(bytes, size, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadFromMem(bytes, size / 2, &model), ACL_ERROR_PARSE_MODEL);
    IS(aclmdlLoadFromMem(garbage, sizeof garbage, &model), ACL_ERROR_PARSE_MODEL);

    IS(aclmdlQuerySize(NULL, &work, &weights), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlQuerySize(path, NULL, &weights), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlQuerySize(path, &work, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlQuerySize("absent.onnx", &work, &weights), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlQuerySizeFromMem(bytes, 0, &work, &weights), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlQuerySizeFromMem(NULL, size, &work, &weights), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlQuerySizeFromMem(bytes, size, &work, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlQuerySize(path, &work, &weights));

    void *memory = device(NULL, weights + work);
    IS(aclmdlLoadFromFileWithMem(path, &model, memory, work - 1, NULL, 0), ACL_ERROR_GE_PARAM_INVALID);
    IS(aclmdlLoadFromFileWithMem(path, &model, NULL, 0, memory, weights - 1), ACL_ERROR_GE_PARAM_INVALID);
    IS(aclmdlLoadFromMemWithMem(bytes, size, &model, memory, 0, NULL, 0), ACL_ERROR_GE_PARAM_INVALID);
    CHECK(model == 77);
    OK(aclmdlLoadFromMemWithMem(bytes, size, &model, NULL, 0, memory, weights));
    OK(aclmdlUnload(model));
    IS(aclmdlUnload(model), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    IS(aclmdlUnload(0), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    OK(aclrtFree(memory));
    free(bytes);
}

static void configuration(const char *path)
{
    aclmdlConfigHandle *config = aclmdlCreateConfigHandle(), *none = (aclmdlConfigHandle *)garbage;
    uint32_t model = 0;
    size_t type = 7, size, zero = 0;
    int32_t priority = 8;
    char *bytes = content(path, &size);
    const char *nothing = NULL;

    IS(aclmdlLoadWithConfig(config, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadWithConfig(none, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlLoadWithConfig(NULL, &model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetConfigOpt(NULL, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, NULL, sizeof type), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type), ACL_ERROR_INVALID_PARAM);
    type = ACL_MDL_LOAD_FROM_FILE;
    IS(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, 4), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &priority, sizeof priority), ACL_ERROR_INVALID_PARAM);
    priority = 7;
    IS(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &priority, 8), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlSetConfigOpt(config, ACL_MDL_PRIORITY_INT32, &priority, sizeof priority));
    IS(aclmdlSetConfigOpt(config, ACL_MDL_RESERVED, &type, sizeof type), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, &nothing, sizeof nothing), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
    IS(aclmdlLoadWithConfig(config, &model), ACL_ERROR_INVALID_PARAM);

    type = ACL_MDL_LOAD_FROM_MEM;
    OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
    IS(aclmdlLoadWithConfig(config, &model), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlSetConfigOpt(config, ACL_MDL_MEM_ADDR_PTR, &bytes, sizeof bytes));
    OK(aclmdlSetConfigOpt(config, ACL_MDL_MEM_SIZET, &zero, sizeof zero));
    IS(aclmdlLoadWithConfig(config, &model), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlSetConfigOpt(config, ACL_MDL_MEM_SIZET, &size, sizeof size));
    IS(aclmdlLoadWithConfig(config, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlLoadWithConfig(config, &model));
    OK(aclmdlUnload(model));

    /* Memory that is too small is an error if the type says that there is memory. */
    void *memory = garbage;
    OK(aclmdlSetConfigOpt(config, ACL_MDL_WEIGHT_ADDR_PTR, &memory, sizeof memory));
    OK(aclmdlSetConfigOpt(config, ACL_MDL_WEIGHT_SIZET, &zero, sizeof zero));
    OK(aclmdlLoadWithConfig(config, &model));
    OK(aclmdlUnload(model));
    type = ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
    OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
    IS(aclmdlLoadWithConfig(config, &model), ACL_ERROR_GE_PARAM_INVALID);
    type = ACL_MDL_LOAD_FROM_FILE_WITH_Q;
    OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
    IS(aclmdlLoadWithConfig(config, &model), ACL_ERROR_FEATURE_UNSUPPORTED);

    OK(aclmdlDestroyConfigHandle(config));
    IS(aclmdlDestroyConfigHandle(config), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlDestroyConfigHandle(NULL), ACL_ERROR_INVALID_PARAM);
    free(bytes);
}

static void description(const char *path)
{
    uint32_t model = 0;
    size_t size, index = 0;
    char *bytes = content(path, &size);
    const char *attribute = ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES;
    aclmdlIODims dims;
    aclmdlIODimsRange range;
    aclmdlBatch batch;
    aclmdlHW hw;
    OK(aclmdlLoadFromFile(path, &model));
    aclmdlDesc *filled = aclmdlCreateDesc(), *empty = aclmdlCreateDesc(), *gone = aclmdlCreateDesc();
    OK(aclmdlGetDesc(filled, model));
    OK(aclmdlDestroyDesc(gone));
    IS(aclmdlDestroyDesc(gone), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetDesc(filled, 99), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    /* A description that could not be filled is empty. */
    CHECK(aclmdlGetNumInputs(filled) == 0);
    OK(aclmdlGetDesc(filled, model));
    IS(aclmdlGetDesc(NULL, model), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetDescFromFile(empty, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetDescFromFile(empty, "absent.onnx"), ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID);
    IS(aclmdlGetDescFromMem(empty, NULL, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetDescFromMem(empty, garbage, 0), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetDescFromMem(empty, garbage, sizeof garbage), ACL_ERROR_PARSE_MODEL);

    aclmdlDesc *wrong[4] = {NULL, (aclmdlDesc *)garbage, gone, empty};
    for (int i = 0; i < 4; i++) {
        aclmdlDesc *desc = wrong[i];
        CHECK(aclmdlGetNumInputs(desc) == 0 && aclmdlGetNumOutputs(desc) == 0);
        CHECK(aclmdlGetInputSizeByIndex(desc, 0) == 0 && aclmdlGetOutputSizeByIndex(desc, 0) == 0);
        CHECK(strcmp(aclmdlGetInputNameByIndex(desc, 0), "") == 0);
        CHECK(strcmp(aclmdlGetOutputNameByIndex(desc, 0), "") == 0);
        CHECK(aclmdlGetInputFormat(desc, 0) == -1 && aclmdlGetOutputFormat(desc, 0) == -1);
        CHECK(aclmdlGetInputDataType(desc, 0) == -1 && aclmdlGetOutputDataType(desc, 0) == -1);
        CHECK(aclmdlGetTensorRealName(desc, "image") == NULL);
        CHECK(aclmdlGetOpAttr(desc, "x", attribute) == NULL);
        IS(aclmdlGetInputDims(desc, 0, &dims), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetInputDimsV2(desc, 0, &dims), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetOutputDims(desc, 0, &dims), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetCurOutputDims(desc, 0, &dims), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetInputDimsRange(desc, 0, &range), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetInputIndexByName(desc, "image", &index), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetDynamicBatch(desc, &batch), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetDynamicHW(desc, (size_t)-1, &hw), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetInputDynamicGearCount(desc, (size_t)-1, &index), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlGetInputDynamicDims(desc, (size_t)-1, &dims, 1), ACL_ERROR_INVALID_PARAM);
    }

    CHECK(aclmdlGetInputSizeByIndex(filled, 1) == 0 && aclmdlGetOutputSizeByIndex(filled, 1) == 0);
    CHECK(strcmp(aclmdlGetInputNameByIndex(filled, 1), "") == 0);
    CHECK(aclmdlGetInputFormat(filled, 1) == -1 && aclmdlGetInputDataType(filled, 1) == -1);
    IS(aclmdlGetInputDims(filled, 1, &dims), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetInputDims(filled, 0, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetCurOutputDims(filled, 1, &dims), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlGetCurOutputDims(filled, 0, &dims));
    CHECK(dims.dimCount == 2 && dims.dims[0] == 1 && dims.dims[1] == 10);
    IS(aclmdlGetInputIndexByName(filled, ACL_DYNAMIC_TENSOR_NAME, &index), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetInputIndexByName(filled, NULL, &index), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetInputIndexByName(filled, "image", NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetOutputIndexByName(filled, "image", &index), ACL_ERROR_INVALID_PARAM);
    CHECK(aclmdlGetTensorRealName(filled, NULL) == NULL && aclmdlGetTensorRealName(filled, "x") == NULL);
    IS(aclmdlGetInputDynamicGearCount(filled, 0, &index), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetInputDynamicDims(filled, 0, &dims, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetInputDynamicDims(filled, (size_t)-1, NULL, 1), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlGetDynamicHW(filled, 3, &hw));

    CHECK(strcmp(aclmdlGetOpAttr(filled, "conv1", attribute), "") == 0);
    CHECK(aclmdlGetOpAttr(filled, "conv1", "other") == NULL);
    CHECK(aclmdlGetOpAttr(filled, NULL, attribute) == NULL && aclmdlGetOpAttr(filled, "conv1", NULL) == NULL);
    OK(aclmdlGetDescFromMem(empty, bytes, size));
    CHECK(aclmdlGetOpAttr(empty, "conv1", attribute) == NULL);
    IS(aclmdlGetCurOutputDims(empty, 0, &dims), ACL_ERROR_INVALID_PARAM);

    aclmdlInputAippType type;
    OK(aclmdlGetAippType(model, 0, &type, &index));
    CHECK(type == ACL_DATA_WITHOUT_AIPP && index == ACL_INVALID_NODE_INDEX);
    IS(aclmdlGetAippType(model, 1, &type, &index), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetAippType(model, 0, NULL, &index), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlGetAippType(99, 0, &type, &index), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    IS(aclmdlGetFirstAippInfo(model, 0, (aclAippInfo *)garbage), ACL_ERROR_GE_AIPP_NOT_EXIST);

    /* A description outlives its model. */
    OK(aclmdlUnload(model));
    CHECK(strcmp(aclmdlGetInputNameByIndex(filled, 0), "image") == 0);
    IS(aclmdlGetCurOutputDims(filled, 0, &dims), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    OK(aclmdlDestroyDesc(filled));
    OK(aclmdlDestroyDesc(empty));
    free(bytes);
}

static void execute(const char *path)
{
    uint32_t model = 0;
    float image[64] = {0}, scores[12], before[12];
    aclmdlIODims dims;
    memset(&dims, 0, sizeof dims);
    OK(aclmdlLoadFromFile(path, &model));
    aclmdlDataset *input = dataset_of(image, sizeof image), *output = dataset_of(scores, sizeof scores);
    aclDataBuffer *in = aclmdlGetDatasetBuffer(input, 0), *out = aclmdlGetDatasetBuffer(output, 0);
    aclmdlDataset *none = aclmdlCreateDataset();
    OK(aclmdlExecute(model, input, output));
    CHECK(aclmdlGetDatasetTensorDesc(output, 0) == NULL);

    IS(aclmdlExecute(model, NULL, output), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlExecute(model, input, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlExecute(model, (aclmdlDataset *)garbage, output), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlExecute(99, input, output), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    IS(aclmdlExecute(model, none, output), ACL_ERROR_GE_PARAM_INVALID);
    IS(aclmdlExecute(model, input, none), ACL_ERROR_GE_PARAM_INVALID);
    IS(aclmdlExecuteAsync(model, NULL, output, NULL), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlExecuteAsync(model, none, output, NULL), ACL_ERROR_GE_PARAM_INVALID);
    IS(aclmdlExecuteAsync(99, input, output, NULL), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    IS(aclmdlExecuteAsync(model, input, output, (aclrtStream)garbage), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclUpdateDataBuffer(in, image, sizeof image - 1));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_PARAM_INVALID);
    OK(aclUpdateDataBuffer(in, NULL, sizeof image));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_PARAM_INVALID);
    OK(aclUpdateDataBuffer(in, image, sizeof image));

    /* A buffer that is too small is not written at all. */
    memset(scores, 5, sizeof scores);
    memcpy(before, scores, sizeof scores);
    OK(aclUpdateDataBuffer(out, scores, 10 * sizeof(float) - 1));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_PARAM_INVALID);
    CHECK(memcmp(before, scores, sizeof scores) == 0);
    /* A larger one is written up to the end of the tensor. */
    OK(aclUpdateDataBuffer(out, scores, sizeof scores));
    OK(aclmdlExecute(model, input, output));
    CHECK(memcmp(before + 10, scores + 10, 2 * sizeof(float)) == 0 && scores[0] != before[0]);

    /* For device memory, the allocation counts: a buffer's size may lack the padding, and may not exceed the
     * allocation. */
    void *memory = device(NULL, 10 * sizeof(float));
    OK(aclUpdateDataBuffer(out, memory, 1));
    OK(aclmdlExecute(model, input, output));
    CHECK(memcmp(memory, scores, 10 * sizeof(float)) == 0);
    void *end_of_memory = (char *)memory + 64;
    OK(aclUpdateDataBuffer(out, end_of_memory, 4096));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_PARAM_INVALID);
    OK(aclUpdateDataBuffer(out, (char *)memory + 3, 10 * sizeof(float)));
    OK(aclmdlExecute(model, input, output));
    CHECK(memcmp((char *)memory + 3, scores, 10 * sizeof(float)) == 0);
    OK(aclrtFree(memory));
    OK(aclUpdateDataBuffer(out, scores, sizeof scores));

    /* Memory that is freed between the call and the run is not touched. */
    aclrtStream stream = NULL;
    gate gate;
    gate_init(&gate);
    OK(aclrtCreateStream(&stream));
    memory = device(image, sizeof image);
    OK(aclUpdateDataBuffer(in, memory, sizeof image));
    OK(aclrtLaunchHostFunc(stream, gate_wait, &gate));
    OK(aclmdlExecuteAsync(model, input, output, stream));
    OK(aclrtFree(memory));
    gate_open(&gate);
    IS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_MODEL_EXECUTE);
    OK(aclUpdateDataBuffer(in, image, sizeof image));

    /* A shape that a static model does not have, and gears, which it does not have either. */
    int64_t two[4] = {2, 1, 8, 8};
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_FLOAT, 4, two, ACL_FORMAT_NCHW);
    OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_SHAPE_INVALID);
    OK(aclmdlSetDatasetTensorDesc(input, NULL, 0));
    OK(aclmdlExecute(model, input, output));
    aclDestroyTensorDesc(shape);
    IS(aclmdlSetDynamicBatchSize(model, input, 0, 1), ACL_ERROR_MODEL_NOT_DYNAMIC);
    IS(aclmdlSetDynamicBatchSize(model, input, 0, 0), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(model, NULL, 0, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(model, input, 1, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(99, input, 0, 1), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    IS(aclmdlSetDynamicHWSize(model, input, 0, 8, 8), ACL_ERROR_MODEL_NOT_DYNAMIC);
    IS(aclmdlSetDynamicHWSize(model, input, 0, 8, 0), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetInputDynamicDims(model, input, 0, &dims), ACL_ERROR_MODEL_NOT_DYNAMIC);
    IS(aclmdlSetInputDynamicDims(model, input, 0, NULL), ACL_ERROR_INVALID_PARAM);

    /* With a configuration. */
    aclmdlExecConfigHandle *config = aclmdlCreateExecConfigHandle();
    int32_t timeout = -2;
    size_t size = 1;
    IS(aclmdlExecuteV2(model, input, output, stream, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlExecuteV2(model, input, output, stream, config));
    OK(aclmdlExecuteV2(model, input, output, NULL, config));
    IS(aclmdlExecuteV2(model, none, output, stream, config), ACL_ERROR_GE_PARAM_INVALID);
    IS(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4), ACL_ERROR_INVALID_PARAM);
    timeout = 100000;
    IS(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 8), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, NULL, 4), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetExecConfigOpt(NULL, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4));
    OK(aclmdlSetExecConfigOpt(config, ACL_MDL_EVENT_SYNC_TIMEOUT, &timeout, 4));
    OK(aclmdlSetExecConfigOpt(config, ACL_MDL_WORK_SIZET, &size, sizeof size));
    OK(aclmdlExecuteV2(model, input, output, stream, config));
    /* Output that comes too late is not written. */
    timeout = 20;
    gate_init(&gate);
    memset(scores, 5, sizeof scores);
    OK(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, 4));
    OK(aclrtLaunchHostFunc(stream, gate_wait, &gate));
    IS(aclmdlExecuteV2(model, input, output, stream, config), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    gate_open(&gate);
    OK(aclrtSynchronizeStream(stream));
    CHECK(memcmp(before, scores, sizeof scores) == 0);
    OK(aclmdlDestroyExecConfigHandle(config));
    IS(aclmdlDestroyExecConfigHandle(config), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlExecuteV2(model, input, output, stream, config), ACL_ERROR_INVALID_PARAM);
    OK(aclrtDestroyStream(stream));

    /* A buffer that was destroyed. */
    OK(aclDestroyDataBuffer(out));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlDestroyDataset(output));
    destroy(input);
    OK(aclmdlDestroyDataset(none));
    OK(aclmdlUnload(model));
}

static void unsupported(void)
{
    IS(aclmdlExecuteAsyncV2(1, NULL, NULL, NULL, NULL), ACL_ERROR_FEATURE_UNSUPPORTED);
    IS(aclmdlCreateAndGetOpDesc(0, 0, 0, NULL, 0, NULL, NULL, NULL, NULL), ACL_ERROR_FEATURE_UNSUPPORTED);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    uint32_t model = 0;
    IS(aclmdlLoadFromFile(argv[1], &model), ACL_ERROR_RT_CONTEXT_NULL);
    aclrtContext context = begin();
    load(argv[1]);
    configuration(argv[1]);
    description(argv[1]);
    execute(argv[1]);
    unsupported();
    end(context);
    return 0;
}
