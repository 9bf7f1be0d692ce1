//! The `opscope` command: parse, resolve, call the library, print.
//!
//! The program and the Python package run it by [`run`].
//!
//! Each command has a file or folder of its name. Below them: `options` (the options of a benchmark, from their
//! spelling to a job), `isolate` (a job in its own process), `consumers` (libraries that receive what models do),
//! `again` (how the command starts itself, and a process that dies with its parent), `artifact` (what is at a path),
//! `help` (its lengths, examples, tips), `terminal` (messages, progress, signals) and `exit` (codes and failures).

#![forbid(unsafe_code)]

mod again;
mod artifact;
mod attach;
mod benchmark;
mod capture;
mod compare;
mod completions;
mod consumers;
mod debug;
mod engines;
mod exit;
mod export;
mod help;
mod import;
mod inspect;
mod isolate;
mod machine;
mod manual;
mod mcp;
mod options;
mod precision;
mod recover;
mod reduce;
mod report;
mod terminal;
mod torch;
mod vendor_env;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use clap::{ArgAction, CommandFactory, Parser, Subcommand};
use signal_hook::consts::SIGXFSZ;

pub use crate::attach::connect;
use crate::exit::Exit;
use crate::isolate::Invocation;

/// Shows what an accelerator really does while it runs a model.
#[derive(Debug, Parser)]
#[command(name = "opscope", version, arg_required_else_help = true)]
struct Cli {
    /// The help, with the options of other tools
    #[arg(long, global = true, action = ArgAction::HelpLong, hide = true)]
    help_all: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an ONNX model: how fast it is, and where the time goes
    Benchmark(Box<options::BenchmarkArguments>),
    /// Write the timelines and tables of a recording
    Export(export::ExportArguments),
    /// Read the traces and dumps of other tools
    Import(import::ImportArguments),
    /// Compare values or times; name the first operator that diverges
    Compare(Box<compare::CompareArguments>),
    /// Find the smallest model that still fails
    Reduce(Box<reduce::ReduceArguments>),
    /// Show what a model, a dump or a recording contains
    Inspect(inspect::InspectArguments),
    /// Write one HTML page of recordings, summaries and dumps
    Report(report::ReportArguments),
    /// Find which operators must stay in float32 when the others do not
    Precision(Box<precision::PrecisionArguments>),
    /// Stop a model at its operators, look at tensors, change them
    Debug(Box<debug::DebugArguments>),
    /// Let an editor debug a model (Debug Adapter Protocol)
    #[command(hide = true)]
    Dap(debug::dap::DapArguments),
    /// Let an agent use the commands (Model Context Protocol)
    #[command(hide = true)]
    Mcp(mcp::McpArguments),
    /// Watch a PyTorch program: every value, the first NaN
    // The package for Python has this command, and its own help for it.
    #[command(hide = true)]
    Torch(torch::TorchArguments),
    /// Dump the next run of a program that uses ONNX Runtime
    #[command(hide = true)]
    Dump(capture::CaptureArguments),
    /// Record runs of a program that uses ONNX Runtime
    #[command(hide = true)]
    Profile(capture::CaptureArguments),
    /// Show the engines that can run a model here
    Engines(engines::EnginesArguments),
    /// Show how much this machine computes and reads in a second
    Machine(machine::MachineArguments),
    /// Recover the records of a process that was killed
    Recover(recover::RecoverArguments),
    /// Print a script that completes commands and options in a shell
    Completions(completions::CompletionsArguments),
    /// Run a program with opscope's libraries of vendors' names
    VendorEnv(vendor_env::VendorEnvArguments),
    /// Run a model once and print nothing
    #[command(hide = true)]
    Attempt(Box<engines::AttemptArguments>),
    /// Write the manual pages into a directory
    #[command(hide = true)]
    Manual(manual::ManualArguments),
}

/// Runs the command with these words, the program's name first, and returns its exit code. What was printed is flushed.
///
/// `launcher` are the words that start the same command in another process, if that is not the file of this process
/// alone. The first call in a process sets them.
///
/// It may also end the process, as on Ctrl-C.
pub fn run(words: impl IntoIterator<Item = OsString>, launcher: Vec<OsString>) -> u8 {
    again::set_launcher(launcher);
    let exit = command(words);
    // Only the `main` of a Rust program flushes by itself. An error was already reported by the code that prints
    // results.
    let _ = io::stdout().flush();
    exit as u8
}

fn command(words: impl IntoIterator<Item = OsString>) -> Exit {
    // Without this, a file that reaches its size limit ends the process. With it, the call that writes the file returns
    // an error. If this fails, the process keeps the default.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let invocation = Invocation::new(words);
    let words = options::expand(help::with_command(invocation.words(), &Cli::command));
    if let Some(mistake) = help::mistaken(&words) {
        return refuse(&mistake);
    }
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(answer) => return explain(&answer, &words),
    };
    let outcome = match cli.command {
        Command::Benchmark(arguments) => benchmark::run(*arguments, &invocation),
        Command::Export(arguments) => export::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments, &invocation),
        Command::Reduce(arguments) => reduce::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments, &invocation),
        Command::Report(arguments) => report::run(&arguments),
        Command::Precision(arguments) => precision::run(&arguments),
        Command::Debug(arguments) => debug::run(&arguments, &invocation),
        Command::Dap(arguments) => debug::dap::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Torch(arguments) => torch::run(&arguments),
        Command::Dump(arguments) => capture::dump(&arguments),
        Command::Profile(arguments) => capture::profile(&arguments),
        Command::Engines(arguments) => engines::run(&arguments),
        Command::Machine(arguments) => machine::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments, &Cli::command()),
        Command::VendorEnv(arguments) => vendor_env::run(&arguments),
        Command::Attempt(arguments) => engines::attempt(&arguments),
        Command::Manual(arguments) => manual::run(&arguments, Cli::command()),
    };
    match outcome {
        Ok(exit) => {
            isolate::done();
            exit
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit
        }
    }
}

/// Prints the help, the version, or what is wrong with the command line.
fn explain(answer: &clap::Error, words: &[OsString]) -> Exit {
    if let Some(refusal) = help::refusal(answer, words, &Cli::command()) {
        return refuse(&refusal);
    }
    let written = match help::asked(answer, words, &Cli::command()) {
        Some(help) if answer.use_stderr() => io::stderr().write_all(help.as_bytes()),
        Some(help) => io::stdout().write_all(help.as_bytes()),
        None => answer.print(),
    };
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            // If stderr is closed, too, only the exit code is left.
            let _ = writeln!(io::stderr(), "error: the help cannot be printed: {error}");
            Exit::Failed
        }
        _ if answer.use_stderr() => Exit::WrongUse,
        _ => Exit::Done,
    }
}

fn refuse(message: &str) -> Exit {
    eprintln!("error: {}", opscope::text::shown_text(message));
    Exit::WrongUse
}
