use std::fs;
use std::path::{Path, PathBuf};

use crate::DumpError;

/// The maximum depth. AscendCL's directories lie four levels below that of a dump.
const DEEPEST: usize = 8;

/// The maximum number of files, which is more than any dump has.
const MOST_FILES: usize = 1_000_000;

/// Returns the files below a directory, sorted. Links are not followed, because they could lead out of it.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, DumpError> {
    let mut found = Vec::new();
    let mut directories = vec![(root.to_path_buf(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let failed = || DumpError::io(&directory, "it cannot be listed");
        for entry in fs::read_dir(&directory).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let kind = entry.file_type().map_err(failed())?;
            if kind.is_dir() && depth < DEEPEST {
                directories.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                found.push(entry.path());
            }
            if found.len() > MOST_FILES {
                return Err(DumpError::file(&directory, format!("there are more than {MOST_FILES} files")));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_dump_has_a_million_files_at_most() {
        // A directory with this many files is too large for a test.
        assert_eq!(super::MOST_FILES, 1_000_000);
    }
}
