use std::io::{self, ErrorKind};
use std::path::Path;

use super::StoredDump;
use crate::{MANIFEST, Manifest};

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

#[cfg(test)]
mod tests {
    #[test]
    fn a_manifest_has_256_mib_at_most() {
        // A manifest of this size is too large for a test.
        assert_eq!(super::LARGEST, 268_435_456);
    }
}
