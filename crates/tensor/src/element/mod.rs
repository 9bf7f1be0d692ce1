mod small_float;

use std::fmt;

use half::{bf16, f16};

use crate::DType;

/// One element of a tensor. It prints as the shortest text that reads back as the same number, as in numpy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Element {
    /// An element of `bool`.
    Bool(bool),
    /// An element of a signed integer type.
    Int(i64),
    /// An element of an unsigned integer type.
    UInt(u64),
    /// An element of a float type of up to 32 bits.
    F32(f32),
    /// An element of `float64`.
    F64(f64),
    /// An element of a complex type: its real and its imaginary part.
    Complex(f64, f64),
}

impl Element {
    /// Returns the element at an index of little-endian, row-major data. Returns `None` past the end and for types
    /// without a byte form.
    pub fn at(dtype: DType, bytes: &[u8], index: usize) -> Option<Self> {
        if matches!(dtype, DType::U4 | DType::I4 | DType::F4E2M1) {
            let bits = (bytes.get(index / 2)? >> (index % 2 * 4)) & 0xf;
            return Some(match dtype {
                DType::U4 => Element::UInt(u64::from(bits)),
                DType::I4 => Element::Int(i64::from((bits << 4).cast_signed() >> 4)),
                _ => Element::F32(small_float::to_f32(dtype, bits)),
            });
        }
        let size = dtype.size()?;
        let start = index.checked_mul(size)?;
        let bytes = bytes.get(start..start.checked_add(size)?)?;
        Some(match dtype {
            DType::Bool => Element::Bool(bytes[0] != 0),
            DType::U8 => Element::UInt(u64::from(bytes[0])),
            DType::I8 => Element::Int(i64::from(bytes[0].cast_signed())),
            DType::U16 => Element::UInt(u64::from(u16::from_le_bytes(array(bytes)))),
            DType::I16 => Element::Int(i64::from(i16::from_le_bytes(array(bytes)))),
            DType::U32 => Element::UInt(u64::from(u32::from_le_bytes(array(bytes)))),
            DType::I32 => Element::Int(i64::from(i32::from_le_bytes(array(bytes)))),
            DType::U64 => Element::UInt(u64::from_le_bytes(array(bytes))),
            DType::I64 => Element::Int(i64::from_le_bytes(array(bytes))),
            DType::F16 => Element::F32(f16::from_le_bytes(array(bytes)).to_f32()),
            DType::Bf16 => Element::F32(bf16::from_le_bytes(array(bytes)).to_f32()),
            DType::F32 => Element::F32(f32::from_le_bytes(array(bytes))),
            DType::F64 => Element::F64(f64::from_le_bytes(array(bytes))),
            DType::Complex64 => Element::Complex(
                f64::from(f32::from_le_bytes(array(&bytes[..4]))),
                f64::from(f32::from_le_bytes(array(&bytes[4..]))),
            ),
            DType::Complex128 => {
                Element::Complex(f64::from_le_bytes(array(&bytes[..8])), f64::from_le_bytes(array(&bytes[8..])))
            }
            DType::F8E4M3Fn | DType::F8E4M3FnUz | DType::F8E5M2 | DType::F8E5M2FnUz => {
                Element::F32(small_float::to_f32(dtype, bytes[0]))
            }
            DType::String | DType::U4 | DType::I4 | DType::F4E2M1 => return None,
        })
    }

    /// Returns the element as a real number, or `None` if it is complex. Integers beyond 2^53 are rounded.
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Element::Bool(value) => Some(f64::from(u8::from(value))),
            Element::Int(value) => Some(value as f64),
            Element::UInt(value) => Some(value as f64),
            Element::F32(value) => Some(f64::from(value)),
            Element::F64(value) => Some(value),
            Element::Complex(..) => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Bool(value) => write!(f, "{value}"),
            Element::Int(value) => write!(f, "{value}"),
            Element::UInt(value) => write!(f, "{value}"),
            Element::F32(value) => write!(f, "{value:?}"),
            Element::F64(value) => write!(f, "{value:?}"),
            Element::Complex(re, im) => write!(f, "{re:?}{im:+?}j"),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slice was cut to the size of the type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bit_elements_are_read_low_half_first_with_their_sign() {
        let bytes = [0x8f];
        assert_eq!(Element::at(DType::I4, &bytes, 0), Some(Element::Int(-1)));
        assert_eq!(Element::at(DType::I4, &bytes, 1), Some(Element::Int(-8)));
        assert_eq!(Element::at(DType::U4, &bytes, 1), Some(Element::UInt(8)));
        assert_eq!(Element::at(DType::U4, &bytes, 2), None);
    }

    #[test]
    fn elements_print_as_short_as_they_can_be_read_back() {
        assert_eq!(Element::F32(0.1).to_string(), "0.1");
        assert_eq!(Element::F32(-1.0).to_string(), "-1.0");
        assert_eq!(Element::Complex(1.0, -2.5).to_string(), "1.0-2.5j");
    }
}
