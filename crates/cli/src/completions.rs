//! `opscope completions`: a script that makes a shell complete commands, options and values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::help::own;
use crate::terminal::print_as_is;

/// The shells whose scripts are tested.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// The arguments of `opscope completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell that reads the script
    #[arg(value_parser = shell())]
    shell: Shell,
}

fn shell() -> impl TypedValueParser<Value = Shell> {
    PossibleValuesParser::new(SHELLS).map(|name| name.parse().expect("clap_complete has these shells"))
}

/// Runs the command for the command line `opscope`.
pub fn run(arguments: &CompletionsArguments, opscope: &Command) -> Result<Exit, Failure> {
    // Otherwise the scripts would also offer hidden commands, and options of other tools.
    let mut shown = own(opscope);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut shown, "opscope", &mut script);
    print_as_is(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Done)
}
