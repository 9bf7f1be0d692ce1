use std::ffi::CStr;
use std::fs::File;
use std::path::Path;

use object::read::{Object, ObjectSymbol, ReadCache};

/// Returns whether a library exports a symbol of its own under this name. Reads the file and loads nothing, so no code of the
/// library is executed.
///
/// # Errors
/// Returns the reason if the file cannot be read, or is no library.
pub(super) fn exports(path: &Path, name: &CStr) -> Result<bool, String> {
    let cache = ReadCache::new(File::open(path).map_err(|error| error.to_string())?);
    let file = object::File::parse(&cache).map_err(|error| error.to_string())?;
    let is_wanted = |symbol: object::Symbol<'_, '_, &ReadCache<File>>| {
        symbol.is_definition() && symbol.is_global() && symbol.name_bytes() == Ok(name.to_bytes())
    };
    Ok(file.dynamic_symbols().any(is_wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("librocprofiler-sdk.so.1");
        std::fs::write(&path, "/* GNU ld script */ INPUT(x)").expect("the disk has room");
        assert!(exports(&path, c"malloc").is_err());
        assert!(exports(directory.path(), c"malloc").is_err());
        std::fs::write(&path, "").expect("the disk has room");
        assert!(exports(&path, c"malloc").is_err());
    }

    #[test]
    fn an_import_is_no_export() {
        // This program imports malloc, or takes it from a library that does, and defines no such function.
        let program = std::env::current_exe().expect("this is a program");
        assert_eq!(exports(&program, c"opscope_attach_producer"), Ok(false));
        assert_eq!(exports(&program, c"malloc"), Ok(false));
    }
}
