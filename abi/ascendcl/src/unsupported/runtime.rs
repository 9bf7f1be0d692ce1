//! Functions for initialization, devices, streams and memory.

unsupported! {
    aclInitCallbackRegister
    aclInitCallbackUnRegister
    aclFinalizeCallbackRegister
    aclFinalizeCallbackUnRegister
    aclrtSetTsDevice
    aclrtSetDeviceSatMode
    aclrtGetDeviceSatMode
    aclrtSetGroup
    aclrtGetGroupCount
    aclrtDeviceEnablePeerAccess
    aclrtDeviceDisablePeerAccess
    aclrtDestroyStreamConfigHandle
    aclrtSetStreamConfigOpt
    aclrtCreateStreamV2
    aclrtSetStreamOverflowSwitch
    aclrtGetStreamOverflowSwitch
    aclrtStreamAbort
    aclrtSetStreamAttribute
    aclrtGetStreamAttribute
    aclrtGetOverflowStatus
    aclrtResetOverflowStatus
    aclrtRegStreamStateCallback
    aclrtRegDeviceStateCallback
    aclrtSubscribeHostFunc
    aclrtProcessHostFunc
    aclrtMallocHostWithCfg
    aclrtPointerGetAttributes
    aclrtMemcpyAsyncWithCondition
    aclrtGetMemUsageInfo
    aclrtHostRegister
    aclrtHostUnregister
}

unsupported_objects! {
    aclrtCreateStreamConfigHandle
    aclrtCreateGroupInfo
}
