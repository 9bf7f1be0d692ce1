//! Texts, sizes and durations as they are shown.

use std::borrow::Cow;

/// Returns a text from a file or another program in a form that is safe to show on one line. Control characters, line
/// breaks, and invisible characters that change how others are shown (such as those for right-to-left text) become
/// escapes like `\u{1b}`.
///
/// The names in a model may contain anything. Printed unescaped, a name could move a terminal's cursor, forge a line,
/// or look like another name.
pub fn shown_text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let letter = |letter: char| match is_unseen(letter) {
        true => letter.escape_unicode().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(letter).collect()
}

/// Returns a size in bytes with its unit: `512 B`, `1.5 KiB`, `128.0 MiB`.
pub fn shown_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What would be shown as 1024.0 is shown as 1.0 of the next unit.
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// Returns a duration in nanoseconds with the unit that leaves one to three digits before the point: `999 ns`,
/// `1.235 ms`. A negative duration has a sign.
pub fn shown_duration(nanos: f64) -> String {
    match nanos.abs() {
        // What would be shown as 1000 is shown as 1 of the next unit.
        size if size >= 999_999_500.0 => format!("{:.3} s", nanos / 1e9),
        size if size >= 999_999.5 => format!("{:.3} ms", nanos / 1e6),
        size if size >= 999.5 => format!("{:.3} µs", nanos / 1e3),
        _ => format!("{nanos:.0} ns"),
    }
}

/// Returns whether a character is invisible: Unicode's control (Cc) and format (Cf) characters, line and paragraph
/// separators (Zl, Zp), and the other characters that Unicode lists as ignorable.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns a text as a cell of a table of comma-separated values. If a spreadsheet would take the text for a formula,
/// the cell begins with an apostrophe, which spreadsheets do not show. Numbers stay as they are.
pub fn cell_text(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// Returns the path that these names share, up to its last `/` or `.`. It is empty if they share none, or if there are
/// fewer than two names. It is never the whole of a name.
pub fn common_path<'n>(names: &[&'n str]) -> &'n str {
    let [first, others @ ..] = names else { return "" };
    if others.is_empty() {
        return "";
    }
    let same = |name: &&str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let common = others.iter().map(same).min().unwrap_or(0);
    let shortest = names.iter().map(|name| name.len()).min().unwrap_or(0);
    let common = &first.as_bytes()[..common.min(shortest.saturating_sub(1))];
    let end = common.iter().rposition(|byte| b"/.".contains(byte)).map_or(0, |at| at + 1);
    // A separator is one byte, so this is a character boundary.
    first.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_largest_unit_that_leaves_at_least_one() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_048_524, "1023.9 KiB"),
            (1_048_570, "1.0 MiB"),
            (128 << 20, "128.0 MiB"),
            (5 << 39, "2.5 TiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(shown_size(bytes), shown);
        }
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let texts = [999.4, 1_000.0, 999_999.9, 1_234_567.0, 2.5e9, -2_500.0].map(shown_duration);
        assert_eq!(texts, ["999 ns", "1.000 µs", "1.000 ms", "1.235 ms", "2.500 s", "-2.500 µs"]);
    }

    #[test]
    fn what_is_not_seen_is_shown_as_an_escape_and_the_rest_as_it_is() {
        for (text, shown) in [
            ("two\nlines\r\n", "two\\u{a}lines\\u{d}\\u{a}"),
            ("\u{1b}[2J \u{9b}1m \0 \u{7f}", "\\u{1b}[2J \\u{9b}1m \\u{0} \\u{7f}"),
            ("a\u{202e}b\u{2066}c\u{200f}d\u{61c}", "a\\u{202e}b\\u{2066}c\\u{200f}d\\u{61c}"),
            ("z\u{200b}w\u{2028}x\u{feff}\u{e0041}", "z\\u{200b}w\\u{2028}x\\u{feff}\\u{e0041}"),
        ] {
            assert_eq!(shown_text(text), shown);
        }
        for plain in ["", "/layer1/Conv", "ünïcode, 模型, модель, نموذج, e\u{301}, \\u{1b}"] {
            assert!(matches!(shown_text(plain), Cow::Borrowed(shown) if shown == plain));
        }
    }

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay_numbers() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"x\",\"y\")", "'=HYPERLINK(\"x\",\"y\")"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("-1.5", "-1.5"),
            ("+3e-7", "+3e-7"),
            ("12.000\t", "12.000\t"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(cell_text(text), cell);
        }
    }

    #[test]
    fn the_common_path_ends_with_a_separator_and_leaves_something_of_each_name() {
        for (names, path) in [
            (&["/model/layer1/Conv", "/model/layer2/Relu"][..], "/model/"),
            (&["model.layers.0.a", "model.layers.0.b"], "model.layers.0."),
            (&["/conv1/Conv", "/conv2/Conv"], "/"),
            (&["/a/b/", "/a/b/"], "/a/"),
            (&["/größe/ä", "/größe/ö"], "/größe/"),
            (&["Conv_1", "Conv_2"], ""),
            (&["/only/one"], ""),
            (&[], ""),
        ] {
            assert_eq!(common_path(names), path, "{names:?}");
        }
    }
}
