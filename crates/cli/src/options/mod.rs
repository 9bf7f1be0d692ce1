//! The command line of `opscope benchmark`: parse, then resolve.
//!
//! [`expand`] rewrites the spellings of other tools into one form, [`BenchmarkArguments`] is what clap reads, and
//! [`resolve()`] checks the rules and returns a [`BenchmarkRequest`]. `docs/options.md` has the table of all options.
//!
//! Recognises the command lines of other tools, whose behaviour is then kept.

mod arguments;
mod environment;
mod refusal;
mod request;
mod resolve;
mod spellings;
mod values;

#[cfg(test)]
mod tests;

pub use arguments::{BenchmarkArguments, EngineArguments, FeedArguments, NOTED, REFUSED, engine_name, given_files};
pub use environment::Environment;
pub use refusal::NoteKind;
pub use request::{Action, BenchmarkRequest, DebugServerSpec, Reporting, TextForm};
pub use resolve::resolve;
pub use spellings::{expand, is_model};
pub use values::{one_of, shape_set, threads, truth};

impl BenchmarkArguments {
    /// Returns whether the command line is in the spelling of `ait benchmark`, `msit benchmark` or `ais_bench`: it
    /// names the model with an option (`-om`, `--om-model`, `-m`, `--model`), as these tools demand.
    ///
    /// Everything that behaves differently for these tools calls this function.
    pub fn is_of_other_tools(&self) -> bool {
        self.model.is_some()
    }
}
