use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::open_regular;

/// Reads a whole regular file of at most `most` bytes.
///
/// # Errors
/// Returns an error if it is not a regular file, has more bytes, does not fit into memory, or cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_to_end(&mut open_regular(path)?, most)
}

/// As [`read`], for text in UTF-8.
///
/// # Errors
/// As [`read`], and of the kind [`InvalidData`](ErrorKind::InvalidData) if it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads the rest of an open file, as [`read`] does.
///
/// # Errors
/// Returns an error if more bytes follow, they do not fit into memory, or cannot be read.
pub fn read_to_end(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    let too_large = |at_least: u64| {
        let text = format!("it has at least {at_least} bytes, and at most {most} are read");
        io::Error::new(ErrorKind::FileTooLarge, text)
    };
    // Files of the system report no length, and other files may grow.
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_large(length));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX)).map_err(|_| ErrorKind::OutOfMemory)?;
    let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > most { Err(too_large(read as u64)) } else { Ok(bytes) }
}
