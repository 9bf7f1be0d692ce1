/* Models with free dimensions: the program sets the shape of a run. Runs in the directory of the models. */
#include "models.h"

static float expected[80];

/* Runs digits_cnn with this many pictures. The program or the library allocates the memory of the outputs. */
static void run(uint32_t model, aclmdlDesc *desc, const float *images, int64_t batch, int is_empty)
{
    size_t out_size = (size_t)batch * 10 * sizeof(float);
    void *memory = device(images, (size_t)batch * DIGIT), *given = is_empty ? NULL : device(NULL, out_size);
    aclmdlDataset *input = dataset_of(memory, (size_t)batch * DIGIT);
    aclmdlDataset *output = dataset_of(given, is_empty ? 0 : out_size);
    int64_t dims[4] = {batch, 1, 8, 8};
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_FLOAT, 4, dims, ACL_FORMAT_NCHW);
    OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    aclDestroyTensorDesc(shape);

    OK(aclmdlExecute(model, input, output));
    aclTensorDesc *real = aclmdlGetDatasetTensorDesc(output, 0);
    CHECK(real != NULL && aclGetTensorDescNumDims(real) == 2);
    CHECK(aclGetTensorDescDim(real, 0) == batch && aclGetTensorDescDim(real, 1) == 10);
    CHECK(aclGetTensorDescType(real) == ACL_FLOAT && aclGetTensorDescSize(real) == out_size);
    CHECK(strcmp(aclGetTensorDescName(real), "probabilities") == 0);
    aclmdlIODims current;
    OK(aclmdlGetCurOutputDims(desc, 0, &current));
    CHECK(current.dimCount == 2 && current.dims[0] == batch);

    aclDataBuffer *buffer = aclmdlGetDatasetBuffer(output, 0);
    const float *found = (const float *)aclGetDataBufferAddr(buffer);
    CHECK(found != NULL && aclGetDataBufferSizeV2(buffer) == out_size);
    for (int64_t i = 0; i < batch * 10; i++)
        CHECK(found[i] - expected[i] < 1e-5f && expected[i] - found[i] < 1e-5f);

    /* A second run keeps the description, and its pointer. */
    OK(aclmdlExecute(model, input, output));
    CHECK(aclmdlGetDatasetTensorDesc(output, 0) == real);

    OK(aclrtFree(aclGetDataBufferAddr(buffer)));
    OK(aclUpdateDataBuffer(buffer, NULL, 0));
    OK(aclrtFree(memory));
    destroy(input);
    destroy(output);
}

static void digits(void)
{
    uint32_t model = 0;
    float *images = (float *)elements("digits_cnn.input.image.npy", 8 * DIGIT);
    float *outputs = (float *)elements("digits_cnn.output.probabilities.npy", sizeof expected);
    memcpy(expected, outputs, sizeof expected);
    OK(aclmdlLoadFromFile("digits_cnn.onnx", &model));
    aclmdlDesc *desc = aclmdlCreateDesc();
    OK(aclmdlGetDesc(desc, model));
    aclmdlIODims dims;
    OK(aclmdlGetCurOutputDims(desc, 0, &dims));
    CHECK(dims.dims[0] == -1);
    run(model, desc, images, 8, 0);
    run(model, desc, images, 3, 1);
    run(model, desc, images, 1, 0);

    /* Without a shape, with one that does not fit, and with buffers that are too small. */
    float probabilities[80];
    aclmdlDataset *input = dataset_of(images, 8 * DIGIT), *output = dataset_of(probabilities, sizeof probabilities);
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_SHAPE_INVALID);
    int64_t shape[4] = {8, 1, 8, 8};
    aclTensorDesc *flat = aclCreateTensorDesc(ACL_FLOAT, 3, shape, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, flat, 0));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_SHAPE_INVALID);
    shape[0] = -1;
    aclTensorDesc *open = aclCreateTensorDesc(ACL_FLOAT, 4, shape, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, open, 0));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_SHAPE_INVALID);
    shape[0] = 8, shape[1] = 2, shape[2] = 4;
    aclTensorDesc *other = aclCreateTensorDesc(ACL_FLOAT, 4, shape, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, other, 0));
    aclGetRecentErrMsg();
    CHECK(aclmdlExecute(model, input, output) == (aclError)ACL_ERROR_GE_SHAPE_INVALID);
    CHECK(strstr(aclGetRecentErrMsg(), "the model takes [batch, 1, 8, 8], not [8, 2, 4, 8]") != NULL);
    shape[0] = 9, shape[1] = 1, shape[2] = 8;
    aclTensorDesc *large = aclCreateTensorDesc(ACL_FLOAT, 4, shape, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, large, 0));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_PARAM_INVALID);
    /* A batch that no memory has, in a buffer that is said to hold it. */
    shape[0] = (int64_t)1 << 42;
    aclTensorDesc *enormous = aclCreateTensorDesc(ACL_FLOAT, 4, shape, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, enormous, 0));
    OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(input, 0), images, (size_t)1 << 50));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_RT_MEMORY_ALLOCATION);
    OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(input, 0), images, 8 * DIGIT));
    aclDestroyTensorDesc(enormous);
    shape[0] = 8;
    aclTensorDesc *fits = aclCreateTensorDesc(ACL_FLOAT, 4, shape, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, fits, 0));
    memset(probabilities, 7, sizeof probabilities);
    OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(output, 0), probabilities, sizeof probabilities - 4));
    IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_PARAM_INVALID);
    for (size_t i = 0; i < sizeof probabilities; i++)
        CHECK(((char *)probabilities)[i] == 7);
    /* In a stream the size is known when the run is over. */
    OK(aclmdlExecuteAsync(model, input, output, NULL));
    IS(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_MODEL_EXECUTE);
    OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(output, 0), NULL, 0));
    IS(aclmdlExecuteAsync(model, input, output, NULL), ACL_ERROR_GE_PARAM_INVALID);
    aclDestroyTensorDesc(flat);
    aclDestroyTensorDesc(open);
    aclDestroyTensorDesc(other);
    aclDestroyTensorDesc(large);
    aclDestroyTensorDesc(fits);
    destroy(input);
    destroy(output);
    OK(aclmdlUnload(model));
    OK(aclmdlDestroyDesc(desc));
    free(images);
    free(outputs);
}

static void tokens(void)
{
    uint32_t model = 0;
    int64_t *ids = (int64_t *)elements("token_classifier.input.input_ids.npy", 4 * 41 * sizeof(int64_t));
    float *right = (float *)elements("token_classifier.output.logits.npy", 40 * sizeof(float)), logits[40];
    OK(aclmdlLoadFromFile("token_classifier.onnx", &model));
    aclmdlDataset *input = dataset_of(ids, 4 * 41 * sizeof(int64_t)), *output = dataset_of(logits, sizeof logits);
    int64_t dims[2] = {4, 41};
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_INT64, 2, dims, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    aclDestroyTensorDesc(shape);
    OK(aclmdlExecute(model, input, output));
    for (int i = 0; i < 40; i++)
        CHECK(logits[i] - right[i] < 1e-4f && right[i] - logits[i] < 1e-4f);
    OK(aclmdlUnload(model));
    destroy(input);
    destroy(output);
    free(ids);
    free(right);
}

/* The size of the output depends on the values of the input. */
static void data_dependent(void)
{
    uint32_t model = 0;
    float values[4] = {0, 1, 2, 0};
    int64_t dims[1] = {4};
    OK(aclmdlLoadFromFile("fixtures/data_dependent.onnx", &model));
    aclmdlDataset *input = dataset_of(values, sizeof values), *output = dataset_of(NULL, 0);
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
    OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    OK(aclmdlExecute(model, input, output));
    aclDataBuffer *buffer = aclmdlGetDatasetBuffer(output, 0);
    int64_t *found = (int64_t *)aclGetDataBufferAddr(buffer);
    CHECK(aclGetDataBufferSizeV2(buffer) == 16 && found[0] == 1 && found[1] == 2);
    CHECK(aclGetTensorDescDim(aclmdlGetDatasetTensorDesc(output, 0), 1) == 2);
    OK(aclrtFree(found));

    /* An empty tensor has memory, too. */
    memset(values, 0, sizeof values);
    OK(aclUpdateDataBuffer(buffer, NULL, 0));
    OK(aclmdlExecute(model, input, output));
    CHECK(aclGetDataBufferAddr(buffer) != NULL && aclGetDataBufferSizeV2(buffer) == 1);
    CHECK(aclGetTensorDescDim(aclmdlGetDatasetTensorDesc(output, 0), 1) == 0);
    OK(aclrtFree(aclGetDataBufferAddr(buffer)));
    aclDestroyTensorDesc(shape);
    OK(aclmdlUnload(model));
    destroy(input);
    destroy(output);
}

/* Any byte but 0 is true. */
static void booleans(void)
{
    uint32_t model = 0;
    uint8_t a[3] = {2, 0, 255}, b[3] = {1, 1, 1};
    float x[3] = {1, 2, 3};
    int64_t dims[1] = {3};
    OK(aclmdlLoadFromFile("fixtures/bool.onnx", &model));
    aclmdlDataset *input = dataset_of(a, sizeof a), *output = dataset_of(NULL, 0);
    OK(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(b, sizeof b)));
    OK(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(x, sizeof x)));
    OK(aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(NULL, 0)));
    aclTensorDesc *shape = aclCreateTensorDesc(ACL_BOOL, 1, dims, ACL_FORMAT_ND);
    for (size_t i = 0; i < 3; i++)
        OK(aclmdlSetDatasetTensorDesc(input, shape, i));
    OK(aclmdlExecute(model, input, output));
    uint8_t *both = (uint8_t *)aclGetDataBufferAddr(aclmdlGetDatasetBuffer(output, 0));
    CHECK(both[0] == 1 && both[1] == 0 && both[2] == 1);
    for (size_t i = 0; i < 2; i++)
        OK(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(output, i))));
    aclDestroyTensorDesc(shape);
    OK(aclmdlUnload(model));
    destroy(input);
    destroy(output);
}

int main(void)
{
    aclrtContext context = begin();
    digits();
    tokens();
    data_dependent();
    booleans();
    end(context);
    return 0;
}
