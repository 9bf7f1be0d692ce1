//! Floating-point types of at most one byte, as ONNX defines them ("Float stored in 8 bits").

use crate::DType;

/// Returns the number for a bit pattern of one of these types. The 4-bit type uses the low half of the byte.
pub(crate) fn to_f32(dtype: DType, bits: u8) -> f32 {
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
