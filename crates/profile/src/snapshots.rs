//! Every format that is written, of one small recording, compared with files that were looked at. `INSTA_UPDATE=always`
//! writes them anew.

use std::fs;
use std::path::Path;

use insta::{assert_binary_snapshot, with_settings};

use crate::recording::sample;
use crate::{Format, Recording};

fn recording(directory: &Path) -> Recording {
    sample::write(directory);
    Recording::open(directory).expect("a recording")
}

/// Compares the bytes of a file, also of one that is text: no line end and no blank counts as another.
fn assert_snapshot(name: &str, found: Vec<u8>) {
    // What is before the dot names the snapshot: `timeline.json` and `timeline.pftrace` are two.
    let (stem, extension) = name.split_once('.').expect("a file's name");
    let name = format!("{stem}_{extension}.{extension}");
    with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        assert_binary_snapshot!(&name, found);
    });
}

#[test]
fn every_export_of_a_recording_is_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let recording = recording(directory.path());
    assert_eq!(recording.problems(), [] as [String; 0]);
    for format in Format::ALL {
        for path in recording.export(format, directory.path()).expect("an export").written {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            assert_snapshot(name, fs::read(&path).expect("an export"));
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
        assert_snapshot(name, fs::read(directory.path().join(name)).expect("a file"));
    }
}

#[test]
fn the_account_is_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let account = recording(directory.path()).account().expect("an account");
    assert_snapshot("account.txt", account.to_text(10).into_bytes());
    assert_snapshot("account.json", serde_json::to_vec_pretty(&account).expect("data"));
}
