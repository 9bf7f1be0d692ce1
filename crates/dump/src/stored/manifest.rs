//! What lies in a dump's directory: its manifest, and its files.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::StoredDump;
use crate::{DumpError, MANIFEST, Manifest};

/// The largest manifest that is read.
const LARGEST: u64 = 256 << 20;

/// Returns the manifest of a directory; `None` if there is none.
pub(crate) fn read(root: &Path) -> io::Result<Option<Manifest>> {
    match opscope_files::read(&root.join(MANIFEST), LARGEST) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        text => Ok(serde_json::from_slice(&text?).map(Some)?),
    }
}

/// Compares the counts in the manifest with the complete tensors that are there, and their bytes. `place` is where
/// these are listed.
pub(super) fn check(dump: &mut StoredDump, place: &str, tensors: u64, bytes: u64) {
    let Some(manifest) = &dump.manifest else { return };
    // A dump that was never closed has no counts.
    if !manifest.complete && manifest.tensors == 0 {
        return;
    }
    if (manifest.tensors, manifest.bytes) != (tensors, bytes) {
        dump.problems.push(format!(
            "{MANIFEST} counts {} tensors of {} bytes, {place} {tensors} of {bytes}",
            manifest.tensors, manifest.bytes
        ));
    }
}

/// The maximum depth. AscendCL's directories lie four levels below that of a dump.
const DEEPEST: usize = 8;

/// The maximum number of files, which is more than any dump has.
const MOST_FILES: usize = 1_000_000;

/// Returns the files below a directory, sorted. Links are not followed, because they could lead out of it.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, DumpError> {
    let mut found = Vec::new();
    let mut directories = vec![(root.to_path_buf(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let failed = || DumpError::io(&directory, "it cannot be listed");
        for entry in fs::read_dir(&directory).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let kind = entry.file_type().map_err(failed())?;
            if kind.is_dir() && depth < DEEPEST {
                directories.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                found.push(entry.path());
            }
            if found.len() > MOST_FILES {
                return Err(DumpError::file(&directory, format!("there are more than {MOST_FILES} files")));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_manifest_has_256_mib_at_most() {
        // A manifest of this size is too large for a test.
        assert_eq!(super::LARGEST, 268_435_456);
    }

    #[test]
    fn a_dump_has_a_million_files_at_most() {
        // A directory with this many files is too large for a test.
        assert_eq!(super::MOST_FILES, 1_000_000);
    }
}
