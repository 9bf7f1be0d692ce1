//! The command line of `opscope benchmark`: parse, then resolve.
//!
//! [`expand`] brings the spellings of other tools into one form, [`BenchmarkArguments`] is what clap reads, and
//! [`resolve()`] checks the rules and gives a [`BenchmarkRequest`], which knows nothing of clap. `docs/options.md` has
//! the table of all options.

mod arguments;
mod dump;
mod environment;
mod feed;
mod profiler;
mod refusal;
mod request;
mod resolve;
mod shapes;
mod spellings;

pub use arguments::BenchmarkArguments;
pub use arguments::truth;
pub use dump::{DumpArguments, DumpFormat, DumpPolicy, DumpSide};
pub use environment::Environment;
pub use feed::FeedArguments;
pub use profiler::{ProfilerSwitches, RecordMemory};
pub use request::{BenchmarkRequest, DebugServer, Inputs, InstrumentChoice, NoteKind, OutputFormat, PureData};
pub use resolve::{resolve, threads};
pub use shapes::{ShapeChoice, ShapeSet};
pub use spellings::expand;

/// Reads `name:1,600;other:1,600`, as `--dym-shape` takes it.
pub fn shape_set(text: &str) -> Result<ShapeSet, refusal::Refusal> {
    shapes::parse_set("--dym-shape", text)
}

#[cfg(test)]
mod tests;
