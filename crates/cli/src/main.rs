//! The `opscope` command: parse, resolve, call the library, print.
//!
//! Each command has a file or folder of its name. Below them: `options` (the options of a benchmark, from their spelling to
//! a job), `isolate` (a job in a process of its own), `child` (a process that dies with its parent), `consumers` (libraries that are fed), `terminal` (messages, progress, signals) and `exit` (codes and failures).

#![forbid(unsafe_code)]

mod benchmark;
mod child;
mod compare;
mod completions;
mod consumers;
mod debug;
mod engines;
mod exit;
mod export;
mod inspect;
mod isolate;
mod machine;
mod manual;
mod options;
mod recover;
mod report;
mod terminal;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::exit::Exit;
use crate::isolate::Invocation;

/// Shows what an accelerator really does while it runs a model.
#[derive(Debug, Parser)]
#[command(name = "opscope", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an ONNX model: how fast it is, where the time goes, what every operator computes
    #[command(after_help = EXIT_CODES)]
    Benchmark(Box<options::BenchmarkArguments>),
    /// Write the timelines and tables of a recording that a profiled run left
    #[command(after_help = EXIT_CODES)]
    Export(export::ExportArguments),
    /// Compare two dumps, a model with a dump, or two ways to run a model, and name the first operator that diverges; or compare the times
    /// of two recordings or summaries
    #[command(after_help = EXIT_CODES)]
    Compare(Box<compare::CompareArguments>),
    /// Show what a model, a dump or a recording contains
    #[command(after_help = EXIT_CODES)]
    Inspect(inspect::InspectArguments),
    /// Write one HTML page that shows recordings, summaries and dumps, to look at in any browser
    #[command(after_help = EXIT_CODES)]
    Report(report::ReportArguments),
    /// Stop a model at its operators, look at its tensors, change them, and continue
    #[command(after_help = EXIT_CODES)]
    Debug(Box<debug::DebugArguments>),
    /// Show the engines that can run a model here, and what each of them can do
    #[command(after_help = EXIT_CODES)]
    Engines(engines::EnginesArguments),
    /// Show what this machine reaches: how much it computes and reads in a second
    #[command(after_help = EXIT_CODES)]
    Machine(machine::MachineArguments),
    /// Recover the records of a file-backed buffer whose process was killed, and say what was lost
    #[command(after_help = EXIT_CODES)]
    Recover(recover::RecoverArguments),
    /// Print a script with which a shell completes opscope's commands, options and values
    #[command(after_help = EXIT_CODES)]
    Completions(completions::CompletionsArguments),
    /// Run a model once and print nothing
    #[command(hide = true, after_help = EXIT_CODES)]
    Attempt(Box<engines::AttemptArguments>),
    /// Write the manual pages into a directory
    #[command(hide = true, after_help = EXIT_CODES)]
    Manual(manual::ManualArguments),
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong use or configuration, 3 done but data incomplete, \
     4 compared and different.";

fn main() -> ExitCode {
    let invocation = Invocation::new(std::env::args_os());
    let cli = match Cli::try_parse_from(options::expand(invocation.words().iter().cloned())) {
        Ok(cli) => cli,
        Err(answer) => return explain(&answer),
    };
    let outcome = match cli.command {
        Command::Benchmark(arguments) => benchmark::run(*arguments, &invocation),
        Command::Export(arguments) => export::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments, &invocation),
        Command::Inspect(arguments) => inspect::run(&arguments, &invocation),
        Command::Report(arguments) => report::run(&arguments),
        Command::Debug(arguments) => debug::run(&arguments, &invocation),
        Command::Engines(arguments) => engines::run(&arguments),
        Command::Machine(arguments) => machine::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments, &Cli::command()),
        Command::Attempt(arguments) => engines::attempt(&arguments),
        Command::Manual(arguments) => manual::run(&arguments, Cli::command()),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit.into()
        }
    }
}

/// Prints the help, the version, or what is wrong with the command line.
fn explain(answer: &clap::Error) -> ExitCode {
    match answer.print() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // If stderr is closed, too, only the exit code is left.
            let _ = writeln!(io::stderr(), "error: the help cannot be printed: {error}");
            Exit::Failed.into()
        }
        _ if answer.use_stderr() => Exit::WrongUse.into(),
        _ => Exit::Done.into(),
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
