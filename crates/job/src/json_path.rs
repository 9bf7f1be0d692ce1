//! Paths in JSON documents, which are text: bytes that are not UTF-8 become U+FFFD.

use std::path::{Path, PathBuf};

use serde::Serializer;
use serde::ser::SerializeSeq;

pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

pub(crate) fn paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(paths.len()))?;
    paths.iter().try_for_each(|path| sequence.serialize_element(&path.to_string_lossy()))?;
    sequence.end()
}
