//! A table as a Parquet file. Rows are collected column by column, and written one row group at a time.

mod column;
mod hybrid;
#[cfg(test)]
mod tests;
mod text;

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};

use column::{Column, Values};
pub(crate) use column::{ColumnSpec, Kind, column, optional};

/// The schema of this version.
pub(crate) const SCHEMA: &str = "opscope.tables/1";

/// The number of rows in a row group, which a table keeps in memory.
const ROWS_OF_GROUP: usize = 256 << 10;
/// A row group ends early if the dictionary of a column exceeds this number of bytes.
const MOST_DICTIONARY_BYTES: usize = 8 << 20;

/// A row of a table.
pub(crate) trait Row {
    /// The name of the table.
    const TABLE: &'static str;
    /// The columns.
    const COLUMNS: &'static [ColumnSpec];

    /// Writes its values to the cells, in the order of the columns.
    fn fill(&self, cells: &mut Cells<'_>);
}

/// A table that is being written.
pub(crate) struct Table<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
    written: u64,
}

/// Takes the values of one row, one column after the other.
pub(crate) struct Cells<'a>(std::slice::IterMut<'a, Column>);

/// A text with a small number. Rows with the same number have the same text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbered<'a>(pub u32, pub &'a str);

impl<W: Write + Send> Table<W> {
    /// Begins a table of rows of this type. `notes` become metadata of the file, in addition to its schema and the
    /// table's name.
    pub(crate) fn new<R: Row>(into: W, notes: &[(&str, &str)]) -> Result<Self> {
        let schema = Arc::new(message::<R>()?);
        let said = [("opscope.schema", SCHEMA), ("opscope.table", R::TABLE)];
        let metadata =
            said.iter().chain(notes).map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("opscope version {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(metadata.collect()))
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            // A page is a whole column of a row group, which is small enough.
            .set_data_page_row_count_limit(ROWS_OF_GROUP)
            .set_data_page_size_limit(16 * ROWS_OF_GROUP)
            .set_write_batch_size(16 << 10);
        for spec in R::COLUMNS {
            if matches!(spec.kind, Kind::Integer | Kind::Timestamp) {
                properties = properties.set_column_encoding(ColumnPath::from(spec.name), Encoding::DELTA_BINARY_PACKED);
            }
        }
        let file = SerializedFileWriter::new(into, schema, Arc::new(properties.build()))?;
        Ok(Self { file, columns: R::COLUMNS.iter().copied().map(Column::new).collect(), rows: 0, written: 0 })
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: &impl Row) -> Result<()> {
        let mut cells = Cells(self.columns.iter_mut());
        row.fill(&mut cells);
        debug_assert!(cells.0.next().is_none(), "a row has a value for each column");
        self.rows += 1;
        if self.rows.is_multiple_of(64) && (self.rows >= ROWS_OF_GROUP || self.has_large_dictionary()) {
            self.write_group()?;
        }
        Ok(())
    }

    /// Returns how many rows it has.
    pub(crate) fn rows(&self) -> u64 {
        self.written + self.rows as u64
    }

    /// Writes the remaining rows, and the end of the file.
    pub(crate) fn finish(mut self) -> Result<W> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.into_inner()
    }

    fn has_large_dictionary(&self) -> bool {
        self.columns.iter().any(|column| match &column.values {
            Values::Texts(texts) => texts.dictionary_bytes() > MOST_DICTIONARY_BYTES,
            _ => false,
        })
    }

    fn write_group(&mut self) -> Result<()> {
        let descriptors = self.file.schema_descr().columns().to_vec();
        let mut group = self.file.next_row_group()?;
        for (column, descriptor) in self.columns.iter_mut().zip(descriptors) {
            let defined = column.spec.optional.then_some(&column.defined[..]);
            match &column.values {
                Values::Texts(texts) => {
                    let (bytes, close) = texts.encode(descriptor, defined)?;
                    group.append_column(&bytes, close)?;
                }
                values => write_values(&mut group, values, defined)?,
            }
            column.clear();
        }
        group.close()?;
        self.written += self.rows as u64;
        self.rows = 0;
        Ok(())
    }
}

fn write_values<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values,
    defined: Option<&[i16]>,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { unreachable!("the schema has every column") };
    match values {
        Values::Integers(values) => writer.typed::<Int64Type>().write_batch(values, defined, None)?,
        Values::Numbers(values) => writer.typed::<DoubleType>().write_batch(values, defined, None)?,
        Values::Truths(values) => writer.typed::<BoolType>().write_batch(values, defined, None)?,
        Values::Texts(_) => unreachable!("texts are written as pages"),
    };
    writer.close()
}

/// Returns the schema of a table.
fn message<R: Row>() -> Result<Type> {
    let column = |spec: &ColumnSpec| {
        let presence = if spec.optional { "optional" } else { "required" };
        format!("{presence} {};", spec.kind.declaration(spec.name))
    };
    let columns: Vec<String> = R::COLUMNS.iter().map(column).collect();
    parse_message_type(&format!("message {} {{ {} }}", R::TABLE, columns.join(" ")))
}

impl Cells<'_> {
    fn next(&mut self, present: bool) -> &mut Column {
        let column = self.0.next().expect("a row has a value for each column");
        if column.spec.optional {
            column.defined.push(i16::from(present));
        }
        debug_assert!(present || column.spec.optional, "{} has no value", column.spec.name);
        column
    }

    /// Adds a whole number, or nanoseconds since 1970. A number that does not fit into 63 bits, which occurs only in a
    /// damaged file, becomes the largest one.
    pub(crate) fn integer(&mut self, value: u64) {
        self.optional_integer(Some(value));
    }

    /// Adds a whole number that may be missing.
    pub(crate) fn optional_integer(&mut self, value: Option<u64>) {
        if let (Values::Integers(values), Some(value)) = (&mut self.next(value.is_some()).values, value) {
            values.push(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// Adds an id, all bits of which are significant.
    pub(crate) fn id(&mut self, value: u64) {
        if let Values::Integers(values) = &mut self.next(true).values {
            values.push(value as i64);
        }
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, value: f64) {
        self.optional_number(Some(value));
    }

    /// Adds a number that may be missing.
    pub(crate) fn optional_number(&mut self, value: Option<f64>) {
        if let (Values::Numbers(values), Some(value)) = (&mut self.next(value.is_some()).values, value) {
            values.push(value);
        }
    }

    /// Adds a truth value.
    pub(crate) fn truth(&mut self, value: bool) {
        if let Values::Truths(values) = &mut self.next(true).values {
            values.push(value);
        }
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.optional_text(Some(text));
    }

    /// Adds a text that may be missing.
    pub(crate) fn optional_text(&mut self, text: Option<&str>) {
        if let (Values::Texts(values), Some(text)) = (&mut self.next(text.is_some()).values, text) {
            values.push(text);
        }
    }

    /// Adds a text by its number.
    pub(crate) fn numbered(&mut self, Numbered(number, text): Numbered<'_>) {
        if let Values::Texts(values) = &mut self.next(true).values {
            values.push_numbered(number, text);
        }
    }
}
