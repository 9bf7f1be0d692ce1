use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file for reading. Refuses a pipe, a device or a directory at once, because they have no length and because
/// reading a pipe without a writer would block.
///
/// # Errors
/// Returns an error if it is not a regular file, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    is_regular(&fs::metadata(path)?)?;
    // The path may have been replaced by a pipe since the check.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    is_regular(&file.metadata()?)?;
    Ok(file)
}

fn is_regular(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file but a directory, a pipe or a device")),
    }
}
