use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;

/// Returns what a file is if it is not a regular file, such as `a directory`.
pub(crate) fn other_than_a_file(found: &FileType) -> Option<&'static str> {
    let kinds = [
        (found.is_file(), None),
        (found.is_dir(), Some("a directory")),
        (found.is_fifo(), Some("a named pipe")),
        (found.is_socket(), Some("a socket")),
        (found.is_char_device() || found.is_block_device(), Some("a device")),
    ];
    kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind)).unwrap_or(Some("something else"))
}
