use std::borrow::Cow;
use std::io::{self, Write};

/// What a cell says where there is nothing to say.
pub(crate) const MISSING: &str = "N/A";

/// Writes tables of comma-separated values as RFC 4180 has them, with `\n` at the end of a row.
pub(crate) struct CsvWriter<W> {
    into: W,
    cells: usize,
}

impl<W: Write> CsvWriter<W> {
    /// A table with these columns.
    pub(crate) fn new(into: W, columns: &[&str]) -> io::Result<Self> {
        let mut table = Self { into, cells: 0 };
        for column in columns {
            table.cell(column)?;
        }
        table.end_row()?;
        Ok(table)
    }

    /// The next cell of this row.
    pub(crate) fn cell(&mut self, text: &str) -> io::Result<()> {
        if self.cells > 0 {
            self.into.write_all(b",")?;
        }
        self.cells += 1;
        self.into.write_all(quoted(text).as_bytes())
    }

    /// The end of this row.
    pub(crate) fn end_row(&mut self) -> io::Result<()> {
        self.cells = 0;
        self.into.write_all(b"\n")
    }

    /// Everything is written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.into.flush()
    }
}

/// A cell as it stands in the file: in quotes where it would otherwise be read as something else, and behind an apostrophe
/// where a spreadsheet would take it for a formula. Spreadsheets show no apostrophe at the beginning of a cell.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if is_formula || text.contains([',', '"', '\n', '\r']) {
        let apostrophe = if is_formula { "'" } else { "" };
        Cow::Owned(format!("\"{apostrophe}{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay_numbers() {
        for (text, cell) in [
            ("=1+1", "\"'=1+1\""),
            ("=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""),
            ("+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""),
            ("-2+3", "\"'-2+3\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("-1.5", "-1.5"),
            ("+3e-7", "+3e-7"),
            ("12.000\t", "12.000\t"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(quoted(text), cell);
        }
    }

    #[test]
    fn cells_with_commas_quotes_and_line_ends_are_quoted() {
        let mut bytes = Vec::new();
        let mut table = CsvWriter::new(&mut bytes, &["a,b", "c"]).expect("memory");
        table.cell("say \"hi\"").expect("memory");
        table.cell("two\nlines").expect("memory");
        table.end_row().expect("memory");
        table.finish().expect("memory");
        assert_eq!(bytes, b"\"a,b\",c\n\"say \"\"hi\"\"\",\"two\nlines\"\n");
    }
}
