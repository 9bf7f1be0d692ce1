//! The command line of `opscope benchmark`: parse, then resolve.
//!
//! [`expand`] rewrites the spellings of other tools into one form, [`BenchmarkArguments`] is what clap reads, and
//! [`resolve()`] checks the rules and returns a [`BenchmarkRequest`]. `docs/options.md` has the table of all options.

mod arguments;
mod environment;
mod notes;
mod other_tools;
mod refusal;
mod request;
mod resolve;
mod spellings;
mod values;

pub use arguments::{BenchmarkArguments, EngineArguments, FeedArguments, NOTED, REFUSED, engine_name, given_files};
pub use environment::Environment;
pub use notes::NoteKind;
pub use request::{Action, BenchmarkRequest, DebugServerSpec, Reporting, TextForm};
pub use resolve::resolve;
pub use spellings::{expand, is_model};
pub use values::{one_of, shape_set, threads, truth};

#[cfg(test)]
mod tests;
