use std::path::{Path, PathBuf};

use opscope_onnx::{Graph, OnnxError};
use prost::bytes::Bytes;

/// Returns a file below `models/`.
pub fn models(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(path)
}

pub fn fixture(name: &str) -> Result<Graph, OnnxError> {
    Graph::load(&models(&format!("fixtures/{name}.onnx")))
}

/// Returns a graph without external data.
pub fn from_bytes(bytes: Vec<u8>) -> Result<Graph, OnnxError> {
    Graph::from_bytes(Path::new("made.onnx"), Bytes::from(bytes))
}
