use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::read::MAPPING;
use super::{ChunkTarget, FileName};
use crate::outcome::Ending;
use crate::table::quoted;
use crate::{Closed, DumpError};

/// Writes AscendCL's dump files under a directory.
pub struct DirectoryTarget {
    root: PathBuf,
    open: Option<(PathBuf, PathBuf, File)>,
}

impl DirectoryTarget {
    /// Makes the directory (`<dump path>/<YYYYMMDDHHMMSS>`, by the vendor's convention).
    ///
    /// # Errors
    /// When it exists or cannot be made.
    pub fn create(root: &Path) -> Result<Self, DumpError> {
        let made = root.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::create_dir(root));
        made.map_err(|error| DumpError::File {
            path: root.to_path_buf(),
            reason: format!("the dump's directory could not be made: {error}"),
        })?;
        Ok(Self { root: root.to_path_buf(), open: None })
    }

    fn write(&mut self, path: &Path, bytes: &[u8], last: bool) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|(open, ..)| open != path) {
            self.open = Some(self.create_file(path)?);
        }
        if let Some((_, _, file)) = &mut self.open {
            file.write_all(bytes)?;
        }
        if last {
            self.open = None;
        }
        Ok(())
    }

    /// A new file, under the name in the table where its own is too long.
    fn create_file(&self, path: &Path) -> io::Result<(PathBuf, PathBuf, File)> {
        let directory = self.root.join(path.parent().unwrap_or(Path::new("")));
        fs::create_dir_all(&directory)?;
        let full = path.file_name().unwrap_or_default().to_string_lossy();
        let name = FileName::parse(&full).map_or_else(|| full.to_string(), |name| name.on_disk());
        if name != full {
            let mut table = OpenOptions::new().append(true).create(true).open(directory.join(MAPPING))?;
            table.write_all(format!("{name},{}\n", quoted(&full)).as_bytes())?;
        }
        let on_disk = directory.join(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&on_disk)?;
        Ok((path.to_path_buf(), on_disk, file))
    }
}

impl ChunkTarget for DirectoryTarget {
    fn chunk(&mut self, path: &Path, bytes: &[u8], last: bool) -> Result<(), String> {
        let written = self.write(path, bytes, last);
        written.map_err(|error| {
            self.broken(path);
            format!("{} could not be written: {error}", self.root.join(path).display())
        })
    }

    fn broken(&mut self, _path: &Path) {
        if let Some((_, on_disk, _)) = self.open.take() {
            let partial = format!("{}.partial", on_disk.display());
            // What cannot be renamed is told from a whole file by its length.
            let _ = fs::rename(on_disk, partial);
        }
    }

    fn close(&mut self, _ending: &Ending) -> Closed {
        Closed { directory: Some(self.root.clone()), errors: Vec::new() }
    }
}
