// Dump of tensors by callback.
#ifndef ACL_ACL_DUMP_H
#define ACL_ACL_DUMP_H

#include <stdint.h>

#include "acl_base.h"

#define ACL_DUMP_MAX_FILE_PATH_LENGTH 4096
#define ACL_DUMP_MAX_SHAPE_NUM        25

// A bit of aclopStartDumpArgs.
#define ACL_OP_DUMP_OP_AICORE_ARGS 1u

#ifdef __cplusplus
extern "C" {
#endif

// A piece of a dump file. The pieces of one file arrive in order. The file is an uint64_t header
// length, the header, and the bytes of the tensors.
//
// dataBuf begins at byte 4116, before the end of the struct: the data is not at sizeof.
typedef struct acldumpChunk
{
    char                  fileName[ACL_DUMP_MAX_FILE_PATH_LENGTH];
    uint32_t              bufLen;       // bytes of dataBuf
    uint32_t              isLastChunk;  // 1: the file is complete
    int64_t               offset;       // -1: append
    int32_t               flag;         // reserved
    __extension__ uint8_t dataBuf[0];
} acldumpChunk;

typedef enum acldumpType
{
    AIC_ERR_BRIEF_DUMP  = 1,
    AIC_ERR_NORM_DUMP   = 2,
    AIC_ERR_DETAIL_DUMP = 3,
    DATA_DUMP           = 4,
    OVERFLOW_DUMP       = 5,
} acldumpType;

typedef struct acldumpTensorInfo
{
    int32_t  type;  // 0 input, 1 output, 2 workspace
    size_t   tensorSize;
    int32_t  format;
    int32_t  dataType;
    void*    tensorAddr;
    int32_t  addrType;   // 0 pointer, 1 pointer to a pointer, 2 raw
    int32_t  placement;  // 0 device, 1 host
    uint32_t argsOffset;
    uint32_t shapeNum;
    uint32_t originShapeNum;
    uint64_t shape[ACL_DUMP_MAX_SHAPE_NUM];
    uint64_t originShape[ACL_DUMP_MAX_SHAPE_NUM];
} acldumpTensorInfo;

// Calls messageCallback, on a thread of the library, for every piece; len is sizeof(acldumpChunk) +
// bufLen. The memory of the piece ends with the call. While a callback is registered nothing is
// written to disk. If one is registered already it stays, and the call succeeds. flag must be 0.
ACL_FUNC_VISIBILITY aclError
acldumpRegCallback(int32_t (*const messageCallback)(const acldumpChunk* chunk, int32_t len),
                   int32_t flag);
ACL_FUNC_VISIBILITY void acldumpUnregCallback();

// Returns the directory of the dump, or NULL. Valid until the dump is configured again.
ACL_FUNC_VISIBILITY const char* acldumpGetPath(acldumpType dumpType);

ACL_FUNC_VISIBILITY aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);
ACL_FUNC_VISIBILITY aclError aclopStopDumpArgs(uint32_t dumpType);

ACL_FUNC_VISIBILITY aclError acldumpSaveExceptionInfo(const char*              fileName,
                                                      const char*              userTag,
                                                      const acldumpTensorInfo* tensors,
                                                      size_t                   tensorNum);
ACL_FUNC_VISIBILITY aclError acldumpGetExceptionInfoPath(char* path, size_t maxLen);

#ifdef __cplusplus
}
#endif

#endif
