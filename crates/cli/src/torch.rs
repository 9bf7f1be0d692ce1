//! `opscope torch`: watches PyTorch programs. The package for Python has this command; this program says so.

use std::ffi::OsString;

use clap::Args;

use crate::exit::{Exit, Failure};

/// The arguments of `opscope torch`.
#[derive(Debug, Args)]
pub struct TorchArguments {
    /// `dump`, `profile`, `watch` or `debug` with its options, `--`, and the program with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Refuses the command: what watches a PyTorch program is part of the package for Python, which has a command of its
/// own.
pub fn run(arguments: &TorchArguments) -> Result<Exit, Failure> {
    let what = arguments.program.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    Err(Failure::wrong_use(format!(
        "`opscope torch {what}` is a command of the package for Python, and this is the program without it; `pip install opscope` \
         brings both"
    )))
}
