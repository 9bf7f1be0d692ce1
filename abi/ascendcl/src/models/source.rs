use std::ffi::{CStr, OsStr, c_char, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice::from_raw_parts;
use std::sync::Arc;

use opscope::onnx::{Graph, OnnxError};

use super::shapes;
use crate::border::{Failure, codes, text};

/// What stands for the path of a model from memory.
const MEMORY: &str = "(memory)";

/// Reads a model's file.
///
/// # Safety
/// `path` is NULL or a text.
pub unsafe fn read_file(path: *const c_char) -> Result<Arc<Graph>, Failure> {
    // SAFETY: as the caller promises.
    load(unsafe { text(path, "modelPath")? })
}

/// Reads the file of a path.
pub(super) fn load(path: &CStr) -> Result<Arc<Graph>, Failure> {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    ready(Graph::load(path).or_else(|error| match error {
        OnnxError::OfflineModel(_) => read_as_converted(path, error),
        error => Err(error),
    }))
}

/// Reads a file that has the name of a converted model. Programs have such names in them, so the ONNX file may lie in that place.
fn read_as_converted(path: &Path, refused: OnnxError) -> Result<Graph, OnnxError> {
    let Ok(bytes) = fs::read(path) else { return Err(refused) };
    Graph::from_bytes(path, bytes.into()).map_err(|error| match error {
        OnnxError::NotOnnx { .. } => refused,
        error => error,
    })
}

/// Reads a model from memory, which is copied. Data outside of the model is not found.
///
/// # Safety
/// `model` is NULL, or has so many bytes.
pub unsafe fn read_memory(model: *const c_void, size: usize) -> Result<Arc<Graph>, Failure> {
    if model.is_null() {
        return Err(Failure::null("model"));
    }
    if size == 0 || size > isize::MAX as usize {
        return Err(Failure::wrong_value("modelSize", size, "it is the number of bytes of a model"));
    }
    // SAFETY: it is not NULL, and the caller promises that it has so many bytes.
    let bytes = unsafe { from_raw_parts(model.cast::<u8>(), size) };
    ready(Graph::from_bytes(Path::new(MEMORY), bytes.to_vec().into()))
}

fn ready(graph: Result<Graph, OnnxError>) -> Result<Arc<Graph>, Failure> {
    let mut graph = graph.map_err(|error| failure(&error))?;
    shapes::fix(&mut graph)?;
    Ok(Arc::new(graph))
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
