// Models: load, describe, execute. A model file is an .onnx file.
#ifndef ACL_ACL_MDL_H
#define ACL_ACL_MDL_H

#include <stddef.h>
#include <stdint.h>

#include "acl_base.h"
#include "acl_rt.h"

#define ACL_MAX_DIM_CNT         128
#define ACL_MAX_TENSOR_NAME_LEN 128
#define ACL_MAX_BATCH_NUM       128
#define ACL_MAX_HW_NUM          128
#define ACL_MAX_SHAPE_COUNT     128
#define ACL_DIM_ENDPOINTS       2
#define ACL_INVALID_NODE_INDEX  0xFFFFFFFFu

// Values of ACL_MDL_LOAD_TYPE_SIZET.
#define ACL_MDL_LOAD_FROM_FILE          1
#define ACL_MDL_LOAD_FROM_FILE_WITH_MEM 2
#define ACL_MDL_LOAD_FROM_MEM           3
#define ACL_MDL_LOAD_FROM_MEM_WITH_MEM  4
#define ACL_MDL_LOAD_FROM_FILE_WITH_Q   5
#define ACL_MDL_LOAD_FROM_MEM_WITH_Q    6

// Values of ACL_MDL_WORKSPACE_MEM_OPTIMIZE.
#define ACL_WORKSPACE_MEM_OPTIMIZE_DEFAULT     0
#define ACL_WORKSPACE_MEM_OPTIMIZE_INPUTOUTPUT 1

#define ACL_DYNAMIC_TENSOR_NAME                 "ascend_mbatch_shape_data"
#define ACL_DYNAMIC_AIPP_NAME                   "ascend_dynamic_aipp_data"
#define ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES "_datadump_original_op_names"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclmdlModel;

typedef struct aclmdlDataset          aclmdlDataset;
typedef struct aclmdlDesc             aclmdlDesc;
typedef struct aclmdlConfigHandle     aclmdlConfigHandle;
typedef struct aclmdlExecConfigHandle aclmdlExecConfigHandle;
typedef struct aclmdlAIPP             aclmdlAIPP;
typedef struct aclmdlBundleQueryInfo  aclmdlBundleQueryInfo;
typedef struct aclAippExtendInfo      aclAippExtendInfo;
typedef struct aclAippInfo            aclAippInfo;

typedef enum aclmdlConfigAttr
{
    ACL_MDL_PRIORITY_INT32          = 0,
    ACL_MDL_LOAD_TYPE_SIZET         = 1,
    ACL_MDL_PATH_PTR                = 2,
    ACL_MDL_MEM_ADDR_PTR            = 3,
    ACL_MDL_MEM_SIZET               = 4,
    ACL_MDL_WEIGHT_ADDR_PTR         = 5,
    ACL_MDL_WEIGHT_SIZET            = 6,
    ACL_MDL_WORKSPACE_ADDR_PTR      = 7,
    ACL_MDL_WORKSPACE_SIZET         = 8,
    ACL_MDL_INPUTQ_NUM_SIZET        = 9,
    ACL_MDL_INPUTQ_ADDR_PTR         = 10,
    ACL_MDL_OUTPUTQ_NUM_SIZET       = 11,
    ACL_MDL_OUTPUTQ_ADDR_PTR        = 12,
    ACL_MDL_WORKSPACE_MEM_OPTIMIZE  = 13,
    ACL_MDL_WEIGHT_PATH_PTR         = 14,
    ACL_MDL_MODEL_DESC_PTR          = 15,
    ACL_MDL_MODEL_DESC_SIZET        = 16,
    ACL_MDL_KERNEL_PTR              = 17,
    ACL_MDL_KERNEL_SIZET            = 18,
    ACL_MDL_KERNEL_ARGS_PTR         = 19,
    ACL_MDL_KERNEL_ARGS_SIZET       = 20,
    ACL_MDL_STATIC_TASK_PTR         = 21,
    ACL_MDL_STATIC_TASK_SIZET       = 22,
    ACL_MDL_DYNAMIC_TASK_PTR        = 23,
    ACL_MDL_DYNAMIC_TASK_SIZET      = 24,
    ACL_MDL_MEM_MALLOC_POLICY_SIZET = 25,
    ACL_MDL_FIFO_PTR                = 26,
    ACL_MDL_FIFO_SIZET              = 27,
    ACL_MDL_WITHOUT_GRAPH_INT32     = 28,
    ACL_NPU_PERF_MODE               = 29,
    ACL_MDL_RESERVED                = 0xFFFF,
} aclmdlConfigAttr;

typedef enum aclmdlExecConfigAttr
{
    ACL_MDL_STREAM_SYNC_TIMEOUT = 0,
    ACL_MDL_EVENT_SYNC_TIMEOUT  = 1,
    ACL_MDL_WORK_ADDR_PTR       = 2,
    ACL_MDL_WORK_SIZET          = 3,
    ACL_MDL_MPAIMID_SIZET       = 4,
    ACL_MDL_AICQOS_SIZET        = 5,
    ACL_MDL_AICOST_SIZET        = 6,
    ACL_MDL_MEC_TIMETHR_SIZET   = 7,
    ACL_MDL_EXEC_PRIORITY_INT32 = 8,
    ACL_MDL_NPU_PERF_MODE       = 9,
} aclmdlExecConfigAttr;

typedef enum aclmdlInputAippType
{
    ACL_DATA_WITHOUT_AIPP      = 0,
    ACL_DATA_WITH_STATIC_AIPP  = 1,
    ACL_DATA_WITH_DYNAMIC_AIPP = 2,
    ACL_DYNAMIC_AIPP_NODE      = 3,
} aclmdlInputAippType;

typedef struct aclmdlIODims
{
    char    name[ACL_MAX_TENSOR_NAME_LEN];
    size_t  dimCount;  // 0: a scalar
    int64_t dims[ACL_MAX_DIM_CNT];
} aclmdlIODims;

typedef struct aclmdlIODimsRange
{
    size_t  rangeCount;
    int64_t range[ACL_MAX_DIM_CNT][ACL_TENSOR_SHAPE_RANGE_NUM];
} aclmdlIODimsRange;

typedef struct aclmdlBatch
{
    size_t   batchCount;
    uint64_t batch[ACL_MAX_BATCH_NUM];
} aclmdlBatch;

typedef struct aclmdlHW
{
    size_t   hwCount;
    uint64_t hw[ACL_MAX_HW_NUM][2];  // height, width
} aclmdlHW;

typedef struct aclmdlExeOMDesc
{
    size_t workSize;
    size_t weightSize;
    size_t modelDescSize;
    size_t kernelSize;
    size_t kernelArgsSize;
    size_t staticTaskSize;
    size_t dynamicTaskSize;
    size_t fifoTaskSize;
    size_t reserved[8];
} aclmdlExeOMDesc;

typedef struct aclAippDims
{
    aclmdlIODims srcDims;
    size_t       srcSize;
    aclmdlIODims aippOutdims;
    size_t       aippOutSize;
} aclAippDims;

typedef union aclmdlAttrValue
{
    uint32_t mdlPriority;
    uint32_t reserved[8];
} aclmdlAttrValue_t;

// Datasets: the data buffers of a model's inputs or outputs, in the model's order. A dataset does
// not own its buffers.

ACL_FUNC_VISIBILITY aclmdlDataset* aclmdlCreateDataset();
ACL_FUNC_VISIBILITY aclError       aclmdlDestroyDataset(const aclmdlDataset* dataset);
ACL_FUNC_VISIBILITY aclError       aclmdlAddDatasetBuffer(aclmdlDataset* dataset,
                                                          aclDataBuffer* dataBuffer);
ACL_FUNC_VISIBILITY size_t         aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset);
ACL_FUNC_VISIBILITY aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset,
                                                          size_t               index);

// The shape of a dynamic input in the next run. The description is copied; NULL removes it.
ACL_FUNC_VISIBILITY aclError       aclmdlSetDatasetTensorDesc(aclmdlDataset* dataset,
                                                              aclTensorDesc* tensorDesc,
                                                              size_t         index);
// The real shape of a dynamic output after a run. Belongs to the dataset.
ACL_FUNC_VISIBILITY aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* dataset,
                                                              size_t               index);

// Load. External weights are looked for beside the file.

ACL_FUNC_VISIBILITY aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId);
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromMem(const void* model,
                                               size_t      modelSize,
                                               uint32_t*   modelId);
// The memory stays the caller's and must live until unload. NULL: the library allocates.
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromFileWithMem(const char* modelPath,
                                                       uint32_t*   modelId,
                                                       void*       workPtr,
                                                       size_t      workSize,
                                                       void*       weightPtr,
                                                       size_t      weightSize);
ACL_FUNC_VISIBILITY aclError aclmdlLoadFromMemWithMem(const void* model,
                                                      size_t      modelSize,
                                                      uint32_t*   modelId,
                                                      void*       workPtr,
                                                      size_t      workSize,
                                                      void*       weightPtr,
                                                      size_t      weightSize);
ACL_FUNC_VISIBILITY aclError aclmdlQuerySize(const char* fileName,
                                             size_t*     workSize,
                                             size_t*     weightSize);
ACL_FUNC_VISIBILITY aclError aclmdlQuerySizeFromMem(const void* model,
                                                    size_t      modelSize,
                                                    size_t*     workSize,
                                                    size_t*     weightSize);

// attrValue points to the value; for a pointer attribute, to the pointer.
ACL_FUNC_VISIBILITY aclmdlConfigHandle* aclmdlCreateConfigHandle();
ACL_FUNC_VISIBILITY aclError            aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle);
ACL_FUNC_VISIBILITY aclError            aclmdlSetConfigOpt(aclmdlConfigHandle* handle,
                                                           aclmdlConfigAttr    attr,
                                                           const void*         attrValue,
                                                           size_t              valueSize);
ACL_FUNC_VISIBILITY aclError            aclmdlLoadWithConfig(const aclmdlConfigHandle* handle,
                                                             uint32_t*                 modelId);

ACL_FUNC_VISIBILITY aclError aclmdlUnload(uint32_t modelId);

// Description. Strings live as long as the description.

ACL_FUNC_VISIBILITY aclmdlDesc* aclmdlCreateDesc();
ACL_FUNC_VISIBILITY aclError    aclmdlDestroyDesc(aclmdlDesc* modelDesc);
ACL_FUNC_VISIBILITY aclError    aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId);
ACL_FUNC_VISIBILITY aclError    aclmdlGetDescFromFile(aclmdlDesc* modelDesc, const char* modelPath);
ACL_FUNC_VISIBILITY aclError    aclmdlGetDescFromMem(aclmdlDesc* modelDesc,
                                                     const void* model,
                                                     size_t      modelSize);

// 0 on an error; a size is 0 if a dimension is free.
ACL_FUNC_VISIBILITY size_t aclmdlGetNumInputs(aclmdlDesc* modelDesc);
ACL_FUNC_VISIBILITY size_t aclmdlGetNumOutputs(aclmdlDesc* modelDesc);
ACL_FUNC_VISIBILITY size_t aclmdlGetInputSizeByIndex(aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* modelDesc, size_t index);

// A free dimension is -1.
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDims(const aclmdlDesc* modelDesc,
                                                size_t            index,
                                                aclmdlIODims*     dims);
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDimsV2(const aclmdlDesc* modelDesc,
                                                  size_t            index,
                                                  aclmdlIODims*     dims);
ACL_FUNC_VISIBILITY aclError aclmdlGetOutputDims(const aclmdlDesc* modelDesc,
                                                 size_t            index,
                                                 aclmdlIODims*     dims);
ACL_FUNC_VISIBILITY aclError aclmdlGetCurOutputDims(const aclmdlDesc* modelDesc,
                                                    size_t            index,
                                                    aclmdlIODims*     dims);
// Per dimension the smallest and the largest extent.
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDimsRange(const aclmdlDesc*  modelDesc,
                                                     size_t             index,
                                                     aclmdlIODimsRange* dimsRange);

// Returns the full name of an input or output. aclmdlIODims has a substitute for a name that is too
// long. NULL for a wrong name.
ACL_FUNC_VISIBILITY const char* aclmdlGetTensorRealName(const aclmdlDesc* modelDesc,
                                                        const char*       name);

// "", ACL_FORMAT_UNDEFINED and ACL_DT_UNDEFINED on an error.
ACL_FUNC_VISIBILITY const char* aclmdlGetInputNameByIndex(const aclmdlDesc* modelDesc,
                                                          size_t            index);
ACL_FUNC_VISIBILITY const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* modelDesc,
                                                           size_t            index);
ACL_FUNC_VISIBILITY aclFormat   aclmdlGetInputFormat(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclFormat   aclmdlGetOutputFormat(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclDataType aclmdlGetInputDataType(const aclmdlDesc* modelDesc, size_t index);
ACL_FUNC_VISIBILITY aclDataType aclmdlGetOutputDataType(const aclmdlDesc* modelDesc,
                                                        size_t            index);
ACL_FUNC_VISIBILITY aclError    aclmdlGetInputIndexByName(const aclmdlDesc* modelDesc,
                                                          const char*       name,
                                                          size_t*           index);
ACL_FUNC_VISIBILITY aclError    aclmdlGetOutputIndexByName(const aclmdlDesc* modelDesc,
                                                           const char*       name,
                                                           size_t*           index);

// Gears are fixed choices of a shape. The user sets them for an .onnx file by
// OPSCOPE_ACL_DYNAMIC_BATCH, OPSCOPE_ACL_DYNAMIC_IMAGE_SIZE or OPSCOPE_ACL_DYNAMIC_DIMS. Otherwise
// the counts are 0.
ACL_FUNC_VISIBILITY aclError aclmdlGetDynamicBatch(const aclmdlDesc* modelDesc, aclmdlBatch* batch);
ACL_FUNC_VISIBILITY aclError aclmdlGetDynamicHW(const aclmdlDesc* modelDesc,
                                                size_t            index,
                                                aclmdlHW*         hw);
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* modelDesc,
                                                            size_t            index,
                                                            size_t*           gearCount);
// dims has gearCount entries.
ACL_FUNC_VISIBILITY aclError aclmdlGetInputDynamicDims(const aclmdlDesc* modelDesc,
                                                       size_t            index,
                                                       aclmdlIODims*     dims,
                                                       size_t            gearCount);

// Choose a gear for runs with a dataset: ACL_ERROR_MODEL_NOT_DYNAMIC if the model has no gears of
// this kind. aclmdlSetDatasetTensorDesc sets the shape of a run without gears.
ACL_FUNC_VISIBILITY aclError aclmdlSetDynamicBatchSize(uint32_t       modelId,
                                                       aclmdlDataset* dataset,
                                                       size_t         index,
                                                       uint64_t       batchSize);
ACL_FUNC_VISIBILITY aclError aclmdlSetDynamicHWSize(uint32_t       modelId,
                                                    aclmdlDataset* dataset,
                                                    size_t         index,
                                                    uint64_t       height,
                                                    uint64_t       width);
ACL_FUNC_VISIBILITY aclError aclmdlSetInputDynamicDims(uint32_t            modelId,
                                                       aclmdlDataset*      dataset,
                                                       size_t              index,
                                                       const aclmdlIODims* dims);

// attr: only ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES, for which this returns "".
ACL_FUNC_VISIBILITY const char* aclmdlGetOpAttr(aclmdlDesc* modelDesc,
                                                const char* opName,
                                                const char* attr);

// No model has AIPP: ACL_DATA_WITHOUT_AIPP and ACL_INVALID_NODE_INDEX.
ACL_FUNC_VISIBILITY aclError aclmdlGetAippType(uint32_t             modelId,
                                               size_t               index,
                                               aclmdlInputAippType* type,
                                               size_t*              dynamicAttachedDataIndex);
// ACL_ERROR_GE_AIPP_NOT_EXIST.
ACL_FUNC_VISIBILITY aclError aclmdlGetFirstAippInfo(uint32_t     modelId,
                                                    size_t       index,
                                                    aclAippInfo* aippInfo);

// Execute. A buffer may be larger than its tensor.

ACL_FUNC_VISIBILITY aclError aclmdlExecute(uint32_t             modelId,
                                           const aclmdlDataset* input,
                                           aclmdlDataset*       output);
ACL_FUNC_VISIBILITY aclError aclmdlExecuteV2(uint32_t                      modelId,
                                             const aclmdlDataset*          input,
                                             aclmdlDataset*                output,
                                             aclrtStream                   stream,
                                             const aclmdlExecConfigHandle* handle);
// Returns as soon as the run is queued. Datasets and memory must live until it is done.
ACL_FUNC_VISIBILITY aclError aclmdlExecuteAsync(uint32_t             modelId,
                                                const aclmdlDataset* input,
                                                aclmdlDataset*       output,
                                                aclrtStream          stream);

// The two timeouts are int32_t milliseconds, -1 for none. Other attributes have no effect.
ACL_FUNC_VISIBILITY aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle();
ACL_FUNC_VISIBILITY aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle* handle);
ACL_FUNC_VISIBILITY aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle* handle,
                                                    aclmdlExecConfigAttr    attr,
                                                    const void*             attrValue,
                                                    size_t                  valueSize);

// Not supported: ACL_ERROR_FEATURE_UNSUPPORTED.

ACL_FUNC_VISIBILITY aclError aclmdlExecuteAsyncV2(uint32_t                      modelId,
                                                  const aclmdlDataset*          input,
                                                  aclmdlDataset*                output,
                                                  aclrtStream                   stream,
                                                  const aclmdlExecConfigHandle* handle);
ACL_FUNC_VISIBILITY aclError aclmdlCreateAndGetOpDesc(uint32_t        deviceId,
                                                      uint32_t        streamId,
                                                      uint32_t        taskId,
                                                      char*           opName,
                                                      size_t          opNameLen,
                                                      aclTensorDesc** inputDesc,
                                                      size_t*         numInputs,
                                                      aclTensorDesc** outputDesc,
                                                      size_t*         numOutputs);

#ifdef __cplusplus
}
#endif

#endif
