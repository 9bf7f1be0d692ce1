//! Loads a [`Graph`] from a path.

pub(crate) mod build;
pub(crate) mod constants;
pub(crate) mod external;
pub(crate) mod initializers;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod order;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use opscope_tensor::Digest;
use prost::Message;
use prost::bytes::Bytes;

use crate::proto::ModelProto;
use crate::{Graph, OnnxError, Source};
use build::{build, onnx_domain};
use external::other_than_a_file;

/// The largest size of an `.onnx` file in bytes: lengths in Protocol Buffers have 31 bits.
pub const LARGEST_FILE: u64 = i32::MAX as u64;

impl Graph {
    /// Reads an `.onnx` file and checks that it is a valid graph: names resolve, every value has one producer, there is
    /// no cycle, and all data is there.
    ///
    /// # Errors
    /// See [`OnnxError`]. Each error says which file is wrong, and where.
    pub fn load(path: &Path) -> Result<Self, OnnxError> {
        let bytes = read(path)?;
        Self::from_bytes(path, bytes)
    }

    /// Loads a file whose bytes were already read. External data is looked up beside `path`.
    ///
    /// # Errors
    /// The same as [`load`](Self::load).
    pub fn from_bytes(path: &Path, bytes: Bytes) -> Result<Self, OnnxError> {
        if bytes.is_empty() {
            return Err(OnnxError::Empty(path.to_owned()));
        }
        let model = ModelProto::decode(bytes.clone())
            .map_err(|error| OnnxError::NotOnnx { path: path.to_owned(), reason: damage(&error) })?;
        let producer = format!("{} {}", model.producer_name, model.producer_version).trim().to_owned();
        let graph = model.graph.ok_or_else(|| OnnxError::NotOnnx {
            path: path.to_owned(),
            reason: "there is no graph in it".to_owned(),
        })?;
        let opsets = model.opset_import.into_iter().map(|set| (onnx_domain(set.domain), set.version)).collect();
        let source = Source { path: path.to_owned(), xxh3: Digest::of(&bytes), bytes, producer };
        build(source, opsets, graph)
    }
}

/// Returns the innermost field and the cause. The full path of fields would have hundreds of parts in nested graphs.
fn damage(error: &prost::DecodeError) -> String {
    let text = error.to_string();
    let is_field = |part: &&str| part.contains('.') && !part.contains(' ');
    let mut field = None;
    let mut rest = text.split_once(": ").map_or(text.as_str(), |(_, rest)| rest);
    while let Some((part, behind)) = rest.split_once(": ").filter(|(part, _)| is_field(part)) {
        field = Some(part);
        rest = behind;
    }
    match field {
        _ if rest == "recursion limit reached" => "messages are nested more than 100 deep".to_owned(),
        Some(field) => format!("{rest} in {field}"),
        None => rest.to_owned(),
    }
}

fn read(path: &Path) -> Result<Bytes, OnnxError> {
    let failed = |source| OnnxError::Read { path: path.to_owned(), source };
    // Checked before the file is opened, because opening a pipe without a writer would block.
    if let Some(kind) = other_than_a_file(&fs::metadata(path).map_err(failed)?.file_type()) {
        return Err(OnnxError::NotAFile { path: path.to_owned(), kind });
    }
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("om")) {
        opscope_files::open_regular(path).map_err(failed)?;
        return Err(OnnxError::OfflineModel(path.to_owned()));
    }
    match opscope_files::read(path, LARGEST_FILE) {
        Ok(bytes) => Ok(Bytes::from(bytes)),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(OnnxError::TooLarge(path.to_owned())),
        Err(error) => Err(failed(error)),
    }
}
