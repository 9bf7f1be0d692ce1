//! The commands of the debugger's prompt: their table, their parser, and their help.

mod arguments;
mod help;
mod parse;
mod table;

use std::path::PathBuf;

use opscope::debug::expression::{Function, TensorPart};
use opscope::debug::{BreakpointId, BreakpointSpec, EventSet, Target};

pub use help::help;
pub use parse::{Usage, parse};
pub use table::{COMMANDS, CommandRow, TOPICS, Words, find};

/// A parsed command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Start `runs` runs, one after the other, on each of `threads` threads.
    Run { runs: u64, threads: usize },
    /// Set a breakpoint.
    Break(Box<BreakpointSpec>),
    /// Stop where a run fails.
    CatchErrors,
    /// Change a breakpoint's condition; an empty one removes it.
    Condition { breakpoint: BreakpointId, condition: String },
    /// Let a number of hits of a breakpoint pass.
    Ignore { breakpoint: BreakpointId, hits: u64 },
    /// Enable or disable breakpoints; all if none are named.
    Enable { breakpoints: Vec<BreakpointId>, enabled: bool },
    /// Delete breakpoints; all if none are named.
    Delete(Vec<BreakpointId>),
    /// Show what a topic names.
    Info(Info),
    /// Show a tensor.
    Print(TensorPart),
    /// Show the result of a function of a tensor.
    Apply { function: Function, tensor: TensorPart },
    /// Show the statistics of a tensor.
    Statistics(TensorPart),
    /// Show the histogram of a tensor.
    Histogram(TensorPart),
    /// Show the largest elements of a tensor.
    TopK { tensor: TensorPart, count: usize, by_magnitude: bool },
    /// Write a tensor to a file.
    Save { tensor: TensorPart, path: PathBuf },
    /// Change a tensor.
    Set { tensor: TensorPart, with: Replacement },
    /// List the operators around one, or the next ones.
    List(Option<Target>),
    /// Show where the run is.
    Where,
    /// Show where the run is, and at most this many of the operators that led there.
    Backtrace(usize),
    /// Choose a stopped run.
    Thread(Option<u64>),
    /// Choose a model.
    Model(Option<u32>),
    /// Continue to the next operator, this many times.
    Step(u64),
    /// Continue to the end of the operator.
    Finish,
    /// Continue to one of these operators.
    Until(Target),
    /// Continue; the breakpoint that stopped the run lets `pass` more hits pass.
    Continue { pass: u64 },
    /// Let all stopped runs continue.
    ContinueAll,
    /// Continue without executing the operator.
    Skip(Skip),
    /// Abort the run.
    Abort(String),
    /// Abort all stopped runs, and cancel the pending ones.
    AbortAll(String),
    /// Stop all runs.
    Pause,
    /// Wait for the next stop.
    Wait,
    /// Choose which events are shown.
    Events(Option<EventSet>),
    /// Run the commands of a file.
    Source(PathBuf),
    /// Print a text.
    Echo(String),
    /// Show help.
    Help(String),
    /// Detach from the program.
    Detach,
    /// End the session.
    Quit,
}

/// The new elements of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub enum Replacement {
    /// The tensor of an npy file.
    File(PathBuf),
    /// This number in every element.
    Number(Number),
}

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A number without a point or an exponent.
    Int(i128),
    /// Any other number.
    Float(f64),
}

/// The outputs of an operator that is skipped.
#[derive(Debug, Clone, PartialEq)]
pub enum Skip {
    /// Zeros, of the types and shapes of its outputs.
    Zeros,
    /// The tensors of npy files, one for each output.
    Files(Vec<PathBuf>),
}

/// A topic of `info`.
#[derive(Debug, Clone, PartialEq)]
pub enum Info {
    Breakpoints,
    /// The model's operators that match the pattern.
    Operators(Option<String>),
    Runs,
    Inputs,
    Outputs,
    Weights,
    Attributes,
    /// One operator of the model; if none is named, the one where the run is stopped.
    Operator(Option<Target>),
    Events,
    Status,
    Model,
}
