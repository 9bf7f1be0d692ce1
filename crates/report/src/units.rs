/// Formats nanoseconds in the unit that leaves one to three digits before the point.
pub(crate) fn duration(nanos: f64) -> String {
    let (value, unit) = match nanos.abs() {
        size if size >= 1e9 => (nanos / 1e9, "s"),
        size if size >= 1e6 => (nanos / 1e6, "ms"),
        size if size >= 1e3 => (nanos / 1e3, "µs"),
        _ => (nanos, "ns"),
    };
    match value.abs() {
        _ if unit == "ns" => format!("{value:.0} ns"),
        size if size >= 100.0 => format!("{value:.1} {unit}"),
        size if size >= 10.0 => format!("{value:.2} {unit}"),
        _ => format!("{value:.3} {unit}"),
    }
}

/// Formats nanoseconds as the label of an axis, without redundant digits.
pub(crate) fn axis_duration(nanos: f64) -> String {
    let (value, unit) = match nanos.abs() {
        0.0 => return "0".to_owned(),
        size if size >= 1e9 => (nanos / 1e9, "s"),
        size if size >= 1e6 => (nanos / 1e6, "ms"),
        size if size >= 1e3 => (nanos / 1e3, "µs"),
        _ => (nanos, "ns"),
    };
    format!("{} {unit}", trimmed(value))
}

/// Formats a number with at most three digits after the point, and without trailing zeros.
pub(crate) fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a count with thin spaces between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Formats a share in percent.
pub(crate) fn percent(percent: f64) -> String {
    format!("{percent:.2} %")
}

/// Formats a tensor's value with four digits, and with an exponent if that is shorter.
pub(crate) fn value(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        "0".to_owned()
    } else if !number.is_finite() {
        format!("{number}")
    } else if (1e-3..1e5).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{number:.digits$}")
    } else {
        format!("{number:.3e}")
    }
}

/// Shortens a text to this many letters. A longer one loses its middle, because names differ at their ends.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let letters = text.chars().count();
    if letters <= most {
        return text.to_owned();
    }
    let begin = most.saturating_sub(1) / 2;
    let end = most.saturating_sub(1) - begin;
    text.chars().take(begin).chain(['…']).chain(text.chars().skip(letters - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_and_the_digits_that_a_person_reads() {
        let durations = [0.0, 999.4, 1_234.0, 12_345.0, 123_456.0, 2.5e9, -1_500.0].map(duration);
        assert_eq!(durations, ["0 ns", "999 ns", "1.234 µs", "12.35 µs", "123.5 µs", "2.500 s", "-1.500 µs"]);
        assert_eq!([0.0, 500.0, 1_500.0, 2e6].map(axis_duration), ["0", "500 ns", "1.5 µs", "2 ms"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
        let values = [0.0, 1.0, -12.3456, 1e-7, f64::MAX, 99_999.0].map(value);
        assert_eq!(values, ["0", "1.000", "-12.35", "1.000e-7", "1.798e308", "99999"]);
        assert_eq!(["/Conv", "/layer.0/Conv"].map(|name| cut(name, 9)), ["/Conv", "/lay…Conv"]);
    }

    #[test]
    fn units_and_digits_change_at_these_numbers() {
        let durations = [999.0, 1e3, 9_999.4, 1e4, 99_994.0, 1e5, 1e6, 1e9, 1e12].map(duration);
        let expected =
            ["999 ns", "1.000 µs", "9.999 µs", "10.00 µs", "99.99 µs", "100.0 µs", "1.000 ms", "1.000 s", "1000.0 s"];
        assert_eq!(durations, expected);
        assert_eq!([1e3, 2.5e6, 3e9, -4e6].map(axis_duration), ["1 µs", "2.5 ms", "3 s", "-4 ms"]);
        assert_eq!([0.0, 0.1234, 1.5, 20.0, 100.0].map(trimmed), ["0", "0.123", "1.5", "20", "100"]);
        assert_eq!(
            [0.0, 0.004, 46.875, 99.996, 100.0].map(percent),
            ["0.00 %", "0.00 %", "46.88 %", "100.00 %", "100.00 %"]
        );
    }

    #[test]
    fn values_have_four_digits_and_an_exponent_beyond_these_numbers() {
        let values = [9.99e-4, 1e-3, 0.012_345_6, 0.5, 12.0, 123.456, 1_234.5, 99_999.0, 1e5, -1e5].map(value);
        let expected =
            ["9.990e-4", "0.001000", "0.01235", "0.5000", "12.00", "123.5", "1234", "99999", "1.000e5", "-1.000e5"];
        assert_eq!(values, expected);
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(value), ["NaN", "inf", "-inf"]);
        assert_eq!([4, 5, 6].map(|most| cut("abcdef", most)), ["a…ef", "ab…ef", "abcdef"]);
    }
}
