use csv::{ReaderBuilder, Writer};
use serde::Serialize;

use crate::DumpError;

/// The maximum number of rows of a table that is read. A table with more is damaged or hostile.
const MOST_ROWS: usize = 10_000_000;

/// Reads a table of comma-separated values (RFC 4180): rows of fields. A field may be in quotes. A byte order mark,
/// which spreadsheets write at the start of a file, is not part of the first field.
///
/// # Errors
/// Returns an error if a quote is not closed, or there are too many rows.
pub(crate) fn read(text: &str) -> Result<Vec<Vec<String>>, DumpError> {
    let mut rows = Vec::new();
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    for row in reader.records() {
        let wrong = |reason: String| DumpError::Table { row: rows.len() + 1, reason };
        if rows.len() == MOST_ROWS {
            return Err(wrong("there are too many rows".into()));
        }
        rows.push(row.map_err(|error| wrong(error.to_string()))?.iter().map(str::to_owned).collect());
    }
    // The csv crate treats the end of the file as the end of a quote.
    match text.matches('"').count() % 2 {
        0 => Ok(rows),
        _ => Err(DumpError::Table { row: rows.len(), reason: "a quote is not closed".into() }),
    }
}

/// Returns rows as a table of comma-separated values. The fields of a row are the columns, whose names are in the first
/// line.
pub(crate) fn text(rows: impl IntoIterator<Item = impl Serialize>) -> String {
    let mut table = Writer::from_writer(Vec::new());
    let written = rows.into_iter().try_for_each(|row| table.serialize(row));
    let bytes = written.and_then(|()| table.into_inner().map_err(|error| error.into_error().into()));
    String::from_utf8(bytes.expect("memory takes every row")).expect("rows are text")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quote_that_is_not_closed_is_said_with_its_row() {
        assert!(read("a,b\n\"c,d").unwrap_err().to_string().contains("row 2"));
    }

    #[test]
    fn the_byte_order_mark_of_a_spreadsheet_is_not_part_of_a_field() {
        assert_eq!(read("\u{feff}a,b\n").unwrap(), [["a", "b"]]);
    }

    proptest! {
        #[test]
        fn what_is_written_below_a_header_is_read_back(
            mut rows in prop::collection::vec(prop::collection::vec(".*", 2..4), 0..5),
        ) {
            rows.insert(0, vec!["a".into(), "b".into()]);
            let mut table = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
            rows.iter().for_each(|row| table.write_record(row).unwrap());
            prop_assert_eq!(read(&String::from_utf8(table.into_inner().unwrap()).unwrap()).unwrap(), rows);
        }
    }

    #[test]
    fn a_table_has_ten_million_rows_at_most() {
        // A table of this size is too large for a test.
        assert_eq!(MOST_ROWS, 10_000_000);
    }
}
