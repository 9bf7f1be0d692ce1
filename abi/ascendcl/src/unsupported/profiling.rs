//! Functions that profile by calls. Here, the profiler section of the file of `aclInit` makes recordings.

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
