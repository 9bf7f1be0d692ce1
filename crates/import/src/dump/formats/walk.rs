//! The files below a directory.

use std::fs;
use std::path::{Path, PathBuf};

/// The most files that are looked at.
const MOST_FILES: usize = 1 << 20;

/// How deep files may lie.
const DEEPEST: usize = 6;

/// Returns the regular files below a directory, in the order of their names, with their paths below it. Follows no link.
pub(super) fn files(root: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_owned(), Vec::new())];
    while let Some((directory, way)) = waiting.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let mut way: Vec<String> = way.clone();
            way.push(entry.file_name().to_string_lossy().into_owned());
            if kind.is_dir() && way.len() < DEEPEST {
                waiting.push((entry.path(), way));
            } else if kind.is_file() {
                found.push((entry.path(), way));
            }
            if found.len() + waiting.len() > MOST_FILES {
                waiting.clear();
                break;
            }
        }
    }
    found.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
    found
}

/// Returns the number in a name such as `step3`, `step_3` or `step-3`.
pub(super) fn numbered(name: &str, word: &str) -> Option<u64> {
    let number = name.strip_prefix(word)?;
    number.strip_prefix(['_', '-']).unwrap_or(number).parse().ok()
}

/// Returns the number of the rank that a path below the dump's directory has.
pub(super) fn rank(way: &[String]) -> Option<u64> {
    way.iter().find_map(|part| numbered(part, "rank"))
}

/// Returns the number of the step that a path below the dump's directory has.
pub(super) fn step(way: &[String]) -> Option<u64> {
    way.iter().find_map(|part| ["step", "iteration", "iter"].iter().find_map(|word| numbered(part, word)))
}
