//! Commands that must succeed.

use std::process::{Command, Output};

/// Runs a command, which must succeed. Returns what it printed.
#[track_caller]
pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}\n{}\n{stdout}\n{stderr}", output.status);
    output
}

/// Runs a command, which must succeed. Returns what it wrote to its standard output.
#[track_caller]
pub fn output_of(command: &mut Command) -> String {
    String::from_utf8(succeeds(command).stdout).expect("UTF-8")
}
