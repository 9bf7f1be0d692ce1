/// What an engine can do. An instrument that needs more is refused with the name of what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Stop before and after an operator.
    pub stop: bool,
    /// See and replace the values between operators.
    pub intermediates: bool,
    /// Take times right at the operator.
    pub times: bool,
    /// Say which operators of the file a kernel stands for.
    pub names: bool,
}

impl Capabilities {
    /// The names of what `self` asks for and `engine` lacks.
    pub fn missing_in(self, engine: Capabilities) -> Vec<&'static str> {
        [
            (self.stop && !engine.stop, "stop before an operator"),
            (self.intermediates && !engine.intermediates, "see the values between operators"),
            (self.times && !engine.times, "take the times of single operators"),
            (self.names && !engine.names, "keep the file's operator names"),
        ]
        .into_iter()
        .filter_map(|(missing, name)| missing.then_some(name))
        .collect()
    }
}
