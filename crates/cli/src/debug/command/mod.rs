//! What can be typed at the debugger's prompt.

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

/// A command, read from its text.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Start runs: so many, one after the other, on each of so many threads.
    Run { runs: u64, threads: usize },
    /// Set a breakpoint.
    Break(Box<BreakpointSpec>),
    /// Stop where a run fails.
    CatchErrors,
    /// Change or take away a breakpoint's condition.
    Condition { breakpoint: BreakpointId, condition: String },
    /// Let so many hits of a breakpoint pass.
    Ignore { breakpoint: BreakpointId, hits: u64 },
    /// Switch breakpoints on or off; all where none are named.
    Enable { breakpoints: Vec<BreakpointId>, enabled: bool },
    /// Remove breakpoints; all where none are named.
    Delete(Vec<BreakpointId>),
    /// Tell what is there.
    Info(Info),
    /// Show a tensor.
    Print(TensorPart),
    /// Show what a function gives of a tensor.
    Apply { function: Function, tensor: TensorPart },
    /// Numbers about a tensor.
    Statistics(TensorPart),
    /// How a tensor's elements are spread.
    Histogram(TensorPart),
    /// The largest elements of a tensor.
    TopK { tensor: TensorPart, count: usize, by_magnitude: bool },
    /// Write a tensor to a file.
    Save { tensor: TensorPart, path: PathBuf },
    /// Change a tensor.
    Set { tensor: TensorPart, with: Replacement },
    /// The operators around one, or the next ones.
    List(Option<Target>),
    /// Where the run is.
    Where,
    /// Where the run is, and so many of the operators that led here.
    Backtrace(usize),
    /// Choose a stopped run.
    Thread(Option<u64>),
    /// Choose a model.
    Model(Option<u32>),
    /// Go on to the next operator, so many times.
    Step(u64),
    /// Go on to the end of the operator.
    Finish,
    /// Go on to one of these operators.
    Until(Target),
    /// Go on; the breakpoint that stopped the run lets so many more hits pass.
    Continue { pass: u64 },
    /// Let all stopped runs go on.
    ContinueAll,
    /// Go on without executing the operator.
    Skip(Skip),
    /// End the run.
    Abort(String),
    /// End all stopped runs, and start none of those that are left to start.
    AbortAll(String),
    /// Stop what runs.
    Pause,
    /// Wait for the next stop.
    Wait,
    /// Which events are told.
    Events(Option<EventSet>),
    /// Run the commands of a file.
    Source(PathBuf),
    /// Print a text.
    Echo(String),
    /// Explain.
    Help(String),
    /// Leave the program alone.
    Detach,
    /// End.
    Quit,
}

/// What a tensor is replaced with.
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
    /// Without a point or an exponent.
    Int(i128),
    /// Any other.
    Float(f64),
}

/// The outputs of an operator that is skipped.
#[derive(Debug, Clone, PartialEq)]
pub enum Skip {
    /// Zeros of the types and shapes that it would have made.
    Zeros,
    /// The tensors of npy files, one for each output.
    Files(Vec<PathBuf>),
}

/// What `info` can tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Info {
    Breakpoints,
    /// Of the model, those that fit the pattern.
    Operators(Option<String>),
    Runs,
    Inputs,
    Outputs,
    Weights,
    Attributes,
    /// One operator of the model: the one where the run is stopped, if none is named.
    Operator(Option<Target>),
    Events,
    Status,
    Model,
}
