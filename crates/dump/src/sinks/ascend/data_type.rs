use opscope_tensor::DType;

/// Element types by their number in a dump file's header. (These are not the numbers of `aclDataType`.)
const TABLE: &[(DType, i32)] = &[
    (DType::F32, 1),
    (DType::F16, 2),
    (DType::I8, 3),
    (DType::U8, 4),
    (DType::I16, 5),
    (DType::U16, 6),
    (DType::I32, 7),
    (DType::I64, 8),
    (DType::U32, 9),
    (DType::U64, 10),
    (DType::Bool, 11),
    (DType::F64, 12),
    (DType::String, 13),
    (DType::Complex64, 16),
    (DType::Complex128, 17),
    (DType::Bf16, 27),
    (DType::I4, 28),
    (DType::F8E5M2, 34),
    (DType::F8E4M3Fn, 35),
    (DType::F4E2M1, 39),
];

/// Returns the number of a type; 0 (undefined) for types that the format does not know.
pub fn data_type(dtype: DType) -> i32 {
    TABLE.iter().find(|row| row.0 == dtype).map_or(0, |row| row.1)
}

/// Returns the type with a number; `None` for unknown numbers.
pub fn dtype(data_type: i32) -> Option<DType> {
    TABLE.iter().find(|row| row.1 == data_type).map(|row| row.0)
}

/// Returns a type's name in AscendCL's tables, such as `DT_FLOAT`.
pub fn data_type_name(dtype: DType) -> String {
    match dtype {
        DType::F32 => "DT_FLOAT".into(),
        DType::F64 => "DT_DOUBLE".into(),
        DType::Bf16 => "DT_BF16".into(),
        other => format!("DT_{}", other.name().to_ascii_uppercase()),
    }
}
