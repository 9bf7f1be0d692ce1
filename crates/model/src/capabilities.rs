/// What an engine can do. An instrument that needs more is refused with an error that names the missing capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// It stops before and after an operator.
    pub stop: bool,
    /// It shows and replaces the values between operators.
    pub intermediates: bool,
    /// It takes times right at the operator.
    pub times: bool,
    /// It says which operators of the file a kernel stands for.
    pub names: bool,
    /// It reports the memory that it holds for tensors.
    pub memory: bool,
}

impl Capabilities {
    /// Returns the names of the capabilities that `self` has and `engine` lacks.
    pub fn missing_in(self, engine: Capabilities) -> Vec<&'static str> {
        [
            (self.stop && !engine.stop, "stop before an operator"),
            (self.intermediates && !engine.intermediates, "see the values between operators"),
            (self.times && !engine.times, "take the times of single operators"),
            (self.names && !engine.names, "keep the file's operator names"),
            (self.memory && !engine.memory, "report the memory of tensors"),
        ]
        .into_iter()
        .filter_map(|(missing, name)| missing.then_some(name))
        .collect()
    }
}
