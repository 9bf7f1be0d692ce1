use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope::dump::ascend::{FileName, MAPPING};
use opscope::files::open_to_append;

use super::statistics::STATISTICS;

/// Writes dump files, chunk by chunk. A file gets its final name once it is complete.
#[derive(Default)]
pub struct Files {
    /// The files that are being written, by their final paths.
    open: HashMap<PathBuf, OpenFile>,
}

struct OpenFile {
    place: PathBuf,
    partial: PathBuf,
    file: File,
}

impl Files {
    /// Appends data to a file. The first call creates the file and its directories. `is_last` completes the file.
    pub fn write(&mut self, path: &Path, data: &[u8], is_last: bool) -> io::Result<()> {
        let mut open = self.open.remove(path).map_or_else(|| OpenFile::new(path), Ok)?;
        open.file.write_all(data)?;
        if is_last {
            drop(open.file);
            return fs::rename(open.partial, open.place);
        }
        self.open.insert(path.to_owned(), open);
        Ok(())
    }

    /// Stops writing a file. It keeps a name that marks it as incomplete.
    pub fn give_up(&mut self, path: &Path) {
        self.open.remove(path);
    }
}

impl OpenFile {
    fn new(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(directory)?;
        let full = path.file_name().unwrap_or_default().to_string_lossy();
        let name = fitting(&full, "");
        if name != full {
            let mut table = longer(&directory.join(MAPPING))?;
            writeln!(table, "{name},{full}")?;
        }
        let place = directory.join(&name);
        let partial = directory.join(fitting(&full, ".partial"));
        let file = OpenOptions::new().create_new(true).write(true).open(&partial)?;
        Ok(Self { place, partial, file })
    }
}

/// Opens a table for appending. Creates it if it does not exist.
fn longer(table: &Path) -> io::Result<File> {
    match OpenOptions::new().create_new(true).write(true).open(table) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_to_append(table),
        made => made,
    }
}

/// Returns a file's name with an ending. If that is too long for file systems, digits replace the name.
fn fitting(full: &str, ending: &str) -> String {
    let (stem, statistics) = full.strip_suffix(STATISTICS).map_or((full, ""), |stem| (stem, STATISTICS));
    let digits = |name: FileName| format!("{}{statistics}{ending}", name.digits());
    let is_long = full.len() + ending.len() > FileName::LONGEST;
    let mapped = FileName::parse(stem).filter(|_| is_long).map(digits);
    mapped.unwrap_or_else(|| format!("{full}{ending}"))
}
