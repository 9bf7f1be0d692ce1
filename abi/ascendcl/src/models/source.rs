use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use opscope::onnx::{Graph, LARGEST_FILE, OnnxError};
use opscope_border::{Counted, Text};

use super::gears::Gears;
use super::port;
use crate::border::{Failure, codes};

/// A model that has been read.
#[derive(Clone)]
pub struct Source {
    pub graph: Arc<Graph>,
    /// The gears that the user sets for it.
    pub gears: Option<Arc<Gears>>,
}

/// The path in messages for a model that was read from memory.
const MEMORY: &str = "(memory)";

/// Reads a model's file.
pub fn read_file(path: Text<'_>) -> Result<Source, Failure> {
    load(path.c_str("modelPath")?)
}

/// Reads the file at a path.
pub(super) fn load(path: &CStr) -> Result<Source, Failure> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    ready(Graph::load(path).or_else(|error| match error {
        OnnxError::OfflineModel(_) => read_as_converted(path, error),
        error => Err(error),
    }))
}

/// Reads an ONNX file that has the name of a converted model. Programs contain such names, so users may store an ONNX
/// file under such a name.
fn read_as_converted(path: &Path, refused: OnnxError) -> Result<Graph, OnnxError> {
    let Ok(bytes) = opscope::files::read(path, LARGEST_FILE) else { return Err(refused) };
    Graph::from_bytes(path, bytes.into()).map_err(|error| match error {
        OnnxError::NotOnnx { .. } => refused,
        error => error,
    })
}

/// Reads a model from memory, which is copied. The model cannot have external data.
pub fn read_memory(model: Counted<'_, u8>) -> Result<Source, Failure> {
    let size = model.count();
    if model.is_null() {
        return Err(Failure::null("model"));
    }
    if size == 0 || size > isize::MAX as usize {
        return Err(Failure::wrong_value("modelSize", size, "it is the number of bytes of a model"));
    }
    let mut copy = Vec::new();
    if copy.try_reserve_exact(size).is_err() {
        return Err(Failure::wrong_value("modelSize", size, "there is no memory for a copy of this many bytes"));
    }
    copy.extend_from_slice(model.get("model")?);
    ready(Graph::from_bytes(Path::new(MEMORY), copy.into()))
}

fn ready(graph: Result<Graph, OnnxError>) -> Result<Source, Failure> {
    let mut graph = graph.map_err(|error| failure(&error))?;
    port::fix_shapes(&mut graph)?;
    let gears = Gears::of(&graph)?.map(Arc::new);
    Ok(Source { graph: Arc::new(graph), gears })
}

fn failure(error: &OnnxError) -> Failure {
    match error {
        OnnxError::Read { path, .. } | OnnxError::NotAFile { path, .. } | OnnxError::Empty(path) => {
            Failure::bad_path(codes::GE_EXEC_MODEL_PATH_INVALID, path.display(), error)
        }
        OnnxError::ExternalData { path, .. } => Failure::bad_path(codes::GE_LOAD_MODEL, path.display(), error),
        _ => Failure::new(codes::PARSE_MODEL, "EH0012", format!("the model cannot be parsed: {error}")),
    }
}
