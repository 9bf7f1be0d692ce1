//! The engines, and how one is chosen.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use opscope_engine_onnxruntime::OnnxRuntimeEngine;
pub use opscope_engine_onnxruntime::{
    ExecutionMode, GraphOptimizationLevel, Library, LibraryError, OnnxRuntimeOptions, Provider,
};
use opscope_engine_tract::TractEngine;
use opscope_model::{Capabilities, Engine, Fidelity};
use serde::Serialize;

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

/// The name of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// tract, which is embedded.
    #[default]
    Tract,
    /// ONNX Runtime, whose library is loaded when it is chosen.
    OnnxRuntime,
}

/// The error for a text that is not the name of an engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no engine '{0}'; there are tract and onnxruntime (short: ort)")]
pub struct UnknownEngine(pub String);

impl EngineName {
    /// Every engine.
    pub const ALL: [Self; 2] = [Self::Tract, Self::OnnxRuntime];

    /// Returns `tract` or `onnxruntime`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tract => "tract",
            Self::OnnxRuntime => "onnxruntime",
        }
    }

    /// Returns other spellings of the name.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Tract => &[],
            Self::OnnxRuntime => &["ort"],
        }
    }
}

impl FromStr for EngineName {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        let is_named = |engine: &Self| engine.name() == text || engine.aliases().contains(&text);
        Self::ALL.into_iter().find(is_named).ok_or_else(|| UnknownEngine(text.to_owned()))
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An engine as it is on this machine. `docs/json.md` describes it as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineFacts {
    /// Its name.
    pub name: EngineName,
    /// Libraries that were found and skipped, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Its properties, or the reason why it is not available.
    #[serde(flatten)]
    pub state: EngineState,
}

/// Whether an engine is available, and what it can do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EngineState {
    /// It can be used.
    Available {
        /// Its version.
        version: String,
        /// The file of its library; `None` for the embedded engine.
        library: Option<PathBuf>,
        /// Its execution providers.
        providers: Vec<String>,
        /// What it can do, by fidelity.
        capabilities: Vec<FidelityFacts>,
    },
    /// It cannot be used.
    Unavailable {
        /// The reason, and a remedy.
        reason: String,
    },
}

/// What an engine can do at one fidelity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FidelityFacts {
    /// The fidelity.
    pub fidelity: Fidelity,
    /// What it can do.
    #[serde(flatten)]
    pub capabilities: Capabilities,
}

/// Returns the state of every engine on this machine. ONNX Runtime is loaded from `library`, or else from where it is
/// found.
pub fn survey(library: Option<&Path>) -> Vec<EngineFacts> {
    EngineName::ALL.map(|name| facts(name, library)).into()
}

impl EngineFacts {
    /// Returns the embedded engine.
    pub fn embedded() -> Self {
        facts(EngineName::Tract, None)
    }

    /// Returns an engine that cannot be used, with the reason.
    pub fn unavailable(name: EngineName, reason: String) -> Self {
        Self { name, skipped: Vec::new(), state: EngineState::Unavailable { reason } }
    }
}

fn facts(name: EngineName, library: Option<&Path>) -> EngineFacts {
    let library = library.filter(|_| name == EngineName::OnnxRuntime).map(Path::to_owned);
    let skipped = match name {
        EngineName::Tract => Vec::new(),
        EngineName::OnnxRuntime => match Library::find(library.as_deref()) {
            Ok(library) => library.skipped().to_vec(),
            Err(LibraryError::NotFound { skipped, .. }) => skipped,
            Err(_) => Vec::new(),
        },
    };
    let state = available(EngineSpec { name, library, ..EngineSpec::default() })
        .unwrap_or_else(|error| EngineState::Unavailable { reason: error.to_string() });
    EngineFacts { name, skipped: skipped.iter().map(ToString::to_string).collect(), state }
}

fn available(spec: EngineSpec) -> Result<EngineState, LibraryError> {
    let engine = spec.open()?;
    let (library, providers) = match spec.name {
        EngineName::Tract => (None, Vec::new()),
        EngineName::OnnxRuntime => {
            let library = Library::find(spec.library.as_deref())?;
            (Some(library.path().to_owned()), library.providers())
        }
    };
    let of = |fidelity| FidelityFacts { fidelity, capabilities: engine.capabilities(fidelity) };
    let capabilities = Fidelity::ALL.map(of).into();
    Ok(EngineState::Available { version: engine.version().to_owned(), library, providers, capabilities })
}
