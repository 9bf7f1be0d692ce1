use std::fmt;

/// Displays a number with at most six significant digits, and with an exponent if it is very large or very small.
#[derive(Debug, Clone, Copy)]
pub struct ShortNumber(pub f64);

impl fmt::Display for ShortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if self.0 != 0.0 && !(1e-4..1e7).contains(&size) {
            return write!(f, "{:.4e}", self.0);
        }
        let decimals = if size == 0.0 { 0 } else { 5 - size.log10().floor().min(5.0) as i32 };
        let text = format!("{:.decimals$}", self.0, decimals = decimals.max(0) as usize);
        f.write_str(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_significant_digits_and_an_exponent_where_they_are_very_large_or_small() {
        for (number, shown) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.3"),
            (2.0 / 3.0, "0.666667"),
            (-200.0 / 3.0, "-66.6667"),
            (1234.5678, "1234.57"),
            (123_456.7, "123457"),
            (200_000.0, "200000"),
            (9_999_999.0, "9999999"),
            (9_999_999.9, "10000000"),
            (1e7, "1.0000e7"),
            (-12_345_678.0, "-1.2346e7"),
            (0.012345678, "0.0123457"),
            (0.0001, "0.0001"),
            (0.000123456789, "0.000123457"),
            (0.000099999, "9.9999e-5"),
            (-3.5e-30, "-3.5000e-30"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(ShortNumber(number).to_string(), shown, "{number:?}");
        }
    }
}
