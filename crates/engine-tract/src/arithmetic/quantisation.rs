//! Bytes that represent a range of numbers.

use pulp::{Arch, Simd, WithSimd};

const LANES: usize = 16;

/// A scale and a zero point, as `DynamicQuantizeLinear` chooses them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub scale: f32,
    pub zero: f32,
}

/// Numbers, as bytes minus their zero point.
pub(crate) struct Quantised {
    pub scale: f32,
    /// From -255 to 255.
    pub values: Vec<i16>,
}

impl Scale {
    /// Returns the scale and the zero point for the range of the values and zero.
    pub(crate) fn of(values: &[f32]) -> Self {
        let (low, high) = Arch::new().dispatch(Extremes(values));
        let scale = if low == high { 1.0 } else { (high - low) / 255.0 };
        Self { scale, zero: (-low / scale).clamp(0.0, 255.0).round_ties_even() }
    }

    #[inline(always)]
    fn rounded(self, value: f32) -> f32 {
        ((value / self.scale).round_ties_even() + self.zero).clamp(0.0, 255.0)
    }

    /// Writes the values as bytes.
    pub(crate) fn bytes(self, values: &[f32], out: &mut [u8]) {
        Arch::new().dispatch(Bytes { values, by: self, out });
    }
}

impl Quantised {
    /// Quantises values by their own range.
    pub(crate) fn of(values: &[f32]) -> Self {
        let by = Scale::of(values);
        let mut quantised = vec![0; values.len()];
        Arch::new().dispatch(Rounded { values, by, out: &mut quantised });
        Self { scale: by.scale, values: quantised }
    }
}

/// The least and the largest of zero and some values.
struct Extremes<'a>(&'a [f32]);

impl WithSimd for Extremes<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (f32, f32) {
        // A comparison with NaN is false, so NaN is ignored.
        let least = |a: f32, b: f32| if b < a { b } else { a };
        let largest = |a: f32, b: f32| if b > a { b } else { a };
        let (mut low, mut high) = ([0f32; LANES], [0f32; LANES]);
        let (groups, rest) = self.0.as_chunks::<LANES>();
        for group in groups {
            for lane in 0..LANES {
                low[lane] = least(low[lane], group[lane]);
                high[lane] = largest(high[lane], group[lane]);
            }
        }
        (low.iter().chain(rest).copied().fold(0.0, least), high.iter().chain(rest).copied().fold(0.0, largest))
    }
}

struct Bytes<'a> {
    values: &'a [f32],
    by: Scale,
    out: &'a mut [u8],
}

impl WithSimd for Bytes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (out, value) in self.out.iter_mut().zip(self.values) {
            *out = self.by.rounded(*value) as i32 as u8;
        }
    }
}

struct Rounded<'a> {
    values: &'a [f32],
    by: Scale,
    out: &'a mut [i16],
}

impl WithSimd for Rounded<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (out, value) in self.out.iter_mut().zip(self.values) {
            *out = (self.by.rounded(*value) - self.by.zero) as i32 as i16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of operator DynamicQuantizeLinear of ONNX Runtime 1.31.1, minus the zero point.
    #[test]
    fn values_become_the_bytes_of_dynamic_quantization() {
        let values = [-1.5, 0.0, 0.3, 2.0, f32::NAN, 1.999, -0.007];
        let found = Quantised::of(&values);
        assert_eq!(found.scale, 3.5 / 255.0);
        assert_eq!(found.values, [-109, 0, 22, 146, 0, 146, -1]);
        let zeros = Quantised::of(&[0.0; 20]);
        assert_eq!((zeros.scale, &zeros.values[..]), (1.0, &[0i16; 20][..]));
        // The extremes are in the part that fills whole vectors, and then in the rest.
        let mut many = vec![0.5f32; 40];
        (many[3], many[38]) = (-2.0, 4.0);
        let found = Quantised::of(&many);
        assert_eq!(found.scale, 6.0 / 255.0);
        assert_eq!((found.values[3], found.values[38], found.values[0]), (-85, 170, 21));
    }
}
