use serde::Serialize;

use crate::Fidelity;

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
