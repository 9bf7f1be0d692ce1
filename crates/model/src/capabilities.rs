//! What an engine can do, how faithfully it runs a model, and what it may spend on loading one.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an engine can do at one fidelity. An instrument that needs more is refused with an error that names the missing
/// capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Capabilities {
    /// It stops before and after an operator.
    pub stop: bool,
    /// It shows and replaces the values between operators.
    pub intermediates: bool,
    /// It takes times directly around the operator.
    pub times: bool,
    /// It says which operators of the file a kernel stands for.
    pub names: bool,
    /// It reports the memory that it holds for tensors.
    pub memory: bool,
    /// It does not execute a kernel that an observer skips. An engine that lacks this executes the kernel and then
    /// replaces its outputs.
    pub skip: bool,
}

/// An instrument needs a capability that the engine lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {instrument} needs an engine that can {missing}, and {engine} cannot in {fidelity} runs{}", behind(.remedy))]
pub struct MissingCapability {
    /// The instrument.
    pub instrument: String,
    /// The engine, with its version.
    pub engine: String,
    /// How faithfully the engine follows the file in these runs.
    pub fidelity: Fidelity,
    /// What the engine lacks, separated by commas.
    pub missing: String,
    /// A way to give the engine the capability, if there is one.
    pub remedy: Option<String>,
}

fn behind(remedy: &Option<String>) -> String {
    remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default()
}

impl Capabilities {
    /// Returns the names of the capabilities that `self` has and `engine` lacks.
    pub fn missing_in(self, engine: Capabilities) -> Vec<&'static str> {
        let both = self.named().into_iter().zip(engine.named());
        both.filter_map(|((name, needed), (_, there))| (needed && !there).then_some(name)).collect()
    }

    /// Returns every capability as a description of what it allows, and whether it is there.
    pub fn named(self) -> [(&'static str, bool); 6] {
        [
            ("stop before an operator", self.stop),
            ("see the values between operators", self.intermediates),
            ("take the times of single operators", self.times),
            ("keep the file's operator names", self.names),
            ("report the memory of tensors", self.memory),
            ("skip an operator without executing it", self.skip),
        ]
    }
}

/// How faithfully an engine follows the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fidelity {
    /// Operators are fused and rewritten. This is what is timed.
    Optimised,
    /// Every operator is executed as the file has it. This is what dumps, comparisons and breakpoints use. It is
    /// several times slower, so its times are never reported as the model's.
    Exact,
}

impl Fidelity {
    /// Both fidelities.
    pub const ALL: [Self; 2] = [Self::Optimised, Self::Exact];

    /// Returns `optimised` or `exact`, the word on the command line, in files and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimised => "optimised",
            Self::Exact => "exact",
        }
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How much time and memory an engine may use to load a model and to make a plan of it, as a multiple of the engine's
/// default for a model of that size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadBudget(NonZeroU32);

impl LoadBudget {
    /// Creates a budget of `factor` times the default.
    pub const fn times(factor: NonZeroU32) -> Self {
        Self(factor)
    }

    /// Returns the multiple of the default.
    pub const fn factor(self) -> u32 {
        self.0.get()
    }
}

impl Default for LoadBudget {
    fn default() -> Self {
        Self(NonZeroU32::MIN)
    }
}

impl FromStr for LoadBudget {
    type Err = InvalidLoadBudget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| InvalidLoadBudget)
    }
}

impl fmt::Display for LoadBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a text that is not a [`LoadBudget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a whole number from 1 on is needed: the multiple of the default budget")]
pub struct InvalidLoadBudget;
