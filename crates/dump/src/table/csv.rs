use crate::DumpError;

/// The most rows of a table that is read; one with more is damaged or hostile.
const MOST_ROWS: usize = 10_000_000;

/// Reads a table of comma-separated values (RFC 4180): rows of fields. A field may be in quotes.
///
/// # Errors
/// When a quote is not closed, or something follows a closed one.
pub(crate) fn read(text: &str) -> Result<Vec<Vec<String>>, DumpError> {
    let mut rows = Vec::new();
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        if rows.len() == MOST_ROWS {
            return Err(DumpError::Table { row: rows.len() + 1, reason: "there are too many rows".into() });
        }
        let wrong = |reason: &str| DumpError::Table { row: rows.len() + 1, reason: reason.into() };
        let mut row = Vec::new();
        loop {
            let mut field = String::new();
            if chars.next_if_eq(&'"').is_some() {
                loop {
                    match chars.next() {
                        Some('"') if chars.next_if_eq(&'"').is_some() => field.push('"'),
                        Some('"') => break,
                        Some(c) => field.push(c),
                        None => return Err(wrong("a quote is not closed")),
                    }
                }
            } else {
                while let Some(c) = chars.next_if(|c| !matches!(c, ',' | '\n' | '\r' | '"')) {
                    field.push(c);
                }
            }
            row.push(field);
            match chars.next() {
                Some(',') => {}
                Some('\r') if chars.next_if_eq(&'\n').is_some() => break,
                Some('\n') | None => break,
                Some(other) => return Err(wrong(&format!("'{}' follows a field", other.escape_default()))),
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A field of a table for people: behind an apostrophe where a spreadsheet would take it for a formula. Spreadsheets show no
/// apostrophe at the beginning of a cell.
pub(crate) fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { format!("\"'{}\"", text.replace('"', "\"\"")) } else { quoted(text) }
}

/// A field as such a table has it.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_for_people_is_a_formula_and_numbers_stay_numbers() {
        for (text, expected) in [
            ("=1+1", "\"'=1+1\""),
            ("@SUM(\"a\")", "\"'@SUM(\"\"a\"\")\""),
            ("-2+3", "\"'-2+3\""),
            ("-1.5", "-1.5"),
            ("/conv1/Conv", "/conv1/Conv"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }
    use proptest::prelude::*;

    #[test]
    fn a_quote_that_is_not_closed_is_said_with_its_row() {
        assert!(read("a,b\n\"c,d").unwrap_err().to_string().contains("row 2"));
        assert!(read("\"a\"b").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(rows in prop::collection::vec(prop::collection::vec(".*", 1..4), 0..5)) {
            let text: String = rows.iter().map(|row| row.iter().map(|f| quoted(f)).collect::<Vec<_>>().join(",") + "\r\n").collect();
            prop_assert_eq!(read(&text).unwrap(), rows);
        }
    }
}
