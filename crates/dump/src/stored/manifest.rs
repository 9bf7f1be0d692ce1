use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use opscope_tensor::open_regular;

use super::StoredDump;
use crate::{MANIFEST, Manifest};

/// The largest manifest that is read.
const LARGEST: u64 = 256 << 20;

/// Returns the manifest of a directory; `None` where there is none.
pub(crate) fn read(root: &Path) -> Result<Option<Manifest>, String> {
    let file = match open_regular(&root.join(MANIFEST)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| error.to_string())?,
    };
    serde_json::from_reader(BufReader::new(file.take(LARGEST))).map(Some).map_err(|error| error.to_string())
}

/// Compares what the manifest counted with what is there: tensors that are whole, and their bytes. `place` is where they
/// are listed.
pub(super) fn check(dump: &mut StoredDump, place: &str, tensors: u64, bytes: u64) {
    let Some(manifest) = &dump.manifest else { return };
    // A dump that was never closed counted nothing.
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
