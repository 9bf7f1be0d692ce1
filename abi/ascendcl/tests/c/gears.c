/* Models with gears: their descriptions, and runs with each gear. gears batch|image|dims|wrong MODEL */
#include "models.h"

static uint32_t model;
static aclmdlDesc *desc;
static size_t choice;

/* Checks a shape, which ends with 0. */
static void is_shape(const aclmdlIODims *dims, const int64_t *expected)
{
    size_t count = 0;
    for (; expected[count] != 0; count++)
        CHECK(count < dims->dimCount && dims->dims[count] == expected[count]);
    CHECK(dims->dimCount == count);
}

static void open_model(const char *path)
{
    aclmdlIODims dims;
    aclmdlIODimsRange range;
    OK(aclmdlLoadFromFile(path, &model));
    desc = aclmdlCreateDesc();
    OK(aclmdlGetDesc(desc, model));
    /* The last input stands for the choice. */
    CHECK(aclmdlGetNumInputs(desc) == 2);
    OK(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &choice));
    CHECK(choice == 1 && strcmp(aclmdlGetInputNameByIndex(desc, 1), "ascend_mbatch_shape_data") == 0);
    CHECK(aclmdlGetInputDataType(desc, 1) == ACL_INT32);
    OK(aclmdlGetInputDims(desc, 1, &dims));
    CHECK(dims.dimCount == 1 && aclmdlGetInputSizeByIndex(desc, 1) == (size_t)dims.dims[0] * 4);
    OK(aclmdlGetInputDimsRange(desc, 0, &range));
    CHECK(range.rangeCount == 0);

    /* The file says the same. */
    aclmdlDesc *of_file = aclmdlCreateDesc();
    size_t work = 0, weights = 0;
    OK(aclmdlGetDescFromFile(of_file, path));
    CHECK(aclmdlGetNumInputs(of_file) == 2);
    CHECK(aclmdlGetInputSizeByIndex(of_file, 0) == aclmdlGetInputSizeByIndex(desc, 0));
    CHECK(aclmdlGetOutputSizeByIndex(of_file, 0) == aclmdlGetOutputSizeByIndex(desc, 0));
    OK(aclmdlQuerySize(path, &work, &weights));
    CHECK(work == aclmdlGetInputSizeByIndex(desc, 0) + aclmdlGetOutputSizeByIndex(desc, 0));
    OK(aclmdlDestroyDesc(of_file));
}

static void close_model(void)
{
    OK(aclmdlUnload(model));
    OK(aclmdlDestroyDesc(desc));
}

/* Returns a dataset of an input and of the input for the choice, with the sizes that the description gives. */
static aclmdlDataset *inputs_of(const void *from)
{
    size_t size = aclmdlGetInputSizeByIndex(desc, 0), choice_size = aclmdlGetInputSizeByIndex(desc, choice);
    aclmdlDataset *inputs = dataset_of(device(from, size), size);
    OK(aclmdlAddDatasetBuffer(inputs, aclCreateDataBuffer(device(NULL, choice_size), choice_size)));
    return inputs;
}

static aclmdlDataset *outputs_of(void)
{
    size_t size = aclmdlGetOutputSizeByIndex(desc, 0);
    void *memory = device(NULL, size);
    memset(memory, 7, size);
    return dataset_of(memory, size);
}

static void release(aclmdlDataset *dataset)
{
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); i++)
        OK(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(dataset, i))));
    destroy(dataset);
}

static void *memory_of(aclmdlDataset *dataset, size_t index)
{
    return aclGetDataBufferAddr(aclmdlGetDatasetBuffer(dataset, index));
}

/* Checks this many numbers of an output. The numbers after them are unchanged. */
static void computed(aclmdlDataset *output, const float *expected, size_t count)
{
    const float *found = (const float *)memory_of(output, 0);
    size_t size = aclmdlGetOutputSizeByIndex(desc, 0);
    for (size_t i = 0; i < count; i++)
        CHECK(found[i] - expected[i] < 1e-5f && expected[i] - found[i] < 1e-5f);
    for (size_t i = count * sizeof(float); i < size; i++)
        CHECK(((const char *)found)[i] == 7);
    memset(memory_of(output, 0), 7, size);
}

static void no_other_gears(int has_batch, int has_image, size_t dims_count)
{
    aclmdlBatch batch;
    aclmdlHW hw;
    size_t gears = 99;
    OK(aclmdlGetDynamicBatch(desc, &batch));
    OK(aclmdlGetDynamicHW(desc, (size_t)-1, &hw));
    OK(aclmdlGetInputDynamicGearCount(desc, (size_t)-1, &gears));
    CHECK((batch.batchCount > 0) == has_batch && (hw.hwCount > 0) == has_image && gears == dims_count);
}

static void batch(const char *path)
{
    float *images = (float *)elements("digits_cnn.input.image.npy", 8 * DIGIT);
    float *expected = (float *)elements("digits_cnn.output.probabilities.npy", 80 * sizeof(float));
    static const int64_t open[] = {-1, 1, 8, 8, 0}, largest_out[] = {8, 10, 0}, three[] = {3, 10, 0};
    static const uint64_t sizes[] = {1, 8, 3};
    aclmdlBatch batches;
    aclmdlIODims dims;
    open_model(path);
    no_other_gears(1, 0, 0);
    OK(aclmdlGetInputDims(desc, 0, &dims));
    is_shape(&dims, open);
    OK(aclmdlGetOutputDims(desc, 0, &dims));
    is_shape(&dims, largest_out);
    CHECK(aclmdlGetInputSizeByIndex(desc, 0) == 8 * DIGIT && aclmdlGetOutputSizeByIndex(desc, 0) == 320);
    CHECK(aclmdlGetInputSizeByIndex(desc, choice) == 4);
    OK(aclmdlGetDynamicBatch(desc, &batches));
    CHECK(batches.batchCount == 3 && memcmp(batches.batch, sizes, sizeof sizes) == 0);

    aclmdlDataset *input = inputs_of(images), *other = inputs_of(images), *output = outputs_of();
    /* One has to be chosen. */
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    for (int i = 0; i < 3; i++) {
        OK(aclmdlSetDynamicBatchSize(model, input, choice, sizes[i]));
        OK(aclmdlExecute(model, input, output));
        computed(output, expected, 10 * sizes[i]);
    }
    /* The shape is that of the last choice, also before its run; a dataset keeps its own. */
    OK(aclmdlGetCurOutputDims(desc, 0, &dims));
    is_shape(&dims, three);
    OK(aclmdlSetDynamicBatchSize(model, other, choice, 8));
    OK(aclmdlGetCurOutputDims(desc, 0, &dims));
    is_shape(&dims, largest_out);
    OK(aclmdlExecuteAsync(model, input, output, NULL));
    OK(aclrtSynchronizeStream(NULL));
    computed(output, expected, 30);
    OK(aclmdlExecute(model, other, output));
    computed(output, expected, 80);
    /* A buffer may be as small as the gear. */
    OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(input, 0), memory_of(input, 0), 3 * DIGIT));
    OK(aclmdlExecute(model, input, output));
    computed(output, expected, 30);

    /* Misuse. */
    IS(aclmdlSetDynamicBatchSize(model, input, choice, 5), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    IS(aclmdlSetDynamicBatchSize(model, input, choice, (uint64_t)-1), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    IS(aclmdlSetDynamicBatchSize(model, input, choice, 0), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(model, input, 0, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(model, input, 2, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(model, NULL, choice, 1), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(99, input, choice, 1), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    IS(aclmdlSetDynamicHWSize(model, input, choice, 8, 8), ACL_ERROR_MODEL_NOT_DYNAMIC);
    OK(aclmdlGetInputDims(desc, 0, &dims));
    IS(aclmdlSetInputDynamicDims(model, input, choice, &dims), ACL_ERROR_MODEL_NOT_DYNAMIC);
    aclDataBuffer *buffer = aclmdlGetDatasetBuffer(input, choice);
    void *memory = memory_of(input, choice);
    OK(aclUpdateDataBuffer(buffer, NULL, 4));
    IS(aclmdlSetDynamicBatchSize(model, input, choice, 1), ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID);
    OK(aclUpdateDataBuffer(buffer, memory, 3));
    IS(aclmdlSetDynamicBatchSize(model, input, choice, 1), ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID);
    OK(aclUpdateDataBuffer(buffer, memory, 4));
    /* The previous choice stays. */
    OK(aclmdlExecute(model, input, output));
    computed(output, expected, 30);
    aclmdlDataset *alone = dataset_of(images, 8 * DIGIT);
    IS(aclmdlExecute(model, alone, output), ACL_ERROR_GE_PARAM_INVALID);
    destroy(alone);
    /* A shape that the gear does not have. */
    int64_t two[4] = {2, 1, 8, 8};
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_FLOAT, 4, two, ACL_FORMAT_NCHW);
    OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_SHAPE_INVALID);
    aclDestroyTensorDesc(shape);
    release(input);
    release(other);
    release(output);
    close_model();
    free(images);
    free(expected);
}

static void image(const char *path)
{
    static const uint64_t sizes[2][2] = {{2, 3}, {4, 2}};
    static const int64_t open[] = {1, 2, -1, -1, 0}, small[] = {1, 2, 2, 3, 0};
    float numbers[16], expected[16];
    aclmdlHW hw;
    aclmdlIODims dims;
    for (int i = 0; i < 16; i++) {
        numbers[i] = (float)(i % 3 - 1);
        expected[i] = numbers[i] < 0 ? 0 : numbers[i];
    }
    open_model(path);
    no_other_gears(0, 1, 0);
    OK(aclmdlGetInputDims(desc, 0, &dims));
    is_shape(&dims, open);
    CHECK(aclmdlGetInputSizeByIndex(desc, 0) == 64 && aclmdlGetInputSizeByIndex(desc, choice) == 8);
    OK(aclmdlGetDynamicHW(desc, (size_t)-1, &hw));
    CHECK(hw.hwCount == 2 && memcmp(hw.hw, sizes, sizeof sizes) == 0);
    aclmdlDataset *input = inputs_of(numbers), *output = outputs_of();
    OK(aclmdlSetDynamicHWSize(model, input, choice, 4, 2));
    OK(aclmdlExecute(model, input, output));
    computed(output, expected, 16);
    OK(aclmdlSetDynamicHWSize(model, input, choice, 2, 3));
    OK(aclmdlGetCurOutputDims(desc, 0, &dims));
    is_shape(&dims, small);
    OK(aclmdlExecute(model, input, output));
    computed(output, expected, 12);
    IS(aclmdlSetDynamicHWSize(model, input, choice, 3, 2), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    IS(aclmdlSetDynamicHWSize(model, input, choice, 0, 2), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicHWSize(model, input, choice, 2, 0), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetDynamicBatchSize(model, input, choice, 1), ACL_ERROR_MODEL_NOT_DYNAMIC);
    release(input);
    release(output);
    close_model();
}

static void dims(const char *path)
{
    int64_t *ids = (int64_t *)elements("token_classifier.input.input_ids.npy", 4 * 41 * sizeof(int64_t));
    float *expected = (float *)elements("token_classifier.output.logits.npy", 40 * sizeof(float));
    static const int64_t all[2][3] = {{4, 41, 0}, {1, 41, 0}};
    aclmdlIODims gears[3];
    size_t count = 0;
    memset(gears, 0x55, sizeof gears);
    open_model(path);
    no_other_gears(0, 0, 2);
    CHECK(aclmdlGetInputSizeByIndex(desc, 0) == 4 * 41 * 8 && aclmdlGetInputSizeByIndex(desc, choice) == 8);
    OK(aclmdlGetInputDynamicGearCount(desc, (size_t)-1, &count));
    IS(aclmdlGetInputDynamicDims(desc, (size_t)-1, gears, 1), ACL_ERROR_INVALID_PARAM);
    CHECK(gears[0].dimCount == 0x5555555555555555);
    OK(aclmdlGetInputDynamicDims(desc, (size_t)-1, gears, count));
    is_shape(&gears[0], all[0]);
    is_shape(&gears[1], all[1]);
    CHECK(gears[2].dimCount == 0x5555555555555555);
    aclmdlDataset *input = inputs_of(ids), *output = outputs_of();
    for (int i = 0; i < 2; i++) {
        OK(aclmdlSetInputDynamicDims(model, input, choice, &gears[i]));
        OK(aclmdlExecute(model, input, output));
        computed(output, expected, i == 0 ? 40 : 10);
    }
    aclmdlIODims wrong = gears[0];
    wrong.dims[1] = 40;
    IS(aclmdlSetInputDynamicDims(model, input, choice, &wrong), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    wrong.dims[1] = -41;
    IS(aclmdlSetInputDynamicDims(model, input, choice, &wrong), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    wrong.dimCount = 1;
    IS(aclmdlSetInputDynamicDims(model, input, choice, &wrong), ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID);
    /* More dimensions than fit into the struct. */
    wrong.dimCount = (size_t)-1;
    IS(aclmdlSetInputDynamicDims(model, input, choice, &wrong), ACL_ERROR_INVALID_PARAM);
    wrong.dimCount = 129;
    IS(aclmdlSetInputDynamicDims(model, input, choice, &wrong), ACL_ERROR_INVALID_PARAM);
    IS(aclmdlSetInputDynamicDims(model, input, choice, NULL), ACL_ERROR_INVALID_PARAM);
    release(input);
    release(output);
    close_model();
    free(ids);
    free(expected);
}

/* The user's settings do not fit the model, so it is not loaded. Prints the reason. */
static void wrong(const char *path)
{
    aclGetRecentErrMsg();
    aclError code = aclmdlLoadFromFile(path, &model);
    printf("%d %s\n", code, aclGetRecentErrMsg());
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    aclrtContext context = begin();
    if (strcmp(argv[1], "batch") == 0)
        batch(argv[2]);
    else if (strcmp(argv[1], "image") == 0)
        image(argv[2]);
    else if (strcmp(argv[1], "dims") == 0)
        dims(argv[2]);
    else
        wrong(argv[2]);
    end(context);
    return 0;
}
