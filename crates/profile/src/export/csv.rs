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

/// A cell as it stands in the file: in quotes where it would otherwise be read as something else.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
