use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_engine_tract::TractEngine;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions, Model};
use opscope_onnx::{Graph, OnnxError};

/// A model that is loaded and can run.
pub struct Session {
    engine: Arc<dyn Engine>,
    model: Arc<dyn Model>,
    threads: NonZeroUsize,
    loading: (Ticks, Ticks),
}

/// Why a model could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The file.
    #[error(transparent)]
    File(#[from] OnnxError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Session {
    /// Reads a model and loads it into the embedded engine. `threads` are those within one operator.
    ///
    /// # Errors
    /// When the file is not a model that can run, or the engine lacks something that it needs.
    pub fn load(path: &Path, fidelity: Fidelity, threads: NonZeroUsize) -> Result<Self, SessionError> {
        let start = Ticks::now();
        let graph = Arc::new(Graph::load(path)?);
        Self::begun(graph, fidelity, threads, start)
    }

    /// Loads a graph that was read already into the embedded engine.
    ///
    /// # Errors
    /// When the engine lacks something that it needs.
    pub fn with_graph(graph: Arc<Graph>, fidelity: Fidelity, threads: NonZeroUsize) -> Result<Self, SessionError> {
        Self::begun(graph, fidelity, threads, Ticks::now())
    }

    fn begun(graph: Arc<Graph>, fidelity: Fidelity, threads: NonZeroUsize, start: Ticks) -> Result<Self, SessionError> {
        let engine: Arc<dyn Engine> = Arc::new(TractEngine);
        let model = engine.load(graph, &LoadOptions { fidelity, threads })?;
        Ok(Self { engine, model, threads, loading: (start, Ticks::now()) })
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// The model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// The model's graph.
    pub fn graph(&self) -> &Arc<Graph> {
        self.model.graph()
    }

    /// Threads within one operator.
    pub fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// When the file was read and the model loaded, without the plans that shapes need.
    pub fn loading(&self) -> (Ticks, Ticks) {
        self.loading
    }
}
