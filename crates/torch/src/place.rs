use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use opscope_model::Description;
use opscope_onnx::{Attribute, CodeOrigin, Module, SourceLine};

/// The attribute of an operator that holds its phase. The dump has it in a column of its own.
pub(crate) const PHASE: &str = "phase";

/// The attribute of an operator that holds the slots of the inputs that it writes to.
pub(crate) const WRITTEN: &str = "written";

/// A phase of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The program computes its results.
    Forward,
    /// Autograd computes gradients.
    Backward,
    /// A part of the forward pass is computed again during the backward pass, as checkpointing does.
    Recompute,
    /// An optimizer changes parameters.
    Optimizer,
}

/// A module that operators are executed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModulePath {
    /// The name that operators get: the path from the outermost module, whose own name is its class.
    pub name: String,
    /// The modules, outermost first, without the outermost one. Empty for the outermost module itself.
    pub modules: Vec<Module>,
}

/// Where an operator is executed.
#[derive(Debug, Clone)]
pub struct Place {
    /// The module. `None` if it is in no module.
    pub module: Option<Arc<ModulePath>>,
    /// The call of the module in this step, from 0.
    pub call: u32,
    /// The phase.
    pub phase: Phase,
    /// The operator, such as `aten.addmm.default`. `None` if it is the module itself, whose class is its type.
    pub operator: Option<Arc<str>>,
    /// The class of the module, as the type of an operator that is a module.
    pub class: Arc<str>,
    /// The line of the program.
    pub source: Option<Arc<SourceLine>>,
}

impl Phase {
    /// Every variant.
    pub const ALL: [Phase; 4] = [Phase::Forward, Phase::Backward, Phase::Recompute, Phase::Optimizer];

    /// `forward`, `backward`, `recompute` or `optimizer`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Recompute => "recompute",
            Phase::Optimizer => "optimizer",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of operators that are in no module.
const NO_MODULE: &str = "script";

impl Place {
    /// Returns the name without the ordinal: the module, its call after the first one, the phase after `forward`, and
    /// the operator: `layers.1.attn@1/backward/aten.mm.default`.
    pub fn stem(&self) -> String {
        let mut name = self.module_name().to_owned();
        if self.call > 0 {
            name += &format!("@{}", self.call);
        }
        if self.phase != Phase::Forward {
            name.push('/');
            name += self.phase.name();
        }
        if let Some(operator) = &self.operator {
            name.push('/');
            name += operator;
        }
        name
    }

    /// Returns the name of the operator with this ordinal among those of its stem, counted from 0.
    pub fn name(stem: &str, ordinal: u32) -> String {
        if ordinal == 0 { stem.to_owned() } else { format!("{stem}#{ordinal}") }
    }

    /// Returns the name of the module.
    pub fn module_name(&self) -> &str {
        self.module.as_ref().map_or(NO_MODULE, |module| &module.name)
    }

    /// Returns the type of the operator.
    pub fn op_type(&self) -> &str {
        self.operator.as_ref().unwrap_or(&self.class)
    }

    /// Describes the operator for the open model.
    pub(crate) fn description(&self, ordinal: u32, written: &[usize]) -> Description {
        let mut display_name = self.module_name().to_owned();
        if self.phase != Phase::Forward {
            display_name += &format!(" / {}", self.phase);
        }
        if let Some(operator) = &self.operator {
            display_name += &format!(" / {operator}");
        }
        if ordinal > 0 {
            display_name += &format!(" #{ordinal}");
        }
        let modules = self.module.as_ref().map(|module| module.modules.clone()).unwrap_or_default();
        let phase = Attribute::String(self.phase.name().to_owned());
        let written = Attribute::Ints(written.iter().map(|&slot| slot as i64).collect());
        Description {
            op_type: self.op_type().to_owned(),
            attributes: BTreeMap::from([(PHASE.to_owned(), phase), (WRITTEN.to_owned(), written)]),
            origin: Some(CodeOrigin { display_name, modules, source: self.source.as_deref().cloned(), traced: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_module_its_call_the_phase_and_the_operator() {
        let module = ModulePath { name: "layers.1.attn".to_owned(), modules: Vec::new() };
        let mut place = Place {
            module: Some(Arc::new(module)),
            call: 0,
            phase: Phase::Forward,
            operator: Some(Arc::from("aten.mm.default")),
            class: Arc::from("Attention"),
            source: None,
        };
        assert_eq!(place.stem(), "layers.1.attn/aten.mm.default");
        (place.call, place.phase) = (2, Phase::Backward);
        assert_eq!(place.stem(), "layers.1.attn@2/backward/aten.mm.default");
        assert_eq!(Place::name(&place.stem(), 3), "layers.1.attn@2/backward/aten.mm.default#3");
        place.operator = None;
        assert_eq!((place.stem().as_str(), place.op_type()), ("layers.1.attn@2/backward", "Attention"));
        place.module = None;
        (place.call, place.phase) = (0, Phase::Forward);
        assert_eq!(place.stem(), "script");
    }
}
