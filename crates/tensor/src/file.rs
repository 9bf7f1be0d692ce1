use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file to read it. A pipe, a device or a directory is refused at once: it has no length, and a pipe that nobody
/// writes to would be waited for without end.
///
/// # Errors
/// When it is no file, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    is_regular(&fs::metadata(path)?)?;
    // It may have become a pipe since.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    is_regular(&file.metadata()?)?;
    Ok(file)
}

fn is_regular(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is no regular file but a directory, a pipe or a device")),
    }
}
