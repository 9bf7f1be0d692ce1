use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::create;
use crate::DumpError;
use crate::manifest::{DumpInfo, MANIFEST, Manifest};
use crate::stream::outcome::Ending;

/// The manifest of a dump that is being written, in its directory.
pub(crate) struct ManifestFile {
    root: PathBuf,
    pub manifest: Manifest,
}

/// A file that reserves space for the manifest, so that a full disk can still be reported.
const RESERVE: &str = ".reserve";
const RESERVED_BYTES: usize = 64 << 10;

impl ManifestFile {
    /// Creates the dump's directory, with a manifest of an incomplete dump.
    pub fn create(root: &Path, info: &DumpInfo, contents: &str) -> Result<Self, DumpError> {
        let failed = |name: &str, what| DumpError::io(&root.join(name), what);
        create::root(root).map_err(failed("", "the dump's directory could not be made"))?;
        let file = Self { root: root.to_path_buf(), manifest: Manifest::begun(info, contents) };
        file.write().map_err(failed(MANIFEST, "the manifest could not be written"))?;
        create::file(&root.join(RESERVE))
            .and_then(|mut reserve| reserve.write_all(&[0; RESERVED_BYTES]))
            .map_err(failed(RESERVE, "no space could be kept for the manifest"))?;
        Ok(file)
    }

    /// Returns the manifest of a dump that another process began.
    pub fn of(root: &Path, manifest: Manifest) -> Self {
        Self { root: root.to_path_buf(), manifest }
    }

    /// Writes the outcome of the dump. Returns the reason if that fails.
    pub fn close(&mut self, ending: &Ending, errors: &[String]) -> Option<String> {
        self.manifest.end(ending, errors);
        self.finish().err().map(|error| {
            format!("the manifest could not be written and still says that the dump is not closed: {error}")
        })
    }

    /// Writes the last manifest.
    pub fn finish(&self) -> io::Result<()> {
        // Frees the reserved space for the manifest. Nothing else depends on it.
        let _ = fs::remove_file(self.root.join(RESERVE));
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(&self.manifest)?;
        text.push(b'\n');
        opscope_files::replace_whole(&self.root.join(MANIFEST), &text)
    }
}
