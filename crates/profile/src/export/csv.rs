use std::io::Write;

use opscope_text::cell_text;
use serde::{Serialize, Serializer};

use super::ExportError;

/// What a cell says where there is nothing to say.
pub(super) const MISSING: &str = "N/A";

/// A table of comma-separated values (RFC 4180, but with `\n` at the end of a row). The fields of its rows are its columns.
pub(super) struct Table<W: Write>(csv::Writer<W>);

impl<W: Write> Table<W> {
    /// Writes the names of the columns, those of any row.
    pub(super) fn new(mut into: W, row: impl Serialize) -> Result<Self, ExportError> {
        let mut header = csv::Writer::from_writer(Vec::new());
        header.serialize(row).map_err(failed)?;
        let header = header.into_inner().map_err(|error| ExportError::Write(error.into_error()))?;
        // Without the row itself: a table without rows has its columns, too.
        let line = header.split_inclusive(|&byte| byte == b'\n').next();
        into.write_all(line.unwrap_or_default())?;
        Ok(Self(csv::WriterBuilder::new().has_headers(false).from_writer(into)))
    }

    /// Writes a row.
    pub(super) fn row(&mut self, row: impl Serialize) -> Result<(), ExportError> {
        self.0.serialize(row).map_err(failed)
    }

    /// Writes what is left in memory.
    pub(super) fn finish(mut self) -> Result<(), ExportError> {
        Ok(self.0.flush()?)
    }
}

fn failed(error: csv::Error) -> ExportError {
    ExportError::Write(error.into())
}

/// Serializes a text that comes from elsewhere, so that no spreadsheet takes it for a formula.
pub(super) fn foreign<S: Serializer>(text: impl AsRef<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&cell_text(text.as_ref()))
}

/// Serializes a number with three digits behind the point.
pub(super) fn thousandths<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:.3}"))
}
