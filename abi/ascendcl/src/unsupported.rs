//! Functions that programs are linked with but that are not implemented here. Each reports that it is not supported.

/// Defines functions that return 200006 and keep a text that names them, whatever their arguments are.
macro_rules! unsupported {
    ($($function:ident)+) => {
        $(
            /// Always fails: it is not supported.
            #[opscope_border::exported]
            pub fn $function() -> std::ffi::c_int {
                $crate::thread_context::runtime_call(|| Err($crate::border::Failure::unsupported(stringify!($function))))
            }
        )+
    };
}

/// Defines functions that return NULL and keep a text that names them, whatever their arguments are.
macro_rules! unsupported_objects {
    ($($function:ident)+) => {
        $(
            /// Returns NULL: it is not supported.
            #[opscope_border::exported]
            pub fn $function() -> *mut std::ffi::c_void {
                let failure = || Err($crate::border::Failure::unsupported(stringify!($function)));
                $crate::border::value(std::ptr::null_mut(), failure)
            }
        )+
    };
}

/// Defines functions that return 0 and keep a text that names them, whatever their arguments are.
macro_rules! unsupported_numbers {
    ($($function:ident)+) => {
        $(
            /// Returns 0: it is not supported.
            #[opscope_border::exported]
            pub fn $function() -> u64 {
                $crate::border::value(0, || Err($crate::border::Failure::unsupported(stringify!($function))))
            }
        )+
    };
}

// Functions for initialization, devices, streams and memory.
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

// Tensor descriptions.
unsupported! {
    aclSetTensorShapeRange
    aclSetTensorValueRange
    aclSetTensorFormat
    aclSetTensorShape
    aclSetTensorOriginFormat
    aclSetTensorOriginShape
    aclSetTensorStorageFormat
    aclSetTensorStorageShape
    aclSetTensorDynamicInput
    aclSetTensorConst
    aclSetTensorPlaceMent
    aclTransTensorDescFormat
    aclGetTensorDescDimRange
}

// Models.
unsupported! {
    aclmdlLoadFromFileWithQ
    aclmdlLoadFromMemWithQ
    aclmdlLoadFromModel
    aclmdlSetExternalWeightAddress
    aclmdlQueryExeOMDesc
    aclmdlSetAttribute
    aclmdlGetAttribute
    aclRecoverAllHcclTasks
    aclmdlGetAippDataSize
    aclmdlCreateAndGetOpDesc
    aclmdlExecuteAsyncV2
}

// Functions for single operators. Operators cannot be loaded or run without a model here.
unsupported! {
    aclopSetModelDir
    aclopLoad
}

// Functions for profiling. Here, the profiler section in the file of `aclInit` switches recordings on.
unsupported! {
    aclprofInit
    aclprofFinalize
    aclprofDestroyConfig
    aclprofStart
    aclprofStop
    aclprofSetConfig
    aclprofModelSubscribe
    aclprofModelUnSubscribe
    aclprofDestroySubscribeConfig
    aclprofGetOpDescSize
    aclprofGetOpNum
    aclprofGetOpTypeLen
    aclprofGetOpType
    aclprofGetOpNameLen
    aclprofGetOpName
    aclprofGetStepTimestamp
    aclprofSetStampTraceMessage
    aclprofPush
    aclprofPop
    aclprofRangeStart
    aclprofRangeStop
    aclprofMark
    aclprofMarkEx
    aclprofRangePushEx
    aclprofRangePop
}

unsupported_objects! {
    aclprofCreateConfig
    aclprofCreateSubscribeConfig
    aclprofCreateStepInfo
    aclprofCreateStamp
    aclprofGetOpAttriValue
}

unsupported_numbers! {
    aclprofDestroyStepInfo
    aclprofDestroyStamp
    aclprofGetOpStart
    aclprofGetOpEnd
    aclprofGetOpDuration
    aclprofGetModelId
    aclprofGetOpFlag
}
