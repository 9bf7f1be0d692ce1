/* Classifies pictures of digits as the samples do, step by step, with a model of one picture.
 * classify MODEL IMAGES LABELS A|B: loads the model alone, or with memory for it. */
#include "models.h"

enum { DIGITS = 360 };

int main(int argc, char **argv)
{
    CHECK(argc == 5);
    int with_memory = strcmp(argv[4], "B") == 0;
    float *images = (float *)elements(argv[2], DIGITS * DIGIT);
    int64_t *labels = (int64_t *)elements(argv[3], DIGITS * sizeof(int64_t));

    aclrtContext context = NULL;
    aclrtStream stream = NULL;
    aclrtRunMode mode = ACL_DEVICE;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtGetRunMode(&mode));
    CHECK(mode == ACL_HOST);

    uint32_t model = 0;
    void *work = NULL, *weights = NULL;
    if (with_memory) {
        size_t work_size = 0, weight_size = 0;
        OK(aclmdlQuerySize(argv[1], &work_size, &weight_size));
        CHECK(work_size > 0 && weight_size > 0);
        OK(aclrtMalloc(&work, work_size, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMalloc(&weights, weight_size, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclmdlLoadFromFileWithMem(argv[1], &model, work, work_size, weights, weight_size));
    } else {
        OK(aclmdlLoadFromFile(argv[1], &model));
    }
    CHECK(model == 1);

    aclmdlDesc *desc = aclmdlCreateDesc();
    OK(aclmdlGetDesc(desc, model));
    CHECK(aclmdlGetNumInputs(desc) == 1 && aclmdlGetNumOutputs(desc) == 1);
    size_t input_size = aclmdlGetInputSizeByIndex(desc, 0);
    CHECK(input_size == DIGIT);
    void *input_memory = device(NULL, input_size);
    aclmdlDataset *input = dataset_of(input_memory, input_size);

    aclmdlDataset *output = aclmdlCreateDataset();
    for (size_t i = 0; i < aclmdlGetNumOutputs(desc); i++) {
        size_t size = aclmdlGetOutputSizeByIndex(desc, i);
        void *memory = device(NULL, size);
        OK(aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(memory, size)));
    }

    int right = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        void *host = NULL;
        OK(aclrtMallocHost(&host, input_size));
        memcpy(host, images + digit * 64, input_size);
        OK(aclrtMemcpy(input_memory, input_size, host, input_size, ACL_MEMCPY_HOST_TO_DEVICE));
        OK(aclrtFreeHost(host));
        OK(aclmdlExecute(model, input, output));
        for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(output); i++) {
            aclDataBuffer *buffer = aclmdlGetDatasetBuffer(output, i);
            void *data = aclGetDataBufferAddr(buffer);
            size_t size = aclGetDataBufferSizeV2(buffer);
            CHECK(size == 10 * sizeof(float));
            OK(aclrtMallocHost(&host, size));
            OK(aclrtMemcpy(host, size, data, size, ACL_MEMCPY_DEVICE_TO_HOST));
            right += largest((const float *)host, 10) == labels[digit];
            OK(aclrtFreeHost(host));
        }
    }
    printf("%d of %d digits are right\n", right, DIGITS);

    OK(aclrtFree(input_memory));
    destroy(input);
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(output); i++)
        OK(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(output, i))));
    destroy(output);
    OK(aclmdlUnload(model));
    OK(aclmdlDestroyDesc(desc));
    if (with_memory) {
        OK(aclrtFree(work));
        OK(aclrtFree(weights));
    }
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyContext(context));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    /* Destructors of programs come this late. */
    IS(aclmdlUnload(model), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
    free(images);
    free(labels);
    return 0;
}
