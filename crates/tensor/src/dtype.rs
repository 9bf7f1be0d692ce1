use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The element type of a tensor: the types of ONNX's `TensorProto.DataType`.
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
    /// Text. It has no fixed size and no byte form.
    String,
    /// One byte per element, 0 or 1.
    Bool,
    F16,
    F64,
    U32,
    U64,
    /// Two `f32`: the real and the imaginary part.
    Complex64,
    /// Two `f64`: the real and the imaginary part.
    Complex128,
    Bf16,
    F8E4M3Fn,
    F8E4M3FnUz,
    F8E5M2,
    F8E5M2FnUz,
    /// Two elements per byte, the first in the low half.
    U4,
    /// Two elements per byte, the first in the low half.
    I4,
    /// Two elements per byte, the first in the low half.
    F4E2M1,
}

use DType::*;

/// The properties of a type.
struct Row {
    dtype: DType,
    /// The code of ONNX's `TensorProto.DataType`.
    onnx: i32,
    /// The name that numpy and ONNX use.
    name: &'static str,
    /// The bits of one element, or `None` for strings.
    bits: Option<usize>,
    /// The name in an npy header, or `None` if the npy format does not have the type.
    npy: Option<&'static str>,
}

const fn row(dtype: DType, onnx: i32, name: &'static str, bits: Option<usize>, npy: Option<&'static str>) -> Row {
    Row { dtype, onnx, name, bits, npy }
}

/// Every type, in the order of the enum.
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
    /// Returns every type, in the order of the ONNX codes.
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.dtype)
    }

    fn row(self) -> &'static Row {
        // The table is in the order of the enum, which a test checks.
        &TABLE[self as usize]
    }

    /// Returns the type with this code of ONNX's `TensorProto.DataType`. Returns `None` for 0 (undefined) and for
    /// unknown codes.
    pub fn from_onnx(code: i32) -> Option<Self> {
        TABLE.iter().find(|row| row.onnx == code).map(|row| row.dtype)
    }

    /// Returns the code of this type in ONNX's `TensorProto.DataType`.
    pub fn onnx_code(self) -> i32 {
        self.row().onnx
    }

    /// Returns the name, such as `float32`, `int64` or `bool`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the number of bytes of `elements` elements (two per byte for the 4-bit types), or `None` for strings.
    pub fn bytes_of(self, elements: usize) -> Option<usize> {
        self.row().bits.and_then(|bits| elements.checked_mul(bits)).map(|bits| bits.div_ceil(8))
    }

    /// Returns the number of bytes of one element, or `None` for strings and for types smaller than a byte.
    pub fn size(self) -> Option<usize> {
        self.row().bits.filter(|bits| bits % 8 == 0).map(|bits| bits / 8)
    }

    /// Returns the number of elements in this many bytes, or `None` for strings.
    pub fn elements_in(self, bytes: usize) -> Option<usize> {
        self.row().bits.map(|bits| bytes.saturating_mul(8) / bits)
    }

    /// Returns the name of this type in an npy header, or `None` if the npy format does not have it.
    pub fn npy_descr(self) -> Option<&'static str> {
        self.row().npy
    }

    /// Returns whether the elements are complex numbers.
    pub fn is_complex(self) -> bool {
        matches!(self, Complex64 | Complex128)
    }

    /// Returns whether the elements are floats of at most one byte.
    pub(crate) fn is_small_float(self) -> bool {
        matches!(self, F8E4M3Fn | F8E4M3FnUz | F8E5M2 | F8E5M2FnUz | F4E2M1)
    }

    /// Returns whether the elements are real floating-point numbers.
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

impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = DType;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an element type, such as float32")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<DType, E> {
        name.parse().map_err(|()| E::custom(format_args!("the type '{}' is not known", name.escape_default())))
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
            assert_eq!(DType::from_onnx(row.dtype.onnx_code()), Some(row.dtype));
        }
    }

    #[test]
    fn four_bit_elements_share_a_byte() {
        assert_eq!(DType::I4.bytes_of(3), Some(2));
        assert_eq!(DType::F16.bytes_of(3), Some(6));
        assert_eq!(DType::String.bytes_of(3), None);
    }

    #[test]
    fn in_json_a_type_is_its_name_and_an_unknown_name_is_an_error() {
        for dtype in DType::all() {
            let json = serde_json::to_string(&dtype).expect("a name");
            assert_eq!(json, format!("\"{dtype}\""));
            assert_eq!(serde_json::from_str::<DType>(&json).expect("a known name"), dtype);
        }
        let error = serde_json::from_str::<DType>("\"float\\u001b\"").expect_err("no type has this name");
        assert!(error.to_string().starts_with(r"the type 'float\u{1b}' is not known"), "{error}");
    }
}
