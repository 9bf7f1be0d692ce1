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
                _ => Element::F32(to_f32(dtype, bits)),
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
                Element::F32(to_f32(dtype, bytes[0]))
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

/// Returns the number for a bit pattern of a floating-point type of at most one byte, as ONNX defines it ("Float stored in
/// 8 bits"). The 4-bit type uses the low half of the byte.
fn to_f32(dtype: DType, bits: u8) -> f32 {
    match dtype {
        DType::F8E4M3Fn if bits & 0x7f == 0x7f => f32::NAN,
        DType::F8E4M3Fn => decode(bits, 8, 3, 7),
        DType::F8E4M3FnUz | DType::F8E5M2FnUz if bits == 0x80 => f32::NAN,
        DType::F8E4M3FnUz => decode(bits, 8, 3, 8),
        DType::F8E5M2 if bits & 0x7c == 0x7c => match (bits & 3, bits >> 7) {
            (0, 0) => f32::INFINITY,
            (0, _) => f32::NEG_INFINITY,
            _ => f32::NAN,
        },
        DType::F8E5M2 => decode(bits, 8, 2, 15),
        DType::F8E5M2FnUz => decode(bits, 8, 2, 16),
        DType::F4E2M1 => decode(bits & 0xf, 4, 1, 1),
        _ => unreachable!("{dtype} is not a small float"),
    }
}

/// Decodes sign, exponent and mantissa, without the special values.
fn decode(bits: u8, width: u32, mantissa_bits: u32, bias: i32) -> f32 {
    let mantissa = u32::from(bits) & ((1 << mantissa_bits) - 1);
    let exponent = (u32::from(bits) >> mantissa_bits) & ((1 << (width - 1 - mantissa_bits)) - 1);
    let fraction = mantissa as f32 / (1u32 << mantissa_bits) as f32;
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(1 - bias),
        _ => (1.0 + fraction) * 2f32.powi(exponent as i32 - bias),
    };
    if bits >> (width - 1) == 1 { -magnitude } else { magnitude }
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

    #[test]
    fn the_extremes_of_every_small_float_are_those_of_the_onnx_document() {
        let cases = [
            (DType::F8E4M3Fn, 0x7e, 448.0),
            (DType::F8E4M3Fn, 0x01, 2f32.powi(-9)),
            (DType::F8E4M3FnUz, 0x7f, 240.0),
            (DType::F8E4M3FnUz, 0x01, 2f32.powi(-10)),
            (DType::F8E5M2, 0x7b, 57344.0),
            (DType::F8E5M2, 0xfc, f32::NEG_INFINITY),
            (DType::F8E5M2FnUz, 0x7f, 57344.0),
            (DType::F4E2M1, 0x7, 6.0),
            (DType::F4E2M1, 0xf, -6.0),
            (DType::F4E2M1, 0x1, 0.5),
        ];
        for (dtype, bits, value) in cases {
            assert_eq!(to_f32(dtype, bits), value, "{dtype} {bits:#x}");
        }
        assert!(to_f32(DType::F8E4M3Fn, 0xff).is_nan());
        assert!(to_f32(DType::F8E4M3FnUz, 0x80).is_nan());
        assert!(to_f32(DType::F8E5M2, 0x7d).is_nan());
    }
}
