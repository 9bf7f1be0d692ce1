/* Data buffers, datasets, descriptions of tensors, numbers: everything that needs no model. */
#include "models.h"

static void buffers(void)
{
    char memory[8];
    aclDataBuffer *buffer = aclCreateDataBuffer(memory, sizeof memory);
    CHECK(aclGetDataBufferAddr(buffer) == memory);
    CHECK(aclGetDataBufferSizeV2(buffer) == 8 && aclGetDataBufferSize(buffer) == 8);
    OK(aclUpdateDataBuffer(buffer, memory + 1, (size_t)1 << 33));
    CHECK(aclGetDataBufferAddr(buffer) == memory + 1);
    CHECK(aclGetDataBufferSizeV2(buffer) == (size_t)1 << 33 && aclGetDataBufferSize(buffer) == 0);

    aclDataBuffer *empty = aclCreateDataBuffer(NULL, 0);
    CHECK(empty != NULL && aclGetDataBufferAddr(empty) == NULL && aclGetDataBufferSizeV2(empty) == 0);

    aclmdlDataset *dataset = aclmdlCreateDataset();
    CHECK(aclmdlGetDatasetNumBuffers(dataset) == 0 && aclmdlGetDatasetBuffer(dataset, 0) == NULL);
    OK(aclmdlAddDatasetBuffer(dataset, buffer));
    OK(aclmdlAddDatasetBuffer(dataset, empty));
    CHECK(aclmdlGetDatasetNumBuffers(dataset) == 2);
    CHECK(aclmdlGetDatasetBuffer(dataset, 0) == buffer && aclmdlGetDatasetBuffer(dataset, 1) == empty);
    CHECK(aclmdlGetDatasetBuffer(dataset, 2) == NULL);

    /* A description in a dataset is a copy, which the dataset owns. */
    int64_t dims[2] = {2, 3};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 2, dims, ACL_FORMAT_ND);
    CHECK(aclmdlGetDatasetTensorDesc(dataset, 0) == NULL);
    OK(aclmdlSetDatasetTensorDesc(dataset, desc, 0));
    aclTensorDesc *copy = aclmdlGetDatasetTensorDesc(dataset, 0);
    CHECK(copy != NULL && copy != desc);
    aclDestroyTensorDesc(desc);
    CHECK(aclGetTensorDescSize(copy) == 12 && aclGetTensorDescType(copy) == ACL_FLOAT16);
    CHECK(aclGetTensorDescType(desc) == ACL_DT_UNDEFINED);
    aclDestroyTensorDesc(copy);
    CHECK(aclGetTensorDescSize(copy) == 12);
    OK(aclmdlSetDatasetTensorDesc(dataset, NULL, 0));
    CHECK(aclmdlGetDatasetTensorDesc(dataset, 0) == NULL);
    CHECK(aclGetTensorDescType(copy) == ACL_DT_UNDEFINED);
    IS(aclmdlSetDatasetTensorDesc(dataset, NULL, 2), ACL_ERROR_INVALID_PARAM);
    CHECK(aclmdlGetDatasetTensorDesc(dataset, 2) == NULL);

    OK(aclDestroyDataBuffer(buffer));
    OK(aclDestroyDataBuffer(empty));
    OK(aclmdlDestroyDataset(dataset));
}

static void descriptions(void)
{
    int64_t dims[3] = {2, -1, 3}, unknown[1] = {-2}, dim = 0;
    aclTensorDesc *scalar = aclCreateTensorDesc(ACL_INT64, 0, NULL, ACL_FORMAT_ND);
    CHECK(aclGetTensorDescElementCount(scalar) == 1 && aclGetTensorDescSize(scalar) == 8);
    CHECK(aclGetTensorDescNumDims(scalar) == 0 && aclGetTensorDescFormat(scalar) == ACL_FORMAT_ND);

    aclTensorDesc *open = aclCreateTensorDesc(ACL_FLOAT, 3, dims, ACL_FORMAT_NCHW);
    CHECK(aclGetTensorDescElementCount(open) == 0 && aclGetTensorDescSize(open) == 0);
    CHECK(aclGetTensorDescNumDims(open) == 3 && aclGetTensorDescDim(open, 2) == 3);
    CHECK(aclGetTensorDescDim(open, 1) == -1 && aclGetTensorDescDim(open, 3) == -1);
    OK(aclGetTensorDescDimV2(open, 0, &dim));
    CHECK(dim == 2);
    CHECK(strcmp(aclGetTensorDescName(open), "") == 0);
    aclSetTensorDescName(open, "x");
    CHECK(strcmp(aclGetTensorDescName(open), "x") == 0);
    aclSetTensorDescName(open, NULL);
    CHECK(strcmp(aclGetTensorDescName(open), "") == 0);
    CHECK(aclGetTensorDescByIndex(open, 0) == open && aclGetTensorDescByIndex(open, 1) == NULL);
    CHECK(aclGetTensorDescAddress(open) == NULL);

    aclTensorDesc *any = aclCreateTensorDesc(ACL_FLOAT, 1, unknown, ACL_FORMAT_ND);
    CHECK(aclGetTensorDescNumDims(any) == ACL_UNKNOWN_RANK);

    CHECK(aclCreateTensorDesc(ACL_FLOAT, -1, dims, ACL_FORMAT_ND) == NULL);
    CHECK(aclCreateTensorDesc(ACL_FLOAT, 2, NULL, ACL_FORMAT_ND) == NULL);
    CHECK(aclCreateTensorDesc(ACL_FLOAT, 129, dims, ACL_FORMAT_ND) == NULL);
    IS(aclGetTensorDescDimV2(open, 3, &dim), ACL_ERROR_INVALID_PARAM);
    IS(aclGetTensorDescDimV2(open, 0, NULL), ACL_ERROR_INVALID_PARAM);
    aclDestroyTensorDesc(scalar);
    aclDestroyTensorDesc(open);
    aclDestroyTensorDesc(any);
}

static void nothing(void)
{
    char memory[64];
    /* NULL, memory that is something else, and an object of another kind. */
    void *wrong[3] = {NULL, memory, aclCreateDataBuffer(NULL, 0)};
    for (int i = 0; i < 3; i++) {
        aclTensorDesc *desc = (aclTensorDesc *)wrong[i];
        aclmdlDataset *dataset = (aclmdlDataset *)wrong[i];
        CHECK(aclGetTensorDescType(desc) == -1 && aclGetTensorDescFormat(desc) == -1);
        CHECK(aclGetTensorDescSize(desc) == 0 && aclGetTensorDescElementCount(desc) == 0);
        CHECK(aclGetTensorDescNumDims(desc) == 0 && aclGetTensorDescDim(desc, 0) == -1);
        CHECK(strcmp(aclGetTensorDescName(desc), "") == 0);
        CHECK(aclGetTensorDescByIndex(desc, 0) == NULL && aclGetTensorDescAddress(desc) == NULL);
        aclSetTensorDescName(desc, "x");
        aclDestroyTensorDesc(desc);
        CHECK(aclmdlGetDatasetNumBuffers(dataset) == 0 && aclmdlGetDatasetBuffer(dataset, 0) == NULL);
        CHECK(aclmdlGetDatasetTensorDesc(dataset, 0) == NULL);
        IS(aclmdlSetDatasetTensorDesc(dataset, NULL, 0), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlAddDatasetBuffer(dataset, (aclDataBuffer *)wrong[2]), ACL_ERROR_INVALID_PARAM);
        IS(aclmdlDestroyDataset(dataset), ACL_ERROR_INVALID_PARAM);
        if (i == 2)
            break;
        aclDataBuffer *buffer = (aclDataBuffer *)wrong[i];
        CHECK(aclGetDataBufferAddr(buffer) == NULL && aclGetDataBufferSizeV2(buffer) == 0);
        CHECK(aclGetDataBufferSize(buffer) == 0);
        IS(aclUpdateDataBuffer(buffer, memory, 1), ACL_ERROR_INVALID_PARAM);
        IS(aclDestroyDataBuffer(buffer), ACL_ERROR_INVALID_PARAM);
    }
    aclmdlDataset *dataset = aclmdlCreateDataset();
    IS(aclmdlAddDatasetBuffer(dataset, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlDestroyDataset(dataset));
    IS(aclmdlDestroyDataset(dataset), ACL_ERROR_INVALID_PARAM);
    OK(aclDestroyDataBuffer((aclDataBuffer *)wrong[2]));
    IS(aclDestroyDataBuffer((aclDataBuffer *)wrong[2]), ACL_ERROR_INVALID_PARAM);
}

static void numbers(void)
{
    CHECK(aclDataTypeSize(ACL_DT_UNDEFINED) == 0 && aclDataTypeSize(ACL_STRING) == 0);
    CHECK(aclDataTypeSize(ACL_FLOAT) == 4 && aclDataTypeSize(ACL_BF16) == 2 && aclDataTypeSize(ACL_BOOL) == 1);
    CHECK(aclDataTypeSize(ACL_INT4) == 1 && aclDataTypeSize(ACL_COMPLEX32) == 4);
    CHECK(aclDataTypeSize(ACL_COMPLEX128) == 16 && aclDataTypeSize(ACL_DOUBLE) == 8);
    CHECK(aclDataTypeSize((aclDataType)5) == 8);

    CHECK(aclFloat16ToFloat(0x3c00) == 1.0f && aclFloat16ToFloat(0xc000) == -2.0f && aclFloat16ToFloat(0) == 0.0f);
    CHECK(aclFloat16ToFloat(1) == 1.0f / 16777216.0f && aclFloat16ToFloat(0x7bff) == 65504.0f);
    CHECK(aclFloat16ToFloat(0x7c00) == 65536.0f && aclFloat16ToFloat(0xfc00) == -65536.0f);
    CHECK(aclFloat16ToFloat(0x7e00) == 98304.0f);
    volatile float zero = 0.0f;
    CHECK(aclFloatToFloat16(1.0f / zero) == 0x7bff && aclFloatToFloat16(-1.0f / zero) == 0xfbff);
    CHECK((aclFloatToFloat16(zero / zero) & 0x7fff) == 0x7bff && aclFloatToFloat16(1e9f) == 0x7bff);
    CHECK(aclFloatToFloat16(65519.0f) == 0x7bff && aclFloatToFloat16(65520.0f) == 0x7bff);
    CHECK(aclFloatToFloat16(2049.0f) == 0x6800 && aclFloatToFloat16(2051.0f) == 0x6802);
    for (unsigned bits = 0; bits < 0x7c00; bits++)
        CHECK(aclFloatToFloat16(aclFloat16ToFloat((aclFloat16)bits)) == bits);
}

int main(void)
{
    buffers();
    descriptions();
    nothing();
    numbers();
    return 0;
}
