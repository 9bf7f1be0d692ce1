use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope_files::open_to_append;

use super::read::MAPPING;
use super::{ChunkTarget, FileName};
use crate::manifest::DumpInfo;
use crate::sinks::create;
use crate::sinks::manifest_file::ManifestFile;
use crate::stream::outcome::Ending;
use crate::{Closed, DumpError};

/// Writes AscendCL's dump files to a directory, with a manifest, because the files themselves cannot list missing
/// tensors.
pub struct DirectoryTarget {
    root: PathBuf,
    manifest: ManifestFile,
    /// The tables of long names that were created.
    tables: HashSet<PathBuf>,
    open: Option<(PathBuf, PathBuf, File)>,
}

impl DirectoryTarget {
    /// Creates the directory (`<dump path>/<YYYYMMDDHHMMSS>`, by the vendor's convention), with a manifest of an
    /// incomplete dump.
    ///
    /// # Errors
    /// Returns an error if it exists or cannot be made.
    pub fn create(root: &Path, info: &DumpInfo) -> Result<Self, DumpError> {
        let manifest = ManifestFile::create(root, info, "ascend")?;
        Ok(Self { root: root.to_path_buf(), manifest, tables: HashSet::new(), open: None })
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

    /// Creates a file, with a name from the table if its own is too long. Returns the path in the dump, the path on
    /// disk, and the file.
    fn create_file(&mut self, path: &Path) -> io::Result<(PathBuf, PathBuf, File)> {
        let below = path.parent().unwrap_or(Path::new(""));
        create::directory(&self.root, below)?;
        let directory = self.root.join(below);
        let full = path.file_name().unwrap_or_default().to_string_lossy();
        let name = FileName::parse(&full).map_or_else(|| full.to_string(), |name| name.on_disk());
        if name != full {
            let table = directory.join(MAPPING);
            let is_new = self.tables.insert(table.clone());
            let table = if is_new { create::file(&table)? } else { open_to_append(&table)? };
            csv::Writer::from_writer(table).write_record([name.as_str(), &full])?;
        }
        let on_disk = directory.join(name);
        let file = create::file(&on_disk)?;
        Ok((path.to_path_buf(), on_disk, file))
    }
}

impl ChunkTarget for DirectoryTarget {
    fn chunk(&mut self, path: &Path, bytes: &[u8], last: bool) -> Result<(), DumpError> {
        let written = self.write(path, bytes, last);
        written.map_err(|source| {
            self.broken(path);
            DumpError::Write { path: self.root.join(path), source }
        })
    }

    fn broken(&mut self, _path: &Path) {
        if let Some((_, on_disk, _)) = self.open.take() {
            let partial = format!("{}.partial", on_disk.display());
            // If the file cannot be renamed, it still differs from a complete one by its length.
            let _ = fs::rename(on_disk, partial);
        }
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        let manifest = &mut self.manifest.manifest;
        (manifest.tensors, manifest.bytes) = (ending.delivered.tensors, ending.delivered.bytes);
        let errors = self.manifest.close(ending, &[]).into_iter().collect();
        Closed { directory: Some(self.root.clone()), errors }
    }
}
