//! Imports the dump of another tool: `import-dump SOURCE DIRECTORY`. Prints what became of it as JSON.

use std::path::Path;
use std::process::ExitCode;

use opscope_import::{DumpOptions, import_dump};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [source, directory] = arguments.as_slice() else {
        eprintln!("usage: import-dump SOURCE DIRECTORY");
        return ExitCode::from(2);
    };
    match import_dump(Path::new(source), Path::new(directory), &DumpOptions::default()) {
        Ok(imported) => {
            let result = serde_json::json!({
                "format": imported.format,
                "tensors": imported.tensors,
                "bytes": imported.bytes,
                "statistics_only": imported.statistics_only,
                "missing": imported.missing,
                "complete": imported.complete,
                "directories": imported.directories,
            });
            println!("{result}");
            ExitCode::from(if imported.complete { 0 } else { 3 })
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
