//! Columns of texts. A row holds an index into the dictionary of its row group. For a text with a number, the index is
//! found without reading the text. Hashing every text of every row would take most of an export's time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid;

/// Longer texts are not stated as the minimum or maximum of a row group.
const LONGEST_BOUND: usize = 256;

/// The texts of a column.
#[derive(Default)]
pub(crate) struct TextColumn {
    /// The index into the dictionary for every row that has a text.
    indices: Vec<u32>,
    dictionary: HashMap<Box<str>, u32>,
    /// The texts of the dictionary in the form of the format: a length of 4 bytes, and the bytes.
    plain: Vec<u8>,
    /// The index of the text with each number, plus 1; 0 for texts that have not occurred.
    numbered: Vec<u32>,
}

impl TextColumn {
    /// Adds a text.
    pub(crate) fn push(&mut self, text: &str) {
        let index = self.index_of(text);
        self.indices.push(index);
    }

    /// Adds a text by its number. All texts of the same number are equal, and numbers are small.
    pub(crate) fn push_numbered(&mut self, number: u32, text: &str) {
        let number = number as usize;
        let index = match self.numbered.get(number) {
            Some(&place) if place > 0 => place - 1,
            _ => {
                let index = self.index_of(text);
                if self.numbered.len() <= number {
                    self.numbered.resize(number + 1, 0);
                }
                self.numbered[number] = index + 1;
                index
            }
        };
        self.indices.push(index);
    }

    fn index_of(&mut self, text: &str) -> u32 {
        let next = self.dictionary.len() as u32;
        if let Some(index) = self.dictionary.get(text) {
            return *index;
        }
        match self.dictionary.entry(text.into()) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
                self.plain.extend_from_slice(text.as_bytes());
                *entry.insert(next)
            }
        }
    }

    /// Returns the size of its dictionary in bytes.
    pub(crate) fn dictionary_bytes(&self) -> usize {
        self.plain.len()
    }

    pub(crate) fn clear(&mut self) {
        self.indices.clear();
        self.dictionary.clear();
        self.plain.clear();
        self.numbered.clear();
    }

    /// Returns the column of a row group in the form of the format: a page with the dictionary, and a page with the
    /// indices. For an optional column, `defined` says which rows have a text.
    pub(crate) fn encode(
        &self,
        descriptor: ColumnDescPtr,
        defined: Option<&[i16]>,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let rows = defined.map_or(self.indices.len(), <[i16]>::len);
        let mut page = Vec::with_capacity(self.indices.len() + 64);
        if let Some(defined) = defined {
            let levels: Vec<u32> = defined.iter().map(|level| *level as u32).collect();
            page.extend_from_slice(&[0; 4]);
            hybrid::encode(&levels, 1, &mut page);
            let length = (page.len() - 4) as u32;
            page[..4].copy_from_slice(&length.to_le_bytes());
        }
        let width = hybrid::width_of(self.dictionary.len());
        page.push(width);
        hybrid::encode(&self.indices, width, &mut page);

        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let dictionary = pages.write_page(compressed(&self.plain, |buf| Page::DictionaryPage {
            buf,
            num_values: self.dictionary.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })?)?;
        let data = pages.write_page(compressed(&page, |buf| Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?)?;
        let mut metadata = ColumnChunkMetaData::builder(descriptor)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_compression(Compression::SNAPPY)
            .set_num_values(rows as i64)
            .set_total_compressed_size((dictionary.bytes_written + data.bytes_written) as i64)
            .set_total_uncompressed_size((dictionary.uncompressed_size + data.uncompressed_size) as i64)
            .set_dictionary_page_offset(Some(dictionary.offset as i64))
            .set_data_page_offset(data.offset as i64);
        if let Some(statistics) = self.statistics((rows - self.indices.len()) as u64) {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: dictionary.bytes_written + data.bytes_written,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((Bytes::from(sink.into_inner()?), close))
    }

    fn statistics(&self, nulls: u64) -> Option<Statistics> {
        let least = self.dictionary.keys().min()?;
        let greatest = self.dictionary.keys().max()?;
        let bound = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        (least.len().max(greatest.len()) <= LONGEST_BOUND)
            .then(|| Statistics::new(Some(bound(least)), Some(bound(greatest)), None, Some(nulls), false))
    }
}

/// Compresses a page.
fn compressed(plain: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<CompressedPage> {
    let buf = snap::raw::Encoder::new().compress_vec(plain).map_err(|error| ParquetError::External(Box::new(error)))?;
    Ok(CompressedPage::new(page(buf.into()), plain.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_looked_up_once_whatever_numbers_were_met_before() {
        let mut column = TextColumn::default();
        for (number, text) in [(3, "c"), (0, "a"), (3, "c"), (2, "b"), (0, "a")] {
            column.push_numbered(number, text);
        }
        column.push("b");
        assert_eq!(column.indices, [0, 1, 0, 2, 1, 2]);
        assert_eq!(column.numbered, [2, 0, 3, 1]);
        assert_eq!(column.plain, b"\x01\0\0\0c\x01\0\0\0a\x01\0\0\0b");
        column.clear();
        column.push_numbered(2, "z");
        assert_eq!((column.indices, column.plain), (vec![0], b"\x01\0\0\0z".to_vec()));
    }
}
