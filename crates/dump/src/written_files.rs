//! The files of a dump's directory that opscope wrote, and closing a dump in place of a process that ended before it
//! could.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use opscope_files::{PART, open_regular, open_to_append};
use serde::Deserialize;

use crate::manifest::RawEntry;
use crate::sinks::ascend::{AscendFile, MAPPING};
use crate::sinks::directory::{HISTOGRAMS, STATISTICS};
use crate::sinks::manifest_file::ManifestFile;
use crate::stored::{LONGEST_LINE, manifest};
use crate::{DumpError, INDEX, MANIFEST, StoredDump, StoredOrigin, StoredTensor};

/// The files of a dump's directory that opscope wrote, so that a program that removes the dump removes nothing else.
#[derive(Debug)]
pub struct WrittenFiles(HashSet<PathBuf>);

/// The file in a line of the index.
#[derive(Deserialize)]
struct File {
    file: Option<PathBuf>,
}

impl WrittenFiles {
    /// Finds these files in a dump's directory.
    pub fn of(root: &Path) -> Self {
        let own = [INDEX, MANIFEST, MAPPING, HISTOGRAMS, STATISTICS].map(PathBuf::from);
        if let Ok(index) = open_regular(&root.join(INDEX)) {
            let mut index = BufReader::new(index);
            let lines = std::iter::from_fn(|| {
                let mut line = Vec::new();
                let read = index.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).ok()?;
                // A file with a longer line is not an index.
                (read > 0 && (read as u64) < LONGEST_LINE).then_some(line)
            });
            // The last line may be incomplete, and an incomplete file has no line.
            let files = lines.filter_map(|line| serde_json::from_slice::<File>(&line).ok()?.file);
            return Self(files.chain(own).collect());
        }
        // A dump without tensors has only a manifest.
        let Ok(dump) = StoredDump::open(root) else { return Self(own.into()) };
        let files = dump.tensors.iter().filter_map(|tensor| Some(tensor.file()?.strip_prefix(root).ok()?.to_owned()));
        Self(files.chain(own).collect())
    }

    /// Returns whether the file with this path, relative to the directory, is one of them. This includes incomplete
    /// files, and a table that was exported from the dump.
    pub fn contains(&self, file: &Path) -> bool {
        let ending = file.extension().and_then(|ending| ending.to_str());
        let is_table = ending == Some("parquet") && file.components().count() == 1;
        is_table || ending == Some("partial") || self.0.contains(file)
    }
}

/// The remains of a dump that its process did not close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    /// The number of complete tensors.
    pub tensors: u64,
    /// The last complete tensor.
    pub last: Option<StoredOrigin>,
}

/// Closes a dump whose process ended early: removes incomplete files and lines, and writes the manifest, with `reason`
/// as the reason why the dump is not complete. A dump that was closed stays as it is.
///
/// It is not known how its runs ended, so the manifest lists none.
///
/// # Errors
/// Returns an error if there is no dump, or a file cannot be read, removed or written.
pub fn close_abandoned(root: &Path, reason: &str) -> Result<Abandoned, DumpError> {
    let failed = |path: &Path| DumpError::io(path, "it could not be closed");
    let root = &root.canonicalize().map_err(failed(root))?;
    let manifest = manifest::read(root).map_err(|error| DumpError::file(root, error))?;
    let manifest = manifest.ok_or_else(|| DumpError::file(root, format!("there is no {MANIFEST}")))?;
    let is_open = manifest.is_open();
    let files = manifest::files(root)?;
    if is_open {
        for path in files.iter().filter(|path| has_lines(path)) {
            cut_last_line(path).map_err(failed(path))?;
        }
    }
    // An empty dump cannot be opened.
    let dump = StoredDump::open(root).unwrap_or_default();
    let whole: Vec<&StoredTensor> =
        dump.tensors.iter().filter(|tensor| tensor.file().is_some() || tensor.is_summary()).collect();
    let last = whole.last().map(|tensor| tensor.place.clone());
    if is_open {
        let listed: HashSet<&Path> = whole.iter().filter_map(|tensor| tensor.file()).collect();
        for path in files.iter().filter(|path| !listed.contains(&***path) && is_cut(path, root)) {
            fs::remove_file(path).map_err(failed(path))?;
        }
        let mut file = ManifestFile::of(root, manifest);
        file.manifest.tensors = whole.len() as u64;
        file.manifest.bytes = whole.iter().map(|tensor| tensor.bytes).sum();
        file.manifest.raw = whole.iter().filter_map(|tensor| raw(root, tensor)).collect();
        file.manifest.errors = vec![reason.to_owned()];
        file.manifest.errors.extend(last.as_ref().map(|last| format!("the last tensor that is whole is {last}")));
        file.finish().map_err(failed(root))?;
    }
    Ok(Abandoned { tensors: whole.len() as u64, last })
}

/// Returns whether a file is appended to line by line.
fn has_lines(path: &Path) -> bool {
    [INDEX, STATISTICS, HISTOGRAMS, MAPPING].iter().any(|name| path.file_name().is_some_and(|found| found == *name))
}

/// Removes everything after the last complete line.
fn cut_last_line(path: &Path) -> io::Result<()> {
    const WINDOW: u64 = 4096;
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(WINDOW);
        let mut bytes = vec![0; (end - start) as usize];
        file.read_exact_at(&mut bytes, start)?;
        if let Some(at) = bytes.iter().rposition(|&byte| byte == b'\n') {
            end = start + at as u64 + 1;
            break;
        }
        if length - start > LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its last line is longer than any of a dump"));
        }
        end = start;
    }
    if end < length { open_to_append(path)?.set_len(end) } else { Ok(()) }
}

/// Returns whether a file that holds no complete tensor was being written when the process ended.
fn is_cut(path: &Path, root: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.parent() == Some(root) {
        // This is the manifest while it is being replaced.
        return name.ends_with(PART);
    }
    // The name of a `.partial` file says that it is incomplete, so it may stay.
    !has_lines(path) && !name.ends_with(".partial") && AscendFile::open(path).is_err()
}

/// Returns the manifest's entry for a tensor in a `.bin` file.
fn raw(root: &Path, tensor: &StoredTensor) -> Option<RawEntry> {
    let file = tensor.file().filter(|file| file.extension().is_some_and(|extension| extension == "bin"))?;
    let file: PathBuf = file.strip_prefix(root).ok()?.to_owned();
    Some(RawEntry {
        file: file.to_string_lossy().into_owned(),
        dtype: tensor.dtype?,
        value: tensor.place.value.clone().unwrap_or_default(),
    })
}
