use std::borrow::Cow;

/// Returns a text as a cell of a table of comma-separated values. If a spreadsheet would take the text for a formula,
/// the cell begins with an apostrophe, which spreadsheets do not show. Numbers stay as they are.
pub fn cell_text(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
