/* Prints what models say about themselves, from their files, and compares that with what they say from memory. */
#include "models.h"

static void side(aclmdlDesc *desc, int is_input, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        aclmdlIODims dims;
        const char *name = is_input ? aclmdlGetInputNameByIndex(desc, i) : aclmdlGetOutputNameByIndex(desc, i);
        OK(is_input ? aclmdlGetInputDims(desc, i, &dims) : aclmdlGetOutputDims(desc, i, &dims));
        size_t size = is_input ? aclmdlGetInputSizeByIndex(desc, i) : aclmdlGetOutputSizeByIndex(desc, i);
        int type = is_input ? aclmdlGetInputDataType(desc, i) : aclmdlGetOutputDataType(desc, i);
        int format = is_input ? aclmdlGetInputFormat(desc, i) : aclmdlGetOutputFormat(desc, i);
        size_t index = 99;
        OK(is_input ? aclmdlGetInputIndexByName(desc, name, &index) : aclmdlGetOutputIndexByName(desc, name, &index));
        CHECK(index == i);
        CHECK(strcmp(aclmdlGetTensorRealName(desc, name), name) == 0);
        CHECK(strcmp(aclmdlGetTensorRealName(desc, dims.name), name) == 0);
        if (strlen(name) < ACL_MAX_TENSOR_NAME_LEN) {
            CHECK(strcmp(dims.name, name) == 0);
            printf("  %s %s [", is_input ? "in" : "out", name);
        } else {
            char start[64];
            snprintf(start, sizeof start, "acl_modelId_0_%s_%zu_", is_input ? "input" : "output", i);
            CHECK(strncmp(dims.name, start, strlen(start)) == 0);
            printf("  %s (%zu bytes) [", is_input ? "in" : "out", strlen(name));
        }
        for (size_t axis = 0; axis < dims.dimCount; axis++)
            printf("%s%lld", axis == 0 ? "" : ", ", (long long)dims.dims[axis]);
        printf("] type %d format %d size %zu\n", type, format, size);
        if (is_input) {
            aclmdlIODims same;
            aclmdlIODimsRange range;
            OK(aclmdlGetInputDimsV2(desc, i, &same));
            CHECK(memcmp(&same, &dims, sizeof dims) == 0);
            OK(aclmdlGetInputDimsRange(desc, i, &range));
            CHECK(range.rangeCount == dims.dimCount);
            for (size_t axis = 0; axis < dims.dimCount; axis++) {
                int64_t size_here = dims.dims[axis];
                CHECK(range.range[axis][0] == (size_here < 0 ? 1 : size_here));
                CHECK(range.range[axis][1] == (size_here < 0 ? -1 : size_here));
            }
        }
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t work = 0, weights = 0, work_again = 0, weights_again = 0, size;
        aclmdlDesc *desc = aclmdlCreateDesc();
        CHECK(desc != NULL);
        OK(aclmdlGetDescFromFile(desc, argv[i]));
        OK(aclmdlQuerySize(argv[i], &work, &weights));
        CHECK(work > 0 && weights > 0);
        printf("%s: work %zu weights %zu\n", argv[i], work, weights);
        side(desc, 1, aclmdlGetNumInputs(desc));
        side(desc, 0, aclmdlGetNumOutputs(desc));

        /* There are no gears. */
        aclmdlBatch batch;
        aclmdlHW hw;
        size_t gears = 99;
        aclmdlIODims dims[1];
        OK(aclmdlGetDynamicBatch(desc, &batch));
        OK(aclmdlGetDynamicHW(desc, (size_t)-1, &hw));
        OK(aclmdlGetInputDynamicGearCount(desc, (size_t)-1, &gears));
        OK(aclmdlGetInputDynamicDims(desc, (size_t)-1, dims, 1));
        CHECK(batch.batchCount == 0 && hw.hwCount == 0 && gears == 0);

        char *bytes = content(argv[i], &size);
        aclmdlDesc *again = aclmdlCreateDesc();
        aclError code = aclmdlGetDescFromMem(again, bytes, size);
        if (code == ACL_SUCCESS) {
            OK(aclmdlQuerySizeFromMem(bytes, size, &work_again, &weights_again));
            CHECK(work == work_again && weights == weights_again);
            CHECK(aclmdlGetNumInputs(again) == aclmdlGetNumInputs(desc));
        } else {
            printf("  %d from memory: %s\n", code, aclGetRecentErrMsg());
        }
        OK(aclmdlDestroyDesc(again));
        OK(aclmdlDestroyDesc(desc));
        free(bytes);
    }
    return 0;
}
