//! Numbers with three digits, for people.

use std::fmt::Display;

/// A scale for times: the time it is made for has three digits, and all other times are shown in the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeScale {
    nanos: f64,
    unit: &'static str,
    decimals: usize,
}

impl TimeScale {
    /// Returns the scale that shows this time, in nanoseconds, with three digits.
    pub fn of(nanos: f64) -> Self {
        const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
        // A time that would be rounded to 1000 of a unit is 1 of the next one.
        let size = nanos.abs() * 1.0005;
        let (unit, name) = UNITS.into_iter().find(|(unit, _)| size >= *unit).unwrap_or((1.0, "ns"));
        let decimals = if unit == 1.0 { 0 } else { decimals(nanos / unit) };
        Self { nanos: unit, unit: name, decimals }
    }

    /// Returns a time, in nanoseconds, without its unit.
    pub fn number(self, nanos: f64) -> String {
        format!("{:.*}", self.decimals, nanos / self.nanos)
    }

    /// Returns a time, in nanoseconds, with its unit.
    pub fn time(self, nanos: f64) -> String {
        format!("{} {}", self.number(nanos), self.unit)
    }
}

/// Returns a duration in nanoseconds with three digits and its unit: `23.9 µs`.
pub fn shown_time(nanos: f64) -> String {
    TimeScale::of(nanos).time(nanos)
}

/// Returns a number with three digits, at most three of them decimals: `0.123`, `12.3`, `41,800`.
pub fn shown_number(number: f64) -> String {
    let size = number.abs();
    if size < 999.5 {
        return format!("{number:.*}", decimals(number));
    }
    let step = 10f64.powf(size.log10().floor() - 2.0);
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(((size / step).round() * step).round() as u64))
}

/// Returns a count with a comma before every three digits: `1,070`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the number of decimals for three digits.
fn decimals(number: f64) -> usize {
    match number.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        _ => 3,
    }
}

/// Returns a count with its noun: "1 run", "2 runs". `noun` is the singular.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_those_beside_them_the_same_unit() {
        let texts = [0.0, 417.4, 999.6, 1_234.0, 23_890.0, 999_600.0, 3.7349e6, 2.5e9, 61e9].map(shown_time);
        assert_eq!(
            texts,
            ["0 ns", "417 ns", "1.00 µs", "1.23 µs", "23.9 µs", "1.00 ms", "3.73 ms", "2.50 s", "61.0 s"]
        );
        let scale = TimeScale::of(999_000.0);
        assert_eq!((scale.number(998_000.0), scale.time(1.004e6)), ("998".to_owned(), "1004 µs".to_owned()));
    }

    #[test]
    fn numbers_have_three_digits_and_thousands_are_apart() {
        let texts = [0.0, 0.0456, 1.234, 12.34, 999.4, 1_069.6, 41_840.0, 1_234_567.0].map(shown_number);
        assert_eq!(texts, ["0.00", "0.046", "1.23", "12.3", "999", "1,070", "41,800", "1,230,000"]);
        assert_eq!([999.6, -12.34, -41_840.0].map(shown_number), ["1,000", "-12.3", "-41,800"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_of_something_is_not_counted_in_the_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "run")), ["0 runs", "1 run", "2 runs"]);
        assert_eq!(counted("1,070", "sample"), "1,070 samples");
    }
}
