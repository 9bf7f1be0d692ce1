//! Every format that is written, of one small recording, compared with files that were looked at.

use std::fs;
use std::path::{Path, PathBuf};

use crate::recording::sample;
use crate::{Format, Recording};

/// Set to write the snapshots anew instead of comparing.
const UPDATE: &str = "OPSCOPE_UPDATE_SNAPSHOTS";

fn recording(directory: &Path) -> Recording {
    sample::write(directory);
    Recording::open(directory).expect("a recording")
}

fn assert_snapshot(name: &str, found: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(name);
    if std::env::var_os(UPDATE).is_some() {
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(&path, found).expect("the disk has room");
    }
    let expected = fs::read(&path).expect("a snapshot");
    let (expected, found) = (String::from_utf8_lossy(&expected), String::from_utf8_lossy(found));
    assert!(expected == found, "{name} changed; {UPDATE}=1 writes it anew. Found:\n{found}\nexpected:\n{expected}");
}

#[test]
fn every_export_of_a_recording_is_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let recording = recording(directory.path());
    assert_eq!(recording.problems(), [] as [String; 0]);
    for format in Format::ALL {
        for path in recording.export(format, directory.path()).expect("an export").written {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            assert_snapshot(name, &fs::read(&path).expect("an export"));
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
        assert_snapshot(name, &fs::read(directory.path().join(name)).expect("a file"));
    }
}

#[test]
fn the_account_is_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let account = recording(directory.path()).account().expect("an account");
    assert_snapshot("account.txt", account.to_text(10).as_bytes());
    assert_snapshot("account.json", serde_json::to_string_pretty(&account).expect("data").as_bytes());
}
