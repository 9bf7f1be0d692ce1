use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file for reading. Refuses a pipe, a device or a directory at once, because they have no length and because
/// opening a pipe without a writer would block.
///
/// # Errors
/// Returns an error if it is not a regular file, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Checked before it is opened, because opening already has an effect on some devices.
    check_regular(&fs::metadata(path)?)?;
    // The path may have been replaced by a pipe since the check.
    let file = OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// As [`open_regular`], but also opens a descriptor that the process inherited, such as the `<(...)` of a shell,
/// because the user named it.
///
/// # Errors
/// As [`open_regular`].
pub fn open_given(path: &Path) -> io::Result<File> {
    let is_descriptor = ["/dev/fd", "/proc/self/fd"].iter().any(|place| path.parent() == Some(Path::new(place)));
    match is_descriptor || path == Path::new("/dev/stdin") {
        true => File::open(path),
        false => open_regular(path),
    }
}

/// Opens an existing file for appending. Follows no link.
///
/// # Errors
/// Returns an error if it is not a regular file, or cannot be opened.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    check_regular(&fs::symlink_metadata(path)?)?;
    let file = OpenOptions::new().append(true).custom_flags(flags(OFlags::NONBLOCK | OFlags::NOFOLLOW)).open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens a directory, to lock it or to sync its entries to the disk.
///
/// # Errors
/// Returns an error if it is not a directory, or cannot be opened.
pub fn open_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags(OFlags::DIRECTORY | OFlags::NONBLOCK)).open(path)
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn check_regular(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other(format!("it is not a regular file but {}", kind(metadata.file_type())))),
    }
}

/// Returns the kind of a file that is not regular.
fn kind(found: FileType) -> &'static str {
    match found {
        found if found.is_dir() => "a directory",
        found if found.is_fifo() => "a named pipe",
        found if found.is_socket() => "a socket",
        found if found.is_symlink() => "a link",
        found if found.is_char_device() || found.is_block_device() => "a device",
        _ => "something else",
    }
}
