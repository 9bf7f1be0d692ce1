//! The parts of an event, as texts that are read where they are needed.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;
use serde_json::value::RawValue;

/// An event of the Chrome trace event format. What is missing is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChromeEvent<'a> {
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub ph: Cow<'a, str>,
    #[serde(borrow)]
    pub cat: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub ts: Option<&'a RawValue>,
    #[serde(borrow)]
    pub dur: Option<&'a RawValue>,
    #[serde(borrow)]
    pub pid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub args: Option<&'a RawValue>,
}

/// Returns a JSON value as text: what is in the quotes, or the value as it stands.
pub(super) fn text<'a>(value: Option<&'a RawValue>) -> Cow<'a, str> {
    let Some(value) = value else { return Cow::Borrowed("") };
    let raw = value.get();
    match raw.as_bytes().first() {
        Some(b'"') if !raw.contains('\\') => Cow::Borrowed(raw.trim_matches('"')),
        Some(b'"') => serde_json::from_str::<String>(raw).map(Cow::Owned).unwrap_or(Cow::Borrowed(raw)),
        _ => Cow::Borrowed(raw),
    }
}

/// Returns a whole number, also one in quotes; `None` for anything else.
pub(super) fn whole(value: Option<&RawValue>) -> Option<i64> {
    let text = text(value);
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns microseconds as whole nanoseconds, without a detour over floating-point numbers, which have no room for
/// nanoseconds since 1970. `None` if it is no number, or negative.
pub(super) fn nanos(value: Option<&RawValue>) -> Option<u64> {
    let text = text(value);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        // An exponent, or a sign.
        let number: f64 = text.parse().ok()?;
        return (0.0..1e16).contains(&number).then(|| (number * 1e3).round() as u64);
    }
    let micros: u64 = whole.parse().ok()?;
    let mut rest = 0;
    for place in 0..3 {
        rest = 10 * rest + u64::from(fraction.as_bytes().get(place).map_or(0, |digit| digit - b'0'));
    }
    let rounds_up = fraction.as_bytes().get(3).is_some_and(|digit| *digit >= b'5');
    micros.checked_mul(1_000)?.checked_add(rest + u64::from(rounds_up))
}

/// Returns the JSON text with every control character in it escaped, which JSON requires, and bytes that are no UTF-8
/// replaced; `None` if there is nothing to mend.
pub(super) fn mended(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let is_bad = |letter: char| letter < ' ' && !matches!(letter, '\n' | '\r' | '\t');
    // A line break in a text is as wrong as any other; between values it is right.
    let mut in_text = false;
    let mut escaped = false;
    let mut changed = matches!(text, Cow::Owned(_));
    let mut mended = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if (in_text && letter < ' ') || is_bad(letter) {
            changed = true;
            let _ = write!(mended, "\\u{:04x}", u32::from(letter));
            escaped = false;
            continue;
        }
        match letter {
            '"' if !escaped => in_text = !in_text,
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
        mended.push(letter);
    }
    changed.then_some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("it is JSON")
    }

    #[test]
    fn microseconds_become_exactly_the_nanoseconds_that_they_are() {
        let nanos = |text| nanos(Some(&raw(text)));
        assert_eq!(nanos("1764403200123456.789"), Some(1_764_403_200_123_456_789));
        assert_eq!(nanos("0.001"), Some(1));
        assert_eq!(nanos("7"), Some(7_000));
        assert_eq!(nanos("\"2.5\""), Some(2_500));
        assert_eq!(nanos("1.0004"), Some(1_000));
        assert_eq!(nanos("1.0005"), Some(1_001));
        assert_eq!(nanos("1.5e3"), Some(1_500_000));
        assert_eq!([nanos("-1"), nanos("null"), nanos("1e300"), nanos("\"x\"")], [None; 4]);
    }

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        assert_eq!(mended(b"{\"a\": \"x\x01\ny\"}\n").as_deref(), Some("{\"a\": \"x\\u0001\\u000ay\"}\n"));
        assert_eq!(mended(b"{\"a\": \"\\\"x\"}\n"), None);
        assert_eq!(mended(b"\"\xff\"").as_deref(), Some("\"\u{fffd}\""));
    }

    #[test]
    fn texts_and_numbers_are_read_with_and_without_quotes() {
        assert_eq!(text(Some(&raw(r#""a\"b""#))), "a\"b");
        assert_eq!(text(Some(&raw("17"))), "17");
        assert_eq!(
            [whole(Some(&raw("\"12\""))), whole(Some(&raw("-3"))), whole(Some(&raw("\"0x1f\"")))],
            [Some(12), Some(-3), Some(31)]
        );
        assert_eq!(whole(Some(&raw("{}"))), None);
    }
}
