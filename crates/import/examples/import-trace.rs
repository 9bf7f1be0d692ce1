//! Imports a trace: `import-trace TRACE DIRECTORY`.

use std::path::Path;
use std::process::ExitCode;

use opscope_import::{TraceOptions, import_trace};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, trace, directory] = &arguments[..] else {
        eprintln!("usage: import-trace TRACE DIRECTORY");
        return ExitCode::from(2);
    };
    match import_trace(Path::new(trace), Path::new(directory), &TraceOptions::default()) {
        Ok(imported) => {
            println!("{imported:#?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
