#include "check.h"

static void callback(aclrtExceptionInfo *info)
{
    (void)info;
}

int main(void)
{
    int32_t major = 0, minor = 0, patch = -1, number = 0, value = -1;
    char text[ACL_PKG_VERSION_MAX_SIZE], runtime[] = "runtime", other[] = "no package";
    aclCANNPackageVersion version;
    const aclCannAttr *list = NULL;
    size_t count = 0, i;

    OK(aclrtGetVersion(&major, &minor, &patch));
    CHECK(major == ACL_MAJOR_VERSION && minor == ACL_MINOR_VERSION && patch == ACL_PATCH_VERSION);
    IS(aclrtGetVersion(NULL, &minor, &patch), 100000);
    IS(aclrtGetVersion(&major, NULL, &patch), 100000);
    IS(aclrtGetVersion(&major, &minor, NULL), 100000);
    OK(aclsysGetVersionStr(runtime, text));
    CHECK(strcmp(text, "1.17.0") == 0);
    OK(aclsysGetVersionNum(runtime, &number));
    CHECK(number == 11700000);
    IS(aclsysGetVersionStr(other, text), 100000);
    IS(aclsysGetVersionStr(NULL, text), 100000);
    IS(aclsysGetVersionStr(runtime, NULL), 100000);
    IS(aclsysGetVersionNum(other, &number), 100000);
    IS(aclsysGetVersionNum(NULL, &number), 100000);
    IS(aclsysGetVersionNum(runtime, NULL), 100000);
    OK(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
    CHECK(strcmp(version.version, "1.17.0") == 0 && strcmp(version.minorVersion, "17") == 0);
    IS(aclsysGetCANNVersion(ACL_PKG_NAME_HCCL, &version), 100000);
    IS(aclsysGetCANNVersion((aclCANNPackageName)99, &version), 100000);
    IS(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, NULL), 100000);

    CHECK(strcmp(aclrtGetSocName(), "Ascend910B3") == 0);
    CHECK(aclrtGetSocName() == aclrtGetSocName());

    OK(aclGetCannAttributeList(&list, &count));
    CHECK(list != NULL && count > 0);
    for (i = 0; i < count; i++) {
        OK(aclGetCannAttribute(list[i], &value));
        CHECK(value == 1);
    }
    OK(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value));
    CHECK(value == 0);
    IS(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), 100000);
    IS(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, NULL), 100000);
    IS(aclGetCannAttributeList(NULL, &count), 100000);
    IS(aclGetCannAttributeList(&list, NULL), 100000);

    OK(aclrtSetExceptionInfoCallback(callback));
    OK(aclrtSetExceptionInfoCallback(NULL));
    OK(aclrtExceptionInfoCallbackRegister(callback));
    OK(aclrtExceptionInfoCallbackUnregister(callback));
    IS(aclrtExceptionInfoCallbackUnregister(callback), 107000);
    IS(aclrtExceptionInfoCallbackRegister(NULL), 107000);
    IS(aclrtExceptionInfoCallbackUnregister(NULL), 107000);
    CHECK(aclrtGetTaskIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetStreamIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetThreadIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetDeviceIdFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    CHECK(aclrtGetErrorCodeFromExceptionInfo(NULL) == 0xFFFFFFFFu);
    puts("passed");
    return 0;
}
