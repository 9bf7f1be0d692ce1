use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope::dump::ascend::{FileName, MAPPING};

/// Writes dump files, chunk by chunk. A file has its name when it is whole.
#[derive(Default)]
pub struct Files {
    /// The file that is being written: what it is for, its place, and its name so far.
    open: Option<Open>,
}

struct Open {
    path: PathBuf,
    place: PathBuf,
    partial: PathBuf,
    file: File,
}

impl Files {
    /// Appends data to a file, which is made with its directories by the first. `is_last` ends it.
    pub fn write(&mut self, path: &Path, data: &[u8], is_last: bool) -> io::Result<()> {
        let mut open = match self.open.take() {
            Some(open) if open.path == path => open,
            // Another file was not ended: its model's run was stopped. It keeps its name for a part.
            _ => Open::new(path)?,
        };
        open.file.write_all(data)?;
        if is_last {
            drop(open.file);
            return fs::rename(open.partial, open.place);
        }
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(directory)?;
        let full = path.file_name().unwrap_or_default().to_string_lossy();
        let name = FileName::parse(&full).map_or_else(|| full.to_string(), |name| name.on_disk());
        if name != full {
            let mut table = OpenOptions::new().create(true).append(true).open(directory.join(MAPPING))?;
            writeln!(table, "{name},{full}")?;
        }
        let place = directory.join(&name);
        let partial = directory.join(format!("{name}.partial"));
        let file = OpenOptions::new().create_new(true).write(true).open(&partial)?;
        Ok(Self { path: path.to_owned(), place, partial, file })
    }
}
