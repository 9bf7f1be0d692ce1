use std::io::Write;

use opscope_text::cell_text;
use serde::{Serialize, Serializer};

use super::ExportError;

/// The text of a cell without a value.
pub(super) const MISSING: &str = "N/A";

/// A table of comma-separated values (RFC 4180, but with `\n` at the end of a row). The fields of its rows are its
/// columns.
pub(super) struct Table<W: Write>(csv::Writer<W>);

impl<W: Write> Table<W> {
    /// Writes the names of the columns, which are the fields of any row.
    pub(super) fn new(mut into: W, row: impl Serialize) -> Result<Self, ExportError> {
        let mut header = csv::Writer::from_writer(Vec::new());
        header.serialize(row).map_err(failed)?;
        let header = header.into_inner().map_err(|error| ExportError::Write(error.into_error()))?;
        // Only the header is kept, so that a table without rows also has it.
        let line = header.split_inclusive(|&byte| byte == b'\n').next();
        into.write_all(line.unwrap_or_default())?;
        Ok(Self(csv::WriterBuilder::new().has_headers(false).from_writer(into)))
    }

    /// Writes a row.
    pub(super) fn row(&mut self, row: impl Serialize) -> Result<(), ExportError> {
        self.0.serialize(row).map_err(failed)
    }

    /// Writes the rest of the rows.
    pub(super) fn finish(mut self) -> Result<(), ExportError> {
        Ok(self.0.flush()?)
    }
}

fn failed(error: csv::Error) -> ExportError {
    ExportError::Write(error.into())
}

/// Serializes a text from an untrusted source, so that no spreadsheet takes it for a formula.
pub(super) fn foreign<S: Serializer>(text: impl AsRef<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&cell_text(text.as_ref()))
}

/// Serializes a number with three decimals.
pub(super) fn thousandths<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:.3}"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A disk with space for this many bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        count: u32,
    }

    #[test]
    fn a_table_whose_last_rows_have_no_room_is_not_finished() {
        let row = || Row { name: "one", count: 12 };
        // The names of the columns are `name,count` and a line break, and a row is `one,12` and one.
        for (room, is_whole) in [(11 + 2 * 7, true), (11 + 2 * 7 - 1, false), (11, false)] {
            let Ok(mut table) = Table::new(Disk(room), row()) else { panic!("there is room for the names") };
            // The rows stay in memory.
            assert!(table.row(row()).is_ok() && table.row(row()).is_ok());
            assert_eq!(table.finish().is_ok(), is_whole, "room for {room} bytes");
        }
        assert!(Table::new(Disk(10), row()).is_err());
    }
}
