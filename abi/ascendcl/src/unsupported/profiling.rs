//! Functions for profiling. Here, the profiler section in the file of `aclInit` switches recordings on.

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
