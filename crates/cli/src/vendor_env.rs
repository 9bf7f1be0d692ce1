//! `opscope vendor-env`: runs a program whose libraries with vendors' names are opscope's.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use opscope::text::shell_word;

use crate::exit::{Exit, Failure};
use crate::terminal::print;

/// Where the loader looks for libraries first.
const VARIABLE: &str = "LD_LIBRARY_PATH";

/// The libraries that the loader loads before all others.
const PRELOADED: &str = "LD_PRELOAD";

/// The variable, with its value, that gives a program a stand-in: a process that cuda-gdb can trace.
const STAND_IN: (&str, &str) = ("OPSCOPE_CUDA_GDB", "1");

/// The path of the driver's library for cuda-gdb, below the directory of the libraries.
const DRIVER: &str = "opscope/cudbg/libcuda.so.1";

/// The arguments of `opscope vendor-env`.
#[derive(Debug, Args)]
pub struct VendorEnvArguments {
    /// Run the program so that NVIDIA's cuda-gdb shows its operators as kernels; the program needs a debug server
    #[arg(long, requires = "program")]
    cuda_gdb: bool,
    /// The program and its arguments; without it, the variables are printed
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// Runs the command. It returns only if no program was started.
pub fn run(arguments: &VendorEnvArguments) -> Result<Exit, Failure> {
    let directory = directory()?;
    let path = in_front(VARIABLE, directory.clone())?;
    let Some((program, rest)) = arguments.program.split_first() else {
        return print(format!("export {VARIABLE}={}", shell_word(path))).map(|()| Exit::Done);
    };
    let mut command = Command::new(program);
    command.args(rest).env(VARIABLE, path);
    if arguments.cuda_gdb {
        let driver = directory.join(DRIVER);
        if !driver.is_file() {
            return Err(Failure::failed(format!(
                "{} is missing; scripts/install PREFIX installs it",
                driver.display()
            )));
        }
        command.env(PRELOADED, in_front(PRELOADED, driver)?).env(STAND_IN.0, STAND_IN.1);
    }
    let error = command.exec();
    Err(Failure::failed(format!("{} cannot be started: {error}", program.display())))
}

/// Returns the value of a variable with a path added in front.
fn in_front(variable: &str, path: PathBuf) -> Result<OsString, Failure> {
    let earlier = env::var_os(variable).filter(|value| !value.is_empty());
    let places = [path].into_iter().chain(earlier.iter().flat_map(env::split_paths));
    env::join_paths(places).map_err(Failure::failed)
}

/// Returns the directory of this installation's libraries.
fn directory() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(Failure::failed)?;
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let places = [prefix.join("lib/opscope/vendor"), prefix.join("lib")];
    // If they were installed under their vendors' names, they are in `lib`, where tools look.
    let has_one = |place: &&PathBuf| NAMES.iter().any(|name| place.join(name).exists());
    places.iter().find(has_one).cloned().ok_or_else(|| {
        let [vendor, lib] = places.each_ref().map(|place| place.display());
        Failure::failed(format!(
            "no library with a vendor's name is in {vendor} or {lib}; scripts/install PREFIX installs them"
        ))
    })
}

/// One library of each vendor's interface.
const NAMES: [&str; 5] =
    ["librocprofiler-sdk.so.1", "librocprofiler64.so.2", "libroctx64.so.4", "libascendcl.so", "libcudadebugger.so.1"];
