//! Every format of one small recording, compared with reviewed files.

use std::fs;
use std::path::Path;

use opscope_model::testing::assert_snapshot;

use crate::recording::test_recording;
use crate::{Format, Recording};

fn recording(directory: &Path) -> Recording {
    test_recording::write(directory);
    Recording::open(directory).expect("a recording")
}

#[test]
fn every_export_of_a_recording_is_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let recording = recording(directory.path());
    assert_eq!(recording.problems(), [] as [String; 0]);
    for format in Format::ALL {
        for path in recording.export(format, directory.path()).expect("an export").written {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            assert_snapshot!(name, fs::read(&path).expect("an export"));
        }
    }
    let left = fs::read_dir(directory.path()).expect("a directory").count();
    assert_eq!(left, 3 + 6, "no part of an export stays behind");
}

#[test]
fn the_files_of_a_recording_are_as_they_were() {
    let directory = tempfile::tempdir().expect("a directory");
    recording(directory.path());
    for name in ["manifest.json", "names.jsonl", "records.bin"] {
        assert_snapshot!(name, fs::read(directory.path().join(name)).expect("a file"));
    }
}

#[test]
fn the_account_is_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let account = recording(directory.path()).account().expect("an account");
    assert_snapshot!("account.txt", account.to_text(10).into_bytes());
    assert_snapshot!("account.json", serde_json::to_vec_pretty(&account).expect("data"));
}
