/* The functions that dump single operators and exceptions, which do not exist here. */
#include "check.h"

#include <errno.h>
#include <sys/stat.h>

/* These are exported, and declared in no header. */
#ifdef __cplusplus
extern "C" {
#endif
aclError aclprofInit(const char *path, size_t length);
void *aclprofCreateConfig(void);
uint64_t aclprofGetOpStart(const void *info, size_t length, uint32_t index);
#ifdef __cplusplus
}
#endif

static void says(const char *code)
{
    const char *text = aclGetRecentErrMsg();
    CHECK(text != NULL && strncmp(text, code, strlen(code)) == 0);
}

static void arguments_of_operators(void)
{
    struct stat facts;
    IS(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, NULL), ACL_ERROR_FAILURE);
    CHECK(aclopStartDumpArgs(2, "args") == ACL_ERROR_FAILURE);
    says("EP0006");
    CHECK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "") == ACL_ERROR_FAILURE);
    says("EP0006");
    CHECK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "/dev/null/args") == ACL_ERROR_FAILURE);
    says("EP0006");
    OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
    OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "args/of/operators"));
    CHECK(stat("args/of/operators", &facts) == 0 && S_ISDIR(facts.st_mode));
    CHECK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "args") == ACL_ERROR_FAILURE);
    says("EP0008");
    OK(aclopStopDumpArgs(2));
    CHECK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "args") == ACL_ERROR_FAILURE);
    OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
    OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "args"));
}

static void exceptions(void)
{
    char path[8];
    acldumpTensorInfo good, bad;
    memset(&good, 0, sizeof(good));
    good.tensorAddr = path;
    good.tensorSize = sizeof(path);
    good.addrType = 2;
    CHECK(acldumpSaveExceptionInfo("name", NULL, &good, 1) == ACL_ERROR_FAILURE);
    says("EP0008");
    IS(acldumpSaveExceptionInfo(NULL, NULL, &good, 1), ACL_ERROR_INVALID_PARAM);
    IS(acldumpSaveExceptionInfo("", NULL, &good, 1), ACL_ERROR_INVALID_PARAM);
    IS(acldumpSaveExceptionInfo("a/../b", NULL, &good, 1), ACL_ERROR_INVALID_PARAM);
    IS(acldumpSaveExceptionInfo("a", NULL, NULL, 1), ACL_ERROR_INVALID_PARAM);
    IS(acldumpSaveExceptionInfo("a", NULL, &good, 0), ACL_ERROR_INVALID_PARAM);
    IS(acldumpSaveExceptionInfo("a", NULL, &good, 0xffffffff), ACL_ERROR_INVALID_PARAM);
    IS(acldumpSaveExceptionInfo("a", NULL, &good, (size_t)-1), ACL_ERROR_INVALID_PARAM);
#define REFUSES(field, value)                                                                       \
    bad = good;                                                                                     \
    bad.field = value;                                                                              \
    IS(acldumpSaveExceptionInfo("a", NULL, &bad, 1), ACL_ERROR_INVALID_PARAM)
    REFUSES(shapeNum, 26);
    REFUSES(originShapeNum, 26);
    REFUSES(addrType, 0);
    REFUSES(placement, 1);
    REFUSES(tensorAddr, NULL);
    REFUSES(tensorSize, 0);
    IS(acldumpGetExceptionInfoPath(NULL, 8), ACL_ERROR_INVALID_PARAM);
    IS(acldumpGetExceptionInfoPath(path, 1), ACL_ERROR_INVALID_PARAM);
    CHECK(acldumpGetExceptionInfoPath(path, sizeof(path)) == ACL_ERROR_FAILURE);
    says("EP0008");
}

int main(void)
{
    arguments_of_operators();
    exceptions();
    IS(aclopSetModelDir("."), ACL_ERROR_FEATURE_UNSUPPORTED);
    IS(aclopLoad("", 1), ACL_ERROR_FEATURE_UNSUPPORTED);
    IS(aclprofInit(".", 1), ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK(aclprofCreateConfig() == NULL);
    says("EH0006");
    CHECK(aclprofGetOpStart(NULL, 0, 0) == 0);
    says("EH0006");
    puts("passed");
    return 0;
}
