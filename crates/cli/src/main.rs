//! The `opscope` command: parse, resolve, call the façade, print.

#![forbid(unsafe_code)]

mod benchmark;
mod exit;
mod export;
mod options;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

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
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong use or configuration, 3 done but data incomplete.";

fn main() -> ExitCode {
    let cli = Cli::parse_from(options::expand(std::env::args_os()));
    let outcome = match cli.command {
        Command::Benchmark(arguments) => benchmark::run(*arguments),
        Command::Export(arguments) => export::run(&arguments),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit.into()
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
