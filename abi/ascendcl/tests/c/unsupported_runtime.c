#include "check.h"

static aclError init(const char *config, size_t length, void *data)
{
    (void)config;
    (void)length;
    (void)data;
    return 0;
}

static aclError finalize(void *data)
{
    (void)data;
    return 0;
}

int main(void)
{
    aclrtPtrAttributes attributes;
    aclrtMallocConfig config = {NULL, 0};
    aclrtMemUsageInfo use;
    aclrtStream stream;
    void *memory;
    size_t count;
    const char *text;
    IS(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, init, NULL), 200006);
    IS(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, init), 200006);
    IS(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, finalize, NULL), 200006);
    IS(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, finalize), 200006);
    IS(aclrtSetTsDevice(ACL_TS_ID_AICORE), 200006);
    IS(aclrtDeviceEnablePeerAccess(0, 0), 200006);
    IS(aclrtDeviceDisablePeerAccess(0), 200006);
    CHECK(aclrtCreateStreamConfigHandle() == NULL);
    text = aclGetRecentErrMsg();
    CHECK(text != NULL && strstr(text, "EH0006") == text && strstr(text, "aclrtCreateStreamConfigHandle") != NULL);
    IS(aclrtDestroyStreamConfigHandle(NULL), 200006);
    IS(aclrtCreateStreamV2(&stream, NULL), 200006);
    IS(aclrtMallocHostWithCfg(&memory, 1, &config), 200006);
    IS(aclrtPointerGetAttributes(&count, &attributes), 200006);
    IS(aclrtMemcpyAsyncWithCondition(&memory, 1, &count, 1, ACL_MEMCPY_DEFAULT, NULL), 200006);
    IS(aclrtGetMemUsageInfo(0, &use, 1, &count), 200006);
    IS(aclrtHostRegister(&count, 8, 0, &memory), 200006);
    IS(aclrtHostUnregister(&count), 200006);
    puts("passed");
    return 0;
}
