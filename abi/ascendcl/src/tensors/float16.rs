use half::f16;

use opscope_border::exported;

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
