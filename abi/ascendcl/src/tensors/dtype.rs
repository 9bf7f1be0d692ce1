//! The types of elements.

use std::ffi::c_int;

use half::f16;
use opscope::tensor::DType;
use opscope_border::exported;

/// `ACL_DT_UNDEFINED`.
pub const UNDEFINED: c_int = -1;

/// The numbers of `aclDataType`, and the names of opscope's types. All other types, on both sides, have no counterpart.
const NUMBERS: [(c_int, &str); 20] = [
    (0, "float32"),
    (1, "float16"),
    (2, "int8"),
    (3, "int32"),
    (4, "uint8"),
    (6, "int16"),
    (7, "uint16"),
    (8, "uint32"),
    (9, "int64"),
    (10, "uint64"),
    (11, "float64"),
    (12, "bool"),
    (13, "string"),
    (16, "complex64"),
    (17, "complex128"),
    (27, "bfloat16"),
    (29, "int4"),
    (35, "float8e5m2"),
    (36, "float8e4m3fn"),
    (40, "float4e2m1"),
];

/// Returns the number of a type; `ACL_DT_UNDEFINED` for a type that AscendCL does not have.
pub fn number_of(dtype: DType) -> c_int {
    NUMBERS.iter().find(|(_, name)| *name == dtype.name()).map_or(UNDEFINED, |(number, _)| *number)
}

/// Returns the size of an element in bytes. An element smaller than a byte counts as one byte, although in a model's
/// tensors such elements are packed.
#[exported]
pub fn aclDataTypeSize(data_type: c_int) -> usize {
    match data_type {
        // Undefined, STRING.
        UNDEFINED | 13 => 0,
        // INT8, UINT8, BOOL, INT4, UINT1, HIFLOAT8, and the three FLOAT8.
        2 | 4 | 12 | 29 | 30 | 34..=37 => 1,
        // FLOAT16, INT16, UINT16, BF16.
        1 | 6 | 7 | 27 => 2,
        // FLOAT, INT32, UINT32, COMPLEX32.
        0 | 3 | 8 | 33 => 4,
        // COMPLEX128.
        17 => 16,
        _ => 8,
    }
}

/// The bits of the largest 16-bit float, 65504.
const LARGEST: u16 = 0x7bff;
const SIGN: u16 = 0x8000;

/// Converts a 16-bit float. The largest exponent is treated like any other, so infinity becomes 65536.
#[exported]
pub fn aclFloat16ToFloat(value: u16) -> f32 {
    let number = f16::from_bits(value);
    if number.is_finite() {
        return number.to_f32();
    }
    let magnitude = 65536.0 * (1.0 + f32::from(value & 0x3ff) / 1024.0);
    if value & SIGN == 0 { magnitude } else { -magnitude }
}

/// Converts to the nearest 16-bit float, or to the even one of two that are equally near. A value that is not finite,
/// or too large, becomes 65504 with its sign.
#[exported]
pub fn aclFloatToFloat16(value: f32) -> u16 {
    let nearest = f16::from_f32(value);
    if nearest.is_finite() { nearest.to_bits() } else { LARGEST | (nearest.to_bits() & SIGN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_type_and_whole_bytes_agree() {
        for (number, name) in NUMBERS {
            let dtype: DType = name.parse().expect(name);
            assert_eq!(number_of(dtype), number);
            // Of the small floats, AscendCL's function only knows those of one byte.
            if let Some(size) = dtype.size() {
                assert_eq!(aclDataTypeSize(number), size, "{name}");
            }
        }
        let without: Vec<&str> = DType::all().filter(|dtype| number_of(*dtype) == UNDEFINED).map(DType::name).collect();
        assert_eq!(without, ["float8e4m3fnuz", "float8e5m2fnuz", "uint4"]);
    }
}
