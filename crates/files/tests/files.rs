//! Which files are opened or refused, and how much of them is read.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use opscope_files::{open_directory, open_regular, open_to_append, read, read_text};

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn only_a_regular_file_is_opened_and_what_else_it_is_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    pipe(&path("pipe"));
    symlink(path("pipe"), path("link")).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    fs::write(path("file"), "text").unwrap();
    symlink(path("file"), path("good link")).unwrap();
    let other = [("pipe", "a named pipe"), ("link", "a named pipe"), ("socket", "a socket"), ("", "a directory")];
    let other = other.map(|(name, kind)| (path(name), kind)).into_iter().chain([("/dev/zero".into(), "a device")]);
    for (path, kind) in other {
        let says = format!("it is not a regular file but {kind}");
        assert_eq!(open_regular(&path).unwrap_err().to_string(), says, "{path:?}");
        assert_eq!(read(&path, 10).unwrap_err().to_string(), says, "{path:?}");
        assert!(open_to_append(&path).is_err(), "{path:?}");
    }
    for name in ["file", "good link"] {
        assert_eq!(read(&path(name), 4).unwrap(), b"text");
    }
    assert_eq!(open_regular(&path("none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(open_to_append(&path("good link")).unwrap_err().to_string().ends_with("but a link"));
    open_to_append(&path("file")).unwrap().write_all(b", more").unwrap();
    assert_eq!(read_text(&path("file"), 10).unwrap(), "text, more");
}

#[test]
fn no_more_than_the_bound_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "0123456789").unwrap();
    assert_eq!(read(&path, 10).unwrap(), b"0123456789");
    let error = read(&path, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert_eq!(error.to_string(), "it has at least 10 bytes, and at most 9 are read");
    // The file has this length, but no blocks on the disk.
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(read(&path, 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
    // This is a file of the system, and its length is 0.
    let status = read(Path::new("/proc/self/status"), 1 << 20).unwrap();
    assert!(status.starts_with(b"Name:"));
    assert_eq!(read(Path::new("/proc/self/status"), 10).unwrap_err().kind(), ErrorKind::FileTooLarge);
}

#[test]
fn a_file_that_no_memory_holds_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::File::create(&path).unwrap().set_len(1 << 43).unwrap();
    let error = read(&path, u64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
}

#[test]
fn text_is_utf_8() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, b"caf\xe9").unwrap();
    assert_eq!(read_text(&path, 10).unwrap_err().kind(), ErrorKind::InvalidData);
    fs::write(&path, "café").unwrap();
    assert_eq!(read_text(&path, 10).unwrap(), "café");
}

#[test]
fn a_directory_is_opened_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    open_directory(directory.path()).unwrap().sync_all().unwrap();
    let path = directory.path().join("pipe");
    pipe(&path);
    assert_eq!(open_directory(&path).unwrap_err().kind(), ErrorKind::NotADirectory);
}
