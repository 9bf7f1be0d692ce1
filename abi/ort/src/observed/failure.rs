use std::io;
use std::path::PathBuf;

use opscope_debug::DebugError;
use opscope_dump::DumpError;
use opscope_engine_onnxruntime::{LibraryError, Refusal};
use opscope_model::EngineError;
use opscope_onnx::OnnxError;
use opscope_profile::ProfileError;
use opscope_text::counted;

/// Why a session is not looked at, or what ran beside it failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("its library is not known")]
    UnknownLibrary,
    #[error("it has no environment")]
    NoEnvironment,
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Options(#[from] Refusal),
    #[error(transparent)]
    Graph(#[from] OnnxError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    NoDebugger(#[from] io::Error),
    #[error(transparent)]
    Debugger(#[from] DebugError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error("{} could not be exported: {source}", path.display())]
    Export { path: PathBuf, source: ProfileError },
    #[error("{} cannot be made: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("{} has {most} directories of the name '{name}'", path.display())]
    NoName { path: PathBuf, most: u32, name: String },
    #[error("{source}; what was captured until then is in {}", path.display())]
    Interrupted { source: EngineError, path: PathBuf },
    #[error("{} missing from {}", counted(*missing, "tensor"), path.display())]
    Missing { missing: usize, path: PathBuf },
}
