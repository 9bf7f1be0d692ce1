//! A callback that comes and goes while models run.

use std::fs;
use std::path::{Path, PathBuf};

use opscope::dump::ascend::AscendFile;
use opscope_c_programs::Language;
use tempfile::TempDir;

use super::models::OnePicture;
use super::program;

#[test]
fn every_file_goes_to_a_callback_that_comes_and_goes_or_to_the_disk() {
    let model = OnePicture::new();
    for language in Language::ALL {
        let directory = TempDir::new().expect("a directory");
        fs::create_dir(directory.path().join("dump")).expect("a directory");
        fs::write(directory.path().join("acl.json"), r#"{"dump": {"dump_path": "dump", "dump_list": [{}]}}"#)
            .expect("a file");
        let program = program("handover.c").argument(model.path()).inside(directory.path().to_owned());
        let printed = program.run_as(language);
        assert_eq!(printed.stderr, "");
        let (all, called) = printed.stdout.trim_end().split_once(' ').expect("two numbers");
        let [all, called] = [all, called].map(|number| number.parse::<usize>().expect("a number"));
        let files = files(&directory.path().join("dump"));
        assert_eq!(files.len() + called, all);
        for file in files {
            AscendFile::open(&file).expect("a whole file");
        }
    }
}

/// The files under a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|entry| if entry.is_dir() { files(&entry) } else { vec![entry] }).collect()
}
