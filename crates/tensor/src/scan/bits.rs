//! Numbers as bit patterns. Without the sign bit, the bits of a float are an integer that grows with its magnitude.
//! Infinity is above all numbers, and NaN is above infinity.

use half::{bf16, f16};

/// A counter with as many bits as an element.
pub(super) trait Counter: Copy {
    const ZERO: Self;

    /// A number of elements that it can count without overflow.
    const MOST: usize;

    fn plus(self, one: bool) -> Self;

    fn to_u64(self) -> u64;
}

/// An IEEE float type, as it is stored in a tensor.
pub(super) trait Float<const SIZE: usize> {
    /// Its bits as an unsigned integer.
    type Bits: Copy + Ord + Counter;
    /// An integer that grows with the number, across zero.
    type Ordered: Copy + Ord;

    const ZERO: Self::Bits;
    const INFINITY: Self::Bits;
    const LOWEST: Self::Ordered;
    const HIGHEST: Self::Ordered;

    /// Returns the bits without the sign.
    fn magnitude(bytes: [u8; SIZE]) -> Self::Bits;

    fn ordered(bytes: [u8; SIZE]) -> Self::Ordered;

    fn magnitude_to_f64(magnitude: Self::Bits) -> f64;

    fn ordered_to_f64(ordered: Self::Ordered) -> f64;
}

/// An integer type, as it is stored in a tensor.
pub(super) trait Integer<const SIZE: usize>: Copy + Ord {
    /// An unsigned integer of the same width.
    type Counter: Counter;

    const ZERO: Self;
    const MIN: Self;
    const MAX: Self;

    fn decode(bytes: [u8; SIZE]) -> Self;

    fn to_f64(self) -> f64;
}

macro_rules! integers {
    ($($type:ident $size:literal $counter:ident;)*) => {$(
        impl Integer<$size> for $type {
            type Counter = $counter;

            const ZERO: Self = 0;
            const MIN: Self = $type::MIN;
            const MAX: Self = $type::MAX;

            #[inline(always)]
            fn decode(bytes: [u8; $size]) -> Self {
                $type::from_le_bytes(bytes)
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers! {
    u8 1 u8;
    i8 1 u8;
    u16 2 u16;
    i16 2 u16;
    u32 4 u32;
    i32 4 u32;
    u64 8 u64;
    i64 8 u64;
}

macro_rules! counters {
    ($($type:ident)*) => {$(
        impl Counter for $type {
            const ZERO: Self = 0;
            const MOST: usize = if $type::BITS == 8 { 128 } else { 4096 };

            #[inline(always)]
            fn plus(self, one: bool) -> Self {
                self.wrapping_add($type::from(one))
            }

            fn to_u64(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}

counters! { u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ident $size:literal $bits:ident $ordered:ident;)*) => {$(
        impl Float<$size> for $type {
            type Bits = $bits;
            type Ordered = $ordered;

            const ZERO: $bits = 0;
            const INFINITY: $bits = $type::INFINITY.to_bits();
            const LOWEST: $ordered = $ordered::MIN;
            const HIGHEST: $ordered = $ordered::MAX;

            #[inline(always)]
            fn magnitude(bytes: [u8; $size]) -> $bits {
                $bits::from_le_bytes(bytes) & ($bits::MAX >> 1)
            }

            #[inline(always)]
            fn ordered(bytes: [u8; $size]) -> $ordered {
                let bits = $ordered::from_le_bytes(bytes);
                // The other bits of a negative number are inverted, because a larger magnitude ranks lower.
                bits ^ ((bits >> ($bits::BITS - 1)) & $ordered::MAX)
            }

            fn magnitude_to_f64(magnitude: $bits) -> f64 {
                f64::from($type::from_bits(magnitude))
            }

            fn ordered_to_f64(ordered: $ordered) -> f64 {
                let bits = ordered ^ ((ordered >> ($bits::BITS - 1)) & $ordered::MAX);
                f64::from($type::from_bits(bits.cast_unsigned()))
            }
        }
    )*};
}

floats! {
    f16 2 u16 i16;
    bf16 2 u16 i16;
    f32 4 u32 i32;
    f64 8 u64 i64;
}
