//! A recording whose records, names and manifest are files of this test, and functions that read tables with the
//! parquet crate's reader.

#![allow(dead_code, reason = "each test file uses its share")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use opscope_profile::Recording;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// The recording's id: XXH3 (128 bit), by the Python package xxhash, of the parts with their lengths.
pub const ID: &str = "898d76ce326c46202b0beabcb901274c";

/// Opens the stored recording after a change to its manifest. Two ticks make a nanosecond; tick 0 is 1,700,000,000 s
/// after 1970.
pub fn recording(directory: &Path, edit: impl Fn(String) -> String) -> Recording {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::create_dir_all(directory).expect("room");
    for name in ["records.bin", "names.jsonl"] {
        fs::copy(stored.join(name), directory.join(name)).expect("room");
    }
    let manifest = fs::read_to_string(stored.join("manifest.json")).expect("a file");
    fs::write(directory.join("manifest.json"), edit(manifest)).expect("room");
    Recording::open(directory).expect("a recording")
}

/// Exports a recording into a new directory.
pub fn exported(recording: &Recording, into: &Path) -> Vec<PathBuf> {
    fs::create_dir(into).expect("room");
    opscope_tables::export_recording(recording, into).expect("the tables").written
}

pub fn reader(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).expect("a table")).expect("Parquet")
}

/// Returns every row of a table: the names of its columns with their values. Unsigned numbers end with `u`.
pub fn rows(path: &Path) -> Vec<Vec<(String, String)>> {
    let reader = reader(path);
    let rows = reader.get_row_iter(None).expect("rows");
    let text = |field: &Field| match field {
        Field::Null => "null".to_owned(),
        Field::Bool(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::ULong(value) => format!("{value}u"),
        Field::Double(value) => value.to_string(),
        Field::Str(value) => format!("'{value}'"),
        other => panic!("no column is of this type: {other:?}"),
    };
    let cells =
        |row: parquet::record::Row| row.get_column_iter().map(|(name, field)| (name.clone(), text(field))).collect();
    rows.map(|row| cells(row.expect("a row"))).collect()
}

/// Checks the rows of a table. Each is given as one line, with `|` between the values.
pub fn expect(path: &Path, columns: &str, expected: &[&str]) {
    let rows = rows(path);
    let lines: Vec<String> =
        rows.iter().map(|row| row.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" | ")).collect();
    assert_eq!(lines, expected, "{}", path.display());
    for row in rows {
        let names: Vec<_> = row.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.join(" "), columns, "{}", path.display());
    }
}
