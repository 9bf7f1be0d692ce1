//! Recognises the command lines of other tools, whose behaviour is then kept.

use super::arguments::BenchmarkArguments;

impl BenchmarkArguments {
    /// Returns whether the command line is in the spelling of `ait benchmark`, `msit benchmark` or `ais_bench`: it
    /// names the model with an option (`-om`, `--om-model`, `-m`, `--model`), as these tools demand.
    ///
    /// Everything that behaves differently for these tools calls this function.
    pub fn is_of_other_tools(&self) -> bool {
        self.model.is_some()
    }
}
