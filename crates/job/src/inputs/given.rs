//! Which of the given files belongs to which input.

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use opscope_onnx::Graph;
use opscope_tensor::npz::Npz;
use opscope_text::file_text;

use super::shapes::describe;
use super::{InputError, InputFileError};

/// Files, directories and archives as they are given, before the model is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenFiles {
    /// One list for each `--input`. An entry is `PATH`, or `NAME=PATH` for the input of that name. The entries after
    /// that one in the list are for the same input.
    pub lists: Vec<Vec<PathBuf>>,
    /// Whether they are in the order of the inputs, whatever their names are.
    pub in_order: bool,
}

impl From<Vec<PathBuf>> for GivenFiles {
    fn from(list: Vec<PathBuf>) -> Self {
        Self { lists: vec![list], in_order: false }
    }
}

/// A file, or an array of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    File(PathBuf),
    Array { archive: PathBuf, name: String },
}

impl Source {
    /// Returns the file that contains it.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Array { archive, .. } => archive,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Array { archive, name } => write!(f, "{}[{name}]", archive.display()),
        }
    }
}

/// The sources of every input.
#[derive(Debug, Default)]
pub(super) struct Assigned {
    /// The sources of every input, one for each run or part of one.
    pub sources: Vec<Vec<Source>>,
    /// The given files and arrays that are for no input.
    pub unused: Vec<String>,
    /// A sentence for each assignment that may not be intended.
    pub warnings: Vec<String>,
}

impl GivenFiles {
    /// Returns the command-line options that give the inputs of a graph these files. They do not depend on the other
    /// words of a command line.
    pub fn words(&self, graph: &Graph) -> Vec<String> {
        let names: Vec<&str> = graph.inputs.iter().map(|&input| graph.value(input).name.as_str()).collect();
        let joined = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(",");
        let all = self.lists.concat();
        let are_named = !self.in_order || all.iter().any(|path| is_archive(path) || named(&names, path).is_some());
        if are_named || names.len() < 2 || !all.len().is_multiple_of(names.len()) {
            return self.lists.iter().map(|list| format!("--input={}", joined(list))).collect();
        }
        let of_each = all.chunks(all.len() / names.len());
        names.iter().zip(of_each).map(|(name, paths)| format!("--input={name}={}", joined(paths))).collect()
    }

    /// Finds the sources of every input.
    pub(super) fn assign(&self, graph: &Graph) -> Result<Assigned, InputError> {
        let names: Vec<&str> = graph.inputs.iter().map(|&input| graph.value(input).name.as_str()).collect();
        let mut sources = vec![Vec::new(); names.len()];
        let mut unnamed = Vec::new();
        for list in &self.lists {
            let mut current = None;
            for word in list {
                let path = match named(&names, word) {
                    Some((slot, path)) => {
                        current = Some(slot);
                        path
                    }
                    None => {
                        check_name(graph, word)?;
                        word.as_path()
                    }
                };
                match current {
                    Some(slot) => sources[slot].extend(sources_of(path, names[slot])?),
                    None => unnamed.push(path.to_owned()),
                }
            }
        }
        let open: Vec<usize> = (0..names.len()).filter(|&slot| sources[slot].is_empty()).collect();
        let mut assigned = Assigned { sources, ..Assigned::default() };
        let open_names: Vec<&str> = open.iter().map(|&slot| names[slot]).collect();
        match (&open[..], &unnamed[..]) {
            ([], []) => {}
            (_, []) => return Err(InputError::Unfed { names: open_names.join(", ") }),
            _ => {
                let unnamed = with_archives(&unnamed)?;
                for (slot, found) in open.iter().zip(assigned.take_unnamed(&open_names, &unnamed, self.in_order)?) {
                    assigned.sources[*slot] = found;
                }
            }
        }
        let counts: Vec<usize> = assigned.sources.iter().map(Vec::len).collect();
        if let Some(other) = counts.iter().position(|&count| count != counts[0]) {
            return Err(InputError::Uneven {
                first: names[0].to_owned(),
                first_count: counts[0],
                other: names[other].to_owned(),
                other_count: counts[other],
            });
        }
        Ok(assigned)
    }
}

impl Assigned {
    /// Assigns files, directories or archives that were given without an input's name to the inputs with these `names`.
    /// Returns the sources of each of them.
    fn take_unnamed(
        &mut self,
        names: &[&str],
        given: &[PathBuf],
        in_order: bool,
    ) -> Result<Vec<Vec<Source>>, InputError> {
        let count = |what| InputError::Count { inputs: names.len(), names: names.join(", "), given: given.len(), what };
        let directories = given.iter().filter(|path| path.is_dir()).count();
        let archives = given.iter().filter(|path| is_archive(path)).count();
        if [directories, archives].iter().any(|&some| some != 0 && some != given.len()) {
            return Err(InputError::Mixed);
        }
        if names.is_empty() {
            return Err(count(if directories > 0 { "directory" } else { "file" }));
        }
        if archives > 0 {
            return self.of_archives(names, given);
        }
        if directories > 0 {
            if !in_order && let Some(found) = self.of_named_entries(names, given)? {
                return Ok(found);
            }
            if given.len() != names.len() {
                return Err(missing_entry(names, given).unwrap_or_else(|| count("directory")));
            }
        } else if !given.len().is_multiple_of(names.len()) {
            return Err(count("file"));
        }
        let each = given.len() / names.len();
        let owner = |path: &PathBuf| names.iter().position(|name| stands_for(path, name));
        let owners: Vec<Option<usize>> = given.iter().map(owner).collect();
        let is_each_once = each == 1 && (0..names.len()).all(|slot| owners.contains(&Some(slot)));
        let mut found = vec![Vec::new(); names.len()];
        for (at, path) in given.iter().enumerate() {
            let slot = match owners[at] {
                Some(owner) if is_each_once && !in_order => owner,
                _ => at / each,
            };
            if let Some(other) = owners[at].filter(|&other| other != slot) {
                let (path, input, other) = (path.display(), names[slot], names[other]);
                self.warnings.push(format!(
                    "{path} has the name of input '{other}', and its place gives it to input '{input}'; \
                     --input {other}={path} says which is meant"
                ));
            }
            found[slot].extend(sources_of(path, names[slot])?);
        }
        Ok(found)
    }

    /// Returns the sources in archives. Every archive has one array for each input: under the input's name, or in order
    /// if the arrays have no names (`arr_0`, `arr_1`).
    fn of_archives(&mut self, names: &[&str], given: &[PathBuf]) -> Result<Vec<Vec<Source>>, InputError> {
        let mut found = vec![Vec::new(); names.len()];
        for path in given {
            let npz = open_archive(path)?;
            let mut arrays: Vec<&str> = npz.names().collect();
            let number = |name: &str| name.strip_prefix("arr_").and_then(|number| number.parse::<usize>().ok());
            let are_numbered = arrays.len() == names.len() && arrays.iter().all(|name| number(name).is_some());
            if are_numbered {
                arrays.sort_by_key(|name| number(name));
            }
            for (slot, name) in names.iter().enumerate() {
                let array = match are_numbered && !arrays.contains(name) {
                    true => Some(arrays[slot]),
                    false => arrays.iter().copied().find(|array| is_name(array, name)),
                };
                let Some(array) = array else {
                    let (holds, names) = (shown(arrays.iter().copied()), names.join(", "));
                    return Err(InputError::NotInIt { path: path.clone(), input: (*name).to_owned(), holds, names });
                };
                found[slot].push(Source::Array { archive: path.clone(), name: array.to_owned() });
            }
            let is_used = |array: &&str| are_numbered || names.iter().any(|name| is_name(array, name));
            let unused = arrays.iter().filter(|array| !is_used(array));
            self.unused.extend(unused.map(|array| format!("{}[{array}]", path.display())));
        }
        Ok(found)
    }

    /// Returns the sources in directories. Every directory has an entry for each input under its name; returns `None`
    /// if one lacks an entry.
    fn of_named_entries(&mut self, names: &[&str], given: &[PathBuf]) -> Result<Option<Vec<Vec<Source>>>, InputError> {
        let mut found = vec![Vec::new(); names.len()];
        let mut unused = Vec::new();
        for directory in given {
            let entries = entries(directory)?;
            let of_names: Vec<Option<&PathBuf>> = names.iter().map(|name| entry_of(&entries, name)).collect();
            if of_names.iter().any(Option::is_none) {
                return Ok(None);
            }
            for (slot, entry) in of_names.iter().enumerate() {
                for entry in entry.iter() {
                    found[slot].extend(sources_of(entry, names[slot])?);
                }
            }
            let others = entries.iter().filter(|entry| !of_names.contains(&Some(entry)));
            unused.extend(others.map(|entry| entry.display().to_string()));
        }
        self.unused.extend(unused);
        Ok(Some(found))
    }
}

/// Splits `NAME=PATH` where `NAME` is an input. If a file exists under the whole word, the word is that file, unless
/// there is also a file after the `=`.
fn named<'a>(names: &[&str], word: &'a Path) -> Option<(usize, &'a Path)> {
    let bytes = word.as_os_str().as_bytes();
    let equals = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'=').map(|(at, _)| at);
    let mut split = equals.filter_map(|at| {
        let slot = names.iter().position(|name| name.as_bytes() == &bytes[..at])?;
        Some((slot, Path::new(std::ffi::OsStr::from_bytes(&bytes[at + 1..]))))
    });
    split.find(|(_, path)| path.exists() || !word.exists())
}

/// Returns an error for `NAME=PATH` if `NAME` is not an input.
fn check_name(graph: &Graph, word: &Path) -> Result<(), InputError> {
    let text = word.to_string_lossy();
    match text.split_once('=') {
        Some((name, path)) if !name.contains('/') && !path.is_empty() && !word.exists() => {
            Err(InputError::UnknownInput { name: name.to_owned(), inputs: describe(graph) })
        }
        _ => Ok(()),
    }
}

/// Returns the sources in a path that is given for one input.
fn sources_of(path: &Path, input: &str) -> Result<Vec<Source>, InputError> {
    if path.is_dir() {
        return list(path);
    }
    if !is_archive(path) {
        return Ok(vec![Source::File(path.to_owned())]);
    }
    let npz = open_archive(path)?;
    let arrays: Vec<&str> = npz.names().collect();
    let array = match arrays[..] {
        [only] => Some(only),
        _ => arrays.iter().copied().find(|array| is_name(array, input)),
    };
    let array = array.ok_or_else(|| InputError::NotInIt {
        path: path.to_owned(),
        input: input.to_owned(),
        holds: shown(arrays.iter().copied()),
        names: input.to_owned(),
    })?;
    Ok(vec![Source::Array { archive: path.to_owned(), name: array.to_owned() }])
}

fn open_archive(path: &Path) -> Result<Npz, InputError> {
    Npz::open(path).map_err(InputFileError::of(path))
}

fn missing_entry(names: &[&str], given: &[PathBuf]) -> Option<InputError> {
    given.iter().find_map(|directory| {
        let entries = entries(directory).ok()?;
        let input = names.iter().find(|name| entry_of(&entries, name).is_none())?;
        let holds = shown(entries.iter().map(|entry| entry.file_name().unwrap_or_default().to_string_lossy()));
        let (path, names) = (directory.clone(), names.join(", "));
        Some(InputError::NotInIt { path, input: (*input).to_owned(), holds, names })
    })
}

fn shown(names: impl Iterator<Item = impl AsRef<str>>) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = names.map(|name| name.as_ref().to_owned()).collect();
    match names.len() {
        0 => "nothing".to_owned(),
        1..=MOST => names.join(", "),
        more => format!("{}, and {} more", names[..MOST].join(", "), more - MOST),
    }
}

/// Returns the entry of a directory for an input: a file takes precedence over a directory, and `.npy` over `.bin`.
fn entry_of<'a>(entries: &'a [PathBuf], input: &str) -> Option<&'a PathBuf> {
    let rank = |path: &PathBuf| (path.is_dir(), path.extension().is_none_or(|extension| extension != "npy"));
    entries.iter().filter(|entry| stands_for(entry, input)).min_by_key(|entry| rank(entry))
}

/// Returns whether a file or directory has the name of an input.
fn stands_for(path: &Path, input: &str) -> bool {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.is_some_and(|name| is_name(&name.to_string_lossy(), input))
}

/// Returns whether a text is the name of an input, or that name in the form that a file name can have.
fn is_name(text: &str, input: &str) -> bool {
    text == input || (!text.is_empty() && text == file_text(input))
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}

fn is_data(path: &Path) -> bool {
    let is_one = |extension: &std::ffi::OsStr| ["npy", "bin"].iter().any(|one| extension.eq_ignore_ascii_case(one));
    path.extension().is_some_and(is_one) && path.is_file()
}

/// Returns these paths, with the archives in a directory in its place if it holds nothing else.
fn with_archives(given: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let mut found = Vec::new();
    for path in given {
        let archives =
            if path.is_dir() { listed(path, |entry| is_archive(entry) && entry.is_file())? } else { Vec::new() };
        match archives.is_empty() || !entries(path)?.is_empty() {
            true => found.push(path.clone()),
            false => found.extend(archives),
        }
    }
    Ok(found)
}

/// Returns the data files and the directories in a directory, with `image2` before `image10`.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, InputError> {
    listed(directory, |path| is_data(path) || path.is_dir())
}

fn listed(directory: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = InputFileError::of::<std::io::Error>(directory);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(&unreadable)? {
        let path = entry.map_err(&unreadable)?.path();
        if is_wanted(&path) {
            found.push(path);
        }
    }
    found.sort_by_cached_key(|path| natural(&path.file_name().unwrap_or_default().to_string_lossy()));
    Ok(found)
}

/// Returns the `.npy` and `.bin` files of a directory.
fn list(directory: &Path) -> Result<Vec<Source>, InputError> {
    let files = entries(directory)?.into_iter().filter(|path| is_data(path)).map(Source::File);
    let files: Vec<Source> = files.collect();
    if files.is_empty() { Err(InputError::EmptyDirectory(directory.to_owned())) } else { Ok(files) }
}

/// Returns a key by which numbers in names sort by their value.
fn natural(name: &str) -> Vec<(String, u128)> {
    let mut parts = vec![(String::new(), 0u128)];
    let mut in_number = false;
    for c in name.chars() {
        let digit = c.to_digit(10);
        if digit.is_none() && in_number {
            parts.push((String::new(), 0));
        }
        in_number = digit.is_some();
        let last = parts.last_mut().expect("there is always a part");
        match digit {
            Some(digit) => last.1 = last.1.saturating_mul(10).saturating_add(u128::from(digit)),
            None => last.0.push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_file_names_sort_by_value() {
        let mut names = vec!["image10.npy", "image2.npy", "a.npy", "image1.npy"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a.npy", "image1.npy", "image2.npy", "image10.npy"]);
    }
}
