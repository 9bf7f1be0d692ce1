use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use opscope_files::open_regular;
use serde::Deserialize;

use crate::sinks::ascend::MAPPING;
use crate::sinks::directory::{HISTOGRAMS, STATISTICS};
use crate::stored::LONGEST_LINE;
use crate::{INDEX, MANIFEST, StoredDump};

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
