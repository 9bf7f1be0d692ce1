use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

use object::Architecture;
use object::read::{Object, ObjectKind, ObjectSymbol, ReadCache};
use opscope_files::open_regular;

/// Why a file is no library that a process could load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoLibrary {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It does not have the format of libraries.
    #[error(transparent)]
    Format(#[from] object::Error),
    /// It is an object file, or a program.
    #[error("it is an object file, or a program")]
    Kind,
    /// It is made for another processor.
    #[error("it is made for another processor")]
    Processor,
}

/// Returns whether a library itself exports a symbol with this name. Reads the file without loading it, so no code of
/// the library is executed.
///
/// # Errors
/// Returns the reason if the file cannot be read, or is not a library.
pub fn exports(path: &Path, name: &CStr) -> Result<bool, NoLibrary> {
    let cache = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&cache)?;
    let is_wanted = |symbol: object::Symbol<'_, '_, &ReadCache<File>>| {
        symbol.is_definition() && symbol.is_global() && symbol.name_bytes() == Ok(name.to_bytes())
    };
    Ok(file.dynamic_symbols().any(is_wanted))
}

/// Checks that a file is a shared library for this processor. Reads the file without loading it.
///
/// # Errors
/// Returns the reason if it is not.
pub(super) fn check_library(path: &Path) -> Result<(), NoLibrary> {
    let cache = ReadCache::new(open_regular(path)?);
    let file = object::File::parse(&cache)?;
    if file.kind() != ObjectKind::Dynamic {
        return Err(NoLibrary::Kind);
    }
    let here = match () {
        () if cfg!(target_arch = "x86_64") => Architecture::X86_64,
        () if cfg!(target_arch = "aarch64") => Architecture::Aarch64,
        () => return Ok(()),
    };
    if file.architecture() == here { Ok(()) } else { Err(NoLibrary::Processor) }
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
    fn a_shared_library_is_told_from_other_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("libtool.so");
        std::fs::write(&path, "no library").expect("the disk has room");
        assert!(check_library(&path).is_err());
        let error = check_library(directory.path()).expect_err("a directory");
        assert_eq!(error.to_string(), "it is not a regular file but a directory");
        // The C library is such a library.
        let map = std::fs::read_to_string("/proc/self/maps").expect("a list of what is mapped");
        let libc = map.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("libc.so"));
        let libc = Path::new(libc.expect("this program has the C library"));
        check_library(libc).expect("a library");
        // The machine number in its header.
        let mut other = std::fs::read(libc).expect("a file");
        other[18..20].copy_from_slice(&8_u16.to_le_bytes());
        std::fs::write(&path, other).expect("the disk has room");
        assert!(matches!(check_library(&path), Err(NoLibrary::Processor)));
    }

    #[test]
    fn an_import_is_no_export() {
        // This program imports malloc, or takes it from a library that does; it does not define such a function.
        let program = std::env::current_exe().expect("this is a program");
        assert!(!exports(&program, c"opscope_attach_producer").expect("a program"));
        assert!(!exports(&program, c"malloc").expect("a program"));
    }
}
