use std::fmt;
use std::str::FromStr;

use serde::Serialize;

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
