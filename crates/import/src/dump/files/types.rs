//! The types of PyTorch's tensors and storages.

use opscope_tensor::DType;

/// The types of PyTorch that a tensor can have, as they are named below `torch`. `None` where opscope has no such type.
const TYPES: &[(&str, &str, Option<DType>)] = &[
    ("float32", "FloatStorage", Some(DType::F32)),
    ("float64", "DoubleStorage", Some(DType::F64)),
    ("float16", "HalfStorage", Some(DType::F16)),
    ("bfloat16", "BFloat16Storage", Some(DType::Bf16)),
    ("int64", "LongStorage", Some(DType::I64)),
    ("int32", "IntStorage", Some(DType::I32)),
    ("int16", "ShortStorage", Some(DType::I16)),
    ("int8", "CharStorage", Some(DType::I8)),
    ("uint8", "ByteStorage", Some(DType::U8)),
    ("bool", "BoolStorage", Some(DType::Bool)),
    ("complex64", "ComplexFloatStorage", Some(DType::Complex64)),
    ("complex128", "ComplexDoubleStorage", Some(DType::Complex128)),
    ("uint16", "", Some(DType::U16)),
    ("uint32", "", Some(DType::U32)),
    ("uint64", "", Some(DType::U64)),
    ("float8_e4m3fn", "", Some(DType::F8E4M3Fn)),
    ("float8_e4m3fnuz", "", Some(DType::F8E4M3FnUz)),
    ("float8_e5m2", "", Some(DType::F8E5M2)),
    ("float8_e5m2fnuz", "", Some(DType::F8E5M2FnUz)),
    ("float8_e8m0fnu", "", None),
    ("float4_e2m1fn_x2", "", None),
    ("complex32", "", None),
    ("qint8", "QInt8Storage", None),
    ("quint8", "QUInt8Storage", None),
    ("qint32", "QInt32Storage", None),
];

/// Returns whether PyTorch has a type of this name.
pub(crate) fn is_type_name(name: &str) -> bool {
    TYPES.iter().any(|(known, ..)| *known == name)
}

/// Returns the type that PyTorch names so, such as `float32`; `None` if there is none.
pub(crate) fn type_named(name: &str) -> Option<DType> {
    TYPES.iter().find(|(known, ..)| *known == name).and_then(|(.., dtype)| *dtype)
}

/// Returns the type of the elements of a storage of this class.
pub(crate) fn type_of_storage(class: &str) -> Option<DType> {
    TYPES.iter().find(|(_, storage, _)| !storage.is_empty() && *storage == class).and_then(|(.., dtype)| *dtype)
}
