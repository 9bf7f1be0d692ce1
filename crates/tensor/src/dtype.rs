use std::fmt;
use std::str::FromStr;

/// The type of a tensor's elements: those of ONNX (`TensorProto.DataType`), with the codes of that format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum DType {
    F32,
    U8,
    I8,
    U16,
    I16,
    I32,
    I64,
    /// Text. It has no fixed size and no bytes.
    String,
    /// One byte an element, 0 or 1.
    Bool,
    F16,
    F64,
    U32,
    U64,
    /// Two `f32`: real and imaginary part.
    Complex64,
    /// Two `f64`: real and imaginary part.
    Complex128,
    Bf16,
    F8E4M3Fn,
    F8E4M3FnUz,
    F8E5M2,
    F8E5M2FnUz,
    /// Two elements a byte, the first in the low half.
    U4,
    /// Two elements a byte, the first in the low half.
    I4,
    /// Two elements a byte, the first in the low half.
    F4E2M1,
}

use DType::*;

/// What is known of a type.
struct Row {
    dtype: DType,
    /// The code of ONNX's `TensorProto.DataType`.
    onnx: i32,
    /// As numpy and ONNX write it.
    name: &'static str,
    /// The bits of one element.
    bits: Option<usize>,
    /// How an npy header names it.
    npy: Option<&'static str>,
}

const fn row(dtype: DType, onnx: i32, name: &'static str, bits: Option<usize>, npy: Option<&'static str>) -> Row {
    Row { dtype, onnx, name, bits, npy }
}

/// Every type, in the order of the enumeration.
const TABLE: &[Row] = &[
    row(F32, 1, "float32", Some(32), Some("<f4")),
    row(U8, 2, "uint8", Some(8), Some("|u1")),
    row(I8, 3, "int8", Some(8), Some("|i1")),
    row(U16, 4, "uint16", Some(16), Some("<u2")),
    row(I16, 5, "int16", Some(16), Some("<i2")),
    row(I32, 6, "int32", Some(32), Some("<i4")),
    row(I64, 7, "int64", Some(64), Some("<i8")),
    row(String, 8, "string", None, None),
    row(Bool, 9, "bool", Some(8), Some("|b1")),
    row(F16, 10, "float16", Some(16), Some("<f2")),
    row(F64, 11, "float64", Some(64), Some("<f8")),
    row(U32, 12, "uint32", Some(32), Some("<u4")),
    row(U64, 13, "uint64", Some(64), Some("<u8")),
    row(Complex64, 14, "complex64", Some(64), Some("<c8")),
    row(Complex128, 15, "complex128", Some(128), Some("<c16")),
    row(Bf16, 16, "bfloat16", Some(16), None),
    row(F8E4M3Fn, 17, "float8e4m3fn", Some(8), None),
    row(F8E4M3FnUz, 18, "float8e4m3fnuz", Some(8), None),
    row(F8E5M2, 19, "float8e5m2", Some(8), None),
    row(F8E5M2FnUz, 20, "float8e5m2fnuz", Some(8), None),
    row(U4, 21, "uint4", Some(4), None),
    row(I4, 22, "int4", Some(4), None),
    row(F4E2M1, 23, "float4e2m1", Some(4), None),
];

impl DType {
    /// Every type, in the order of the ONNX codes.
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.dtype)
    }

    fn row(self) -> &'static Row {
        // The table is in the order of the enumeration; a test holds that.
        &TABLE[self as usize]
    }

    /// The type with this code of ONNX's `TensorProto.DataType`; none for 0 (undefined) and for codes that are unknown.
    pub fn from_onnx(code: i32) -> Option<Self> {
        TABLE.iter().find(|row| row.onnx == code).map(|row| row.dtype)
    }

    /// The name, as in `float32`, `int64`, `bool`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The bytes of `elements` elements (two to a byte for the 4-bit types); none for strings.
    pub fn bytes_of(self, elements: usize) -> Option<usize> {
        self.row().bits.and_then(|bits| elements.checked_mul(bits)).map(|bits| bits.div_ceil(8))
    }

    /// The bytes of one element; none for strings and for types smaller than a byte.
    pub fn size(self) -> Option<usize> {
        self.row().bits.filter(|bits| bits % 8 == 0).map(|bits| bits / 8)
    }

    /// The elements in so many bytes; none for strings.
    pub fn elements_in(self, bytes: usize) -> Option<usize> {
        self.row().bits.map(|bits| bytes.saturating_mul(8) / bits)
    }

    /// How an npy header names this type; none for what the npy format cannot hold.
    pub fn npy_descr(self) -> Option<&'static str> {
        self.row().npy
    }

    /// Whether elements are complex numbers.
    pub fn is_complex(self) -> bool {
        matches!(self, Complex64 | Complex128)
    }

    /// Whether elements are floats of a byte or less.
    pub(crate) fn is_small_float(self) -> bool {
        matches!(self, F8E4M3Fn | F8E4M3FnUz | F8E5M2 | F8E5M2FnUz | F4E2M1)
    }

    /// Whether elements are real numbers with a fraction.
    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64 | F16 | Bf16)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.dtype).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enumeration_and_names_are_found_again() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.dtype as usize, index);
            assert_eq!(row.name.parse(), Ok(row.dtype));
            assert_eq!(DType::from_onnx(row.onnx), Some(row.dtype));
        }
    }

    #[test]
    fn four_bit_elements_share_a_byte() {
        assert_eq!(DType::I4.bytes_of(3), Some(2));
        assert_eq!(DType::F16.bytes_of(3), Some(6));
        assert_eq!(DType::String.bytes_of(3), None);
    }
}
