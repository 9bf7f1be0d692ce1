//! The parts of an event, as texts that are read where they are needed.

use std::borrow::Cow;
use std::fmt::Write;

use super::scan::Object;

/// An event of the Chrome trace event format: the JSON text of each member that is needed. What is missing is empty.
#[derive(Debug, Default)]
pub(super) struct ChromeEvent<'a> {
    pub name: Option<&'a str>,
    pub ph: Cow<'a, str>,
    pub cat: Cow<'a, str>,
    pub ts: Option<&'a str>,
    pub dur: Option<&'a str>,
    pub pid: Option<&'a str>,
    pub tid: Option<&'a str>,
    pub id: Option<&'a str>,
    pub args: Option<Object<'a>>,
}

impl<'a> ChromeEvent<'a> {
    /// Takes the members of an object. Of two with the same name, the last one counts.
    pub fn of(object: Object<'a>) -> Self {
        let mut event = Self::default();
        for (name, value) in object.members() {
            let text_of = || Some(value.text()).filter(|text| *text != "null");
            match name {
                "name" => event.name = text_of(),
                "ph" => event.ph = text(text_of()),
                "cat" => event.cat = text(text_of()),
                "ts" => event.ts = text_of(),
                "dur" => event.dur = text_of(),
                "pid" => event.pid = text_of(),
                "tid" => event.tid = text_of(),
                "id" => event.id = text_of(),
                "args" => event.args = Some(value),
                _ => {}
            }
        }
        event
    }
}

/// Returns a JSON value as text: what is in the quotes, or the value as it stands.
pub(super) fn text(value: Option<&str>) -> Cow<'_, str> {
    let Some(raw) = value else { return Cow::Borrowed("") };
    match raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) {
        Some(quoted) if !quoted.contains('\\') => Cow::Borrowed(quoted),
        Some(_) => serde_json::from_str::<String>(raw).map(Cow::Owned).unwrap_or(Cow::Borrowed(raw)),
        None => Cow::Borrowed(raw),
    }
}

/// Returns a whole number, also one in quotes; `None` for anything else.
pub(super) fn whole(value: Option<&str>) -> Option<i64> {
    let text = text(value);
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns microseconds as whole nanoseconds, without a detour over floating-point numbers, which have no room for
/// nanoseconds since 1970. `None` if it is no number, or negative.
pub(super) fn nanos(value: Option<&str>) -> Option<u64> {
    let text = text(value);
    // The digits as one number, and how many of them are behind the point: at most three, and one to round by.
    let (mut nanos, mut behind, mut has_point, mut rounds_up) = (0u64, 0, false, false);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' if !has_point || behind < 3 => {
                nanos = nanos.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                behind += u32::from(has_point);
            }
            b'0'..=b'9' => {
                rounds_up |= behind == 3 && byte >= b'5';
                behind += 1;
            }
            b'.' if !has_point => has_point = true,
            _ => return of_float(&text),
        }
    }
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return of_float(&text);
    }
    nanos.checked_mul(10u64.pow(3 - behind.min(3)))?.checked_add(u64::from(rounds_up))
}

/// Returns microseconds with an exponent or a sign as whole nanoseconds.
fn of_float(text: &str) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    (0.0..1e16).contains(&number).then(|| (number * 1e3).round() as u64)
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

    #[test]
    fn microseconds_become_exactly_the_nanoseconds_that_they_are() {
        let nanos = |text| nanos(Some(text));
        assert_eq!(nanos("1764403200123456.789"), Some(1_764_403_200_123_456_789));
        assert_eq!(nanos("0.001"), Some(1));
        assert_eq!(nanos("7"), Some(7_000));
        assert_eq!(nanos("\"2.5\""), Some(2_500));
        assert_eq!(nanos("1.0004"), Some(1_000));
        assert_eq!(nanos("1.0005"), Some(1_001));
        assert_eq!(nanos("1.5e3"), Some(1_500_000));
        assert_eq!([nanos("18446744073709551.615"), nanos("18446744073709551.616")], [Some(u64::MAX), None]);
        assert_eq!([nanos("0.9995"), nanos("0.99949"), nanos("5.")], [Some(1_000), Some(999), Some(5_000)]);
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
        assert_eq!(text(Some(r#""a\"b""#)), "a\"b");
        assert_eq!(text(Some("17")), "17");
        assert_eq!([whole(Some("\"12\"")), whole(Some("-3")), whole(Some("\"0x1f\""))], [Some(12), Some(-3), Some(31)]);
        assert_eq!(whole(Some("{}")), None);
    }
}
