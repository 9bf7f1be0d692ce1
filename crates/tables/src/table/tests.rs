use bytes::Bytes;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

use super::*;

struct Numbers(u64);

impl Row for Numbers {
    const TABLE: &'static str = "numbers";
    const COLUMNS: &'static [ColumnSpec] = &[column("number", Kind::Integer)];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.integer(self.0);
    }
}

struct Texts(String);

impl Row for Texts {
    const TABLE: &'static str = "texts";
    const COLUMNS: &'static [ColumnSpec] = &[column("text", Kind::Text)];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.text(&self.0);
    }
}

fn metadata<R: Row>(rows: impl Iterator<Item = R>) -> ParquetMetaData {
    let mut table = Table::new::<R>(Vec::new(), &[]).unwrap();
    let mut count = 0;
    for row in rows {
        table.push(&row).unwrap();
        count += 1;
        assert_eq!(table.rows(), count);
    }
    let file = SerializedFileReader::new(Bytes::from(table.finish().unwrap())).unwrap();
    file.metadata().clone()
}

fn groups<R: Row>(rows: impl Iterator<Item = R>) -> Vec<i64> {
    metadata(rows).row_groups().iter().map(|group| group.num_rows()).collect()
}

#[test]
fn a_row_group_has_262144_rows() {
    assert_eq!(groups((0..262_145).map(Numbers)), [262_144, 1]);
    assert_eq!(groups((0..262_144).map(Numbers)), [262_144], "and none that is empty");
    assert_eq!(groups((0..0).map(Numbers)), [] as [i64; 0]);
}

#[test]
fn a_row_group_ends_early_above_8_mib_of_texts() {
    // A text takes its length and 4 bytes. The size of the dictionary is checked every 64 rows.
    let text = |index: usize, bytes: usize| Texts(format!("{index:03}{}", "x".repeat(bytes - 4 - 3)));
    let texts = |bytes: usize| groups((0..129).map(|index| text(index, bytes)));
    assert_eq!(texts((8 << 20) / 64), [128, 1]);
    assert_eq!(texts((8 << 20) / 64 + 1), [64, 64, 1]);
}

#[test]
fn bounds_of_texts_are_noted_up_to_256_bytes() {
    let bounds = |length: usize| {
        let metadata = metadata(["b".to_owned(), "a".to_owned(), "c".repeat(length)].into_iter().map(Texts));
        let bounds = |noted: &Statistics| {
            (noted.min_bytes_opt().unwrap().to_vec(), noted.max_bytes_opt().unwrap().len(), noted.null_count_opt())
        };
        metadata.row_group(0).column(0).statistics().map(bounds)
    };
    assert_eq!(bounds(256), Some((b"a".to_vec(), 256, Some(0))));
    assert_eq!(bounds(257), None);
}
