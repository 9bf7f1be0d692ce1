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
