/// Returns a number with four digits, for a table.
pub(crate) fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        "0".into()
    } else if number.is_finite() && !(1e-3..1e5).contains(&magnitude) {
        format!("{number:.3e}")
    } else {
        let decimals = (3.0 - magnitude.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{number:.decimals$}")
    }
}

/// Returns a number if JSON can represent it.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_from_a_thousandth_to_a_hundred_thousand() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.001, "0.001000"),
            (0.000_999, "9.990e-4"),
            (0.012_345_6, "0.01235"),
            (0.123_456, "0.1235"),
            (0.999_96, "1.0000"),
            (1.0, "1.000"),
            (-9.876_54, "-9.877"),
            (10.0, "10.00"),
            (123.456, "123.5"),
            (1234.56, "1235"),
            (12_345.6, "12346"),
            (99_999.0, "99999"),
            (100_000.0, "1.000e5"),
            (-2.5e-8, "-2.500e-8"),
            (1.5e300, "1.500e300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn json_has_finite_numbers_only() {
        assert_eq!([1.5, f64::NAN, f64::INFINITY, f64::MAX].map(finite), [Some(1.5), None, None, Some(f64::MAX)]);
    }
}
