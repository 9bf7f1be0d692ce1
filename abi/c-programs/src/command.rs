//! Compilers, and other commands that must succeed.

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

/// The language that a program is compiled as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C of 2011.
    C11,
    /// C++ of 2017.
    Cxx17,
}

impl Language {
    /// Both languages. The tests' C files are valid C++, too.
    pub const ALL: [Self; 2] = [Self::C11, Self::Cxx17];

    /// Returns its compiler, for which every warning is an error. It compiles every file as this language, whatever the
    /// file's name, until the option `-x none`.
    pub fn compiler(self) -> Command {
        let (compiler, standard) = match self {
            Self::C11 => ("cc", ["-x", "c", "-std=c11"]),
            Self::Cxx17 => ("c++", ["-x", "c++", "-std=c++17"]),
        };
        let mut command = Command::new(compiler);
        command.args(standard).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1"]);
        command
    }
}
