//! The names of msprobe: `Module.layers.0.Attention.forward.0`, `Functional.linear.0.forward`.

/// What a name says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The name of the module or function as opscope has it, without the phase.
    pub name: String,
    /// The class of the module, or the function.
    pub op_type: String,
    /// The path of the module, if it is one.
    pub module: Option<String>,
    /// What it was.
    pub kind: Kind,
}

/// What an entry describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call.
    Forward,
    /// A call's backward pass.
    Backward,
    /// The gradients of a module's parameters.
    ParametersGrad,
}

impl Kind {
    fn of(text: &str) -> Option<Self> {
        match text {
            "forward" => Some(Self::Forward),
            "backward" => Some(Self::Backward),
            "parameters_grad" => Some(Self::ParametersGrad),
            _ => None,
        }
    }

    /// Returns the phase of a step.
    pub fn phase(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward | Self::ParametersGrad => "backward",
        }
    }
}

impl Name {
    /// Reads a name. One of another scheme is the name of a forward call.
    pub fn parse(text: &str) -> Self {
        let plain = || Self {
            name: text.to_owned(),
            op_type: text.split('.').nth(1).unwrap_or(text).to_owned(),
            module: None,
            kind: Kind::Forward,
        };
        if let Some(module) = ["Module.", "Cell."].iter().find_map(|prefix| text.strip_prefix(prefix)) {
            return Self::module(module).unwrap_or_else(plain);
        }
        let mut parts = text.rsplitn(3, '.');
        let (Some(kind), Some(call), Some(function)) = (parts.next(), parts.next(), parts.next()) else {
            return plain();
        };
        let (Some(kind), Ok(_)) = (Kind::of(kind), call.parse::<u64>()) else { return plain() };
        let op_type = function.split_once('.').map_or(function, |(_, name)| name).to_owned();
        Self { name: format!("{function}.{call}"), op_type, module: None, kind }
    }

    fn module(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(4, '.');
        let (call, kind, class, path) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (call, kind): (u64, _) = (call.parse().ok()?, Kind::of(kind)?);
        let name = if call == 0 { path.to_owned() } else { format!("{path}@{call}") };
        Some(Self { name, op_type: class.to_owned(), module: Some(path.to_owned()), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_as_those_of_watched_programs_are() {
        let name = Name::parse("Module.layers.0.attn.Attention.backward.2");
        assert_eq!(
            (name.name.as_str(), name.op_type.as_str(), name.module.as_deref(), name.kind),
            ("layers.0.attn@2", "Attention", Some("layers.0.attn"), Kind::Backward)
        );
        let name = Name::parse("Functional.linear.3.forward");
        assert_eq!((name.name.as_str(), name.op_type.as_str(), name.module), ("Functional.linear.3", "linear", None));
        assert_eq!(Name::parse("Module.x.Linear.parameters_grad.0").kind, Kind::ParametersGrad);
        assert_eq!(Name::parse("odd").name, "odd");
    }
}
