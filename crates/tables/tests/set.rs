//! The rows of a recording in a set: where they are, and that they are added only once.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use opscope_tables::{Appended, TableSet};
use support::{ID, recording, rows};

/// The tables of the stored recording, in the order in which they get their names.
const TABLES: [&str; 6] = ["runs", "dispatches", "operators", "counters", "marks", "recordings"];

fn paths(set: &Path, partition: &str) -> Vec<PathBuf> {
    TABLES.map(|table| set.join(table).join(partition).join(format!("{ID}.parquet"))).to_vec()
}

#[test]
fn a_recording_is_added_once_with_its_row_last() {
    let root = tempfile::tempdir().unwrap();
    let set = TableSet::open(root.path().join("set")).unwrap();
    let recorded = recording(&root.path().join("recording"), |manifest| manifest);
    // 1,700,000,000 seconds after 1970.
    let paths = paths(set.directory(), "date=2023-11-14/model=small/host=desk");
    assert_eq!(set.append(&recorded).unwrap(), Appended::Added(paths.clone()));
    let counts: Vec<usize> = paths.iter().map(|path| rows(path).len()).collect();
    assert_eq!(counts, [4, 11, 3, 4, 4, 1]);
    assert_eq!(fs::read_dir(set.directory().join(".parts")).unwrap().count(), 0);
    let before = fs::metadata(&paths[0]).unwrap().modified().unwrap();
    let copy = recording(&root.path().join("copy"), |manifest| manifest);
    assert_eq!(set.append(&copy).unwrap(), Appended::Existed(paths[5].clone()));
    assert_eq!(fs::metadata(&paths[0]).unwrap().modified().unwrap(), before);
}

#[test]
fn what_an_interrupted_append_published_stays_and_the_rest_is_added() {
    let root = tempfile::tempdir().unwrap();
    let set = TableSet::open(root.path()).unwrap();
    let recording = recording(&root.path().join("recording"), |manifest| manifest);
    let paths = paths(root.path(), "date=2023-11-14/model=small/host=desk");
    set.append(&recording).unwrap();
    for removed in [1, 4, 5] {
        fs::remove_file(&paths[removed]).unwrap();
    }
    let missing = [1, 4, 5].map(|index| paths[index].clone());
    assert_eq!(set.append(&recording).unwrap(), Appended::Added(missing.to_vec()));
}

#[test]
fn names_that_are_no_paths_are_replaced_and_hashed() {
    let root = tempfile::tempdir().unwrap();
    let set = TableSet::open(root.path()).unwrap();
    let recording = recording(&root.path().join("recording"), |manifest| {
        manifest.replace("desk", "rack 4").replace("small.onnx", "my model.onnx").replace("1700000000", "1703980800")
    });
    let Appended::Added(added) = set.append(&recording).unwrap() else { panic!("it is new") };
    // The hashes are those of the Python package xxhash; the day is 2023-12-31, which began that second.
    let partition = "date=2023-12-31/model=my_model-191c82577a447a78/host=rack_4-110e18c90125a4c3";
    assert!(added.iter().all(|path| path.parent().unwrap().ends_with(partition)), "{added:?}");
}

#[test]
fn tables_without_rows_get_no_file_and_a_missing_host_is_unknown() {
    let root = tempfile::tempdir().unwrap();
    let set = TableSet::open(root.path().join("set")).unwrap();
    let directory = root.path().join("recording");
    drop(recording(&directory, |manifest| manifest.replace("desk", "")));
    fs::write(directory.join("records.bin"), b"").unwrap();
    let empty = opscope_profile::Recording::open(&directory).unwrap();
    let Appended::Added(added) = set.append(&empty).unwrap() else { panic!("it is new") };
    let tables: Vec<_> =
        added.iter().map(|path| path.strip_prefix(set.directory()).unwrap().iter().next().unwrap()).collect();
    assert_eq!(tables, ["operators", "recordings"]);
    assert!(added[0].parent().unwrap().ends_with("date=2023-11-14/model=small/host=unknown"), "{added:?}");
}

#[test]
fn parts_of_killed_processes_are_removed_and_no_other_file() {
    let root = tempfile::tempdir().unwrap();
    let parts = root.path().join(".parts");
    fs::create_dir(&parts).unwrap();
    for name in ["part-abandoned", "mine"] {
        fs::write(parts.join(name), "x").unwrap();
    }
    let held = fs::File::create(parts.join("part-held")).unwrap();
    held.lock().unwrap();
    TableSet::open(root.path()).unwrap();
    let mut left: Vec<_> = fs::read_dir(&parts).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["mine", "part-held"]);
}
