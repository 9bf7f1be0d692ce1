//! The engines, and how one is chosen.

mod name;
mod survey;

use std::path::PathBuf;
use std::sync::Arc;

use opscope_engine_onnxruntime::OnnxRuntimeEngine;
use opscope_engine_tract::TractEngine;
use opscope_model::Engine;

pub use name::{EngineName, UnknownEngine};
pub use opscope_engine_onnxruntime::{
    ExecutionMode, GraphOptimizationLevel, Library, LibraryError, OnnxRuntimeOptions, Provider,
};
pub use survey::{EngineFacts, EngineState, FidelityFacts, survey};

/// An engine, and how it is set up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineSpec {
    /// The engine.
    pub name: EngineName,
    /// The file of ONNX Runtime's library. `None` means that it is searched for.
    pub library: Option<PathBuf>,
    /// How ONNX Runtime is set up.
    pub onnxruntime: OnnxRuntimeOptions,
}

impl EngineSpec {
    /// Returns the engine. Its library is loaded once per process.
    ///
    /// # Errors
    /// Returns an error if the engine's library is not found, does not fit, or lacks a provider.
    pub fn open(&self) -> Result<Arc<dyn Engine>, LibraryError> {
        match self.name {
            EngineName::Tract => Ok(embedded()),
            EngineName::OnnxRuntime => {
                let library = Library::find(self.library.as_deref())?;
                Ok(Arc::new(OnnxRuntimeEngine::new(library, self.onnxruntime.clone())?))
            }
        }
    }
}

/// Returns the embedded engine.
pub fn embedded() -> Arc<dyn Engine> {
    Arc::new(TractEngine)
}
