//! The commands of the debugger's prompt: their table, their parser, and their help.
//!
//! The text of `help`.

mod arguments;
mod parse;
mod table;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use opscope::debug::expression::{Function, TensorPart};
use opscope::debug::{BreakpointId, BreakpointSpec, EventSet, Target};

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
    /// Choose the module around the operator or the chosen module, this many times.
    Up(u64),
    /// Choose what is inside of the chosen module, this many times.
    Down(u64),
    /// Evaluate an expression of the program's language.
    Evaluate(String),
    /// Choose a stopped run.
    Thread(Option<u64>),
    /// Choose a rank, or list them.
    Rank(Option<u32>),
    /// Run a command for every rank.
    All(Box<Command>, String),
    /// Choose a model.
    Model(Option<u32>),
    /// Continue to the next operator, this many times.
    Step(u64),
    /// Continue to the next operator that is in no module inside of this one, this many times.
    Next(u64),
    /// Continue to the end of the operator, or of the chosen module.
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

/// Returns the help of one command, or an overview of all if none is named.
pub fn help(word: &str) -> Result<String> {
    if !word.is_empty() {
        let row = find(word)?;
        let mut text = format!("{} {}", row.name, row.arguments).trim_end().to_owned();
        if !row.aliases.is_empty() {
            let _ = write!(text, "    (also: {})", row.aliases.join(", "));
        }
        let _ = write!(text, "\n{}.", row.summary);
        if !row.details.is_empty() {
            let _ = write!(text, "\n{}", row.details);
        }
        return Ok(text);
    }
    let calls = COMMANDS.iter().map(|row| {
        let names: Vec<&str> = std::iter::once(row.name).chain(row.aliases.first().copied()).collect();
        (format!("{} {}", names.join(", "), row.arguments), row.summary)
    });
    let calls: Vec<_> = calls.collect();
    let width = calls.iter().map(|(call, _)| call.len()).filter(|length| *length <= 36).max().unwrap_or(0);
    let mut text = String::new();
    for (call, summary) in calls {
        let call = call.trim_end();
        // A long one has its explanation on the next line.
        let gap = if call.len() > width { format!("\n{:width$}", "") } else { " ".repeat(width - call.len()) };
        let _ = writeln!(text, "{call}{gap}  {summary}");
    }
    text.push_str("An empty line repeats step, continue or list. `help COMMAND` says more.");
    Ok(text)
}
