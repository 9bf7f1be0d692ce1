//! Models with some operators lowered.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use opscope::{Session, SessionError};
use opscope_model::EngineError;
use opscope_onnx::{Graph, Lowering, Operator, OperatorId};
use opscope_tensor::Tensor;

use super::PrecisionError;
use super::quantizer::Quantizer;

/// How a model is made in which some operators are lowered.
#[derive(Clone, Copy)]
pub(super) enum Conversion<'a> {
    /// Floating-point types.
    Float(&'a Lowering<'a>),
    /// Integers.
    Integers(&'a Quantizer<'a>),
}

impl<'a> Conversion<'a> {
    /// Returns the operators that can be lowered, in order of execution.
    pub fn candidates(self) -> Vec<&'a Operator> {
        match self {
            Self::Float(lowering) => lowering.candidates().collect(),
            Self::Integers(quantizer) => quantizer.candidates().collect(),
        }
    }

    /// Returns the model with these operators kept, and all other candidates lowered.
    ///
    /// # Errors
    /// Returns an error if the quantizer fails, or the model cannot be read again.
    pub fn graph(self, kept: &HashSet<OperatorId>) -> Result<Arc<Graph>, PrecisionError> {
        let graph = match self {
            Self::Float(lowering) => {
                let path = &lowering.graph().source.path;
                Graph::from_bytes(path, lowering.file(&self.lowered(kept))?.encode()?)
            }
            Self::Integers(quantizer) => Graph::load(&quantizer.quantised(kept)?),
        };
        Ok(Arc::new(graph?))
    }

    /// Loads that model into an engine. Returns `None` if the engine refuses what a quantizer wrote, or cannot run these
    /// inputs: two of the names that it makes up may meet, for instance.
    ///
    /// # Errors
    /// As [`graph`](Self::graph), and if the engine refuses another model.
    pub fn loaded(
        self,
        kept: &HashSet<OperatorId>,
        load: &dyn Fn(Arc<Graph>) -> Result<Session, PrecisionError>,
        inputs: &[Tensor],
    ) -> Result<Option<Session>, PrecisionError> {
        let loaded = load(self.graph(kept)?).and_then(|session| {
            session.plan(inputs)?;
            Ok(session)
        });
        match loaded {
            Err(
                PrecisionError::Engine(EngineError::Load { .. })
                | PrecisionError::Session(SessionError::Engine(EngineError::Load { .. })),
            ) if matches!(self, Self::Integers(_)) => Ok(None),
            loaded => loaded.map(Some),
        }
    }

    /// Writes that model.
    ///
    /// # Errors
    /// Returns an error if the quantizer fails, or the file cannot be written; the one of before is then still there.
    pub fn write(self, kept: &HashSet<OperatorId>, path: &Path) -> Result<(), PrecisionError> {
        match self {
            Self::Float(lowering) => Ok(lowering.file(&self.lowered(kept))?.write(path)?),
            Self::Integers(quantizer) => quantizer.write(kept, path),
        }
    }

    fn lowered(self, kept: &HashSet<OperatorId>) -> HashSet<OperatorId> {
        self.candidates().into_iter().map(|operator| operator.id).filter(|id| !kept.contains(id)).collect()
    }
}
