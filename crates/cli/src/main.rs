//! The program `opscope`: the command of this crate's library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(opscope_cli::run(std::env::args_os(), Vec::new()))
}
