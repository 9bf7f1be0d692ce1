//! Whether a command line is that of another tool, whose behaviour it then keeps.

use super::arguments::BenchmarkArguments;

impl BenchmarkArguments {
    /// Returns whether the command line is in the spelling of `ait benchmark`, `msit benchmark` or `ais_bench`: it names the model
    /// with an option (`-om`, `--om-model`, `-m`, `--model`), as these tools demand.
    ///
    /// Everything that differs between opscope's own way and theirs asks here.
    pub fn is_of_other_tools(&self) -> bool {
        self.model.is_some()
    }
}
