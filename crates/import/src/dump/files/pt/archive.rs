use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use opscope_files::open_regular;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipLocator};

use super::PtError;
use crate::dump::found::Unreadable;

/// The most files of an archive: one for each storage.
const MOST_FILES: usize = 1 << 20;

/// The archive of a file of `torch.save`.
pub(super) struct Archive {
    file: File,
    /// Where the pickle is.
    pickle: (u64, u64),
    /// Where the elements of each storage are, by its key: the offset and the number of bytes.
    storages: HashMap<String, Result<(u64, u64), Unreadable>>,
}

/// A file that a zip archive is read from.
struct Source(File);

impl ReaderAt for Source {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.0, into, offset)
    }
}

impl Archive {
    pub fn open(path: &Path) -> Result<Self, PtError> {
        let file = open_regular(path)?;
        let length = file.metadata()?.len();
        let mut start = [0; 2];
        let is_short = file.read_exact_at(&mut start, 0).is_err();
        if !is_short && start[0] == 0x80 && (2..=5).contains(&start[1]) {
            return Err(PtError::Old);
        }
        let other = |error: rawzip::Error| PtError::Other(format!("it is not a whole zip archive: {error}"));
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = ZipLocator::new().locate_in_reader(Source(file.try_clone()?), &mut buffer, length);
        let archive = archive.map_err(|(_, error)| other(error))?;
        let mut files = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(other)? {
            if files.len() == MOST_FILES {
                return Err(PtError::Other(format!("it has more than {MOST_FILES} files")));
            }
            let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
            let is_stored = entry.compression_method() == CompressionMethod::STORE && !entry.flags().is_encrypted();
            files.push((name, is_stored, (entry.local_header_offset(), entry.compressed_size_hint())));
        }
        // Everything lies in one folder, whose name is the file's.
        let root = files.iter().find_map(|(name, ..)| name.strip_suffix("data.pkl").filter(|root| root.ends_with('/')));
        let Some(root) = root.map(str::to_owned) else {
            return Err(PtError::Other("it has no data.pkl".to_owned()));
        };
        if files.iter().any(|(name, ..)| name.strip_prefix(&root) == Some("constants.pkl")) {
            return Err(PtError::Other("it is a program of TorchScript".to_owned()));
        }
        let place = |&(at, bytes): &(u64, u64), is_stored: bool| -> Result<(u64, u64), Unreadable> {
            if !is_stored {
                return Err(Unreadable::from("it is compressed, which torch.save never does"));
            }
            let damaged = || "the archive does not have all of it".to_owned();
            // A local header has a name and further fields in front of the data.
            let mut header = [0; 30];
            file.read_exact_at(&mut header, at).map_err(|_| damaged())?;
            let lengths = [26, 28].map(|at| u64::from(u16::from_le_bytes([header[at], header[at + 1]])));
            let offset = at.checked_add(30 + lengths[0] + lengths[1]).ok_or_else(damaged)?;
            let end = offset.checked_add(bytes).filter(|&end| end <= length && header.starts_with(b"PK\x03\x04"));
            end.map(|_| (offset, bytes)).ok_or_else(|| damaged().into())
        };
        let mut found = HashMap::new();
        let mut pickle = Err(PtError::Other("it has no data.pkl".to_owned()));
        for (name, is_stored, way) in &files {
            match name.strip_prefix(&root) {
                Some("data.pkl") => {
                    pickle = place(way, *is_stored).map_err(|reason| PtError::Other(format!("data.pkl: {reason}")));
                }
                Some("byteorder") => {
                    let (offset, bytes) = place(way, *is_stored).map_err(|why| PtError::Other(why.0))?;
                    let mut order = vec![0; bytes.min(16) as usize];
                    file.read_exact_at(&mut order, offset)?;
                    if order != b"little" {
                        return Err(PtError::Other("its numbers are big-endian, which cannot be read".to_owned()));
                    }
                }
                Some(other) => {
                    if let Some(key) = other.strip_prefix("data/") {
                        found.insert(key.to_owned(), place(way, *is_stored));
                    }
                }
                None => {}
            }
        }
        let pickle = pickle?;
        Ok(Self { file, pickle, storages: found })
    }

    /// Returns the pickle, if it has at most this many bytes.
    pub fn pickle(&self, most: u64) -> Result<Vec<u8>, PtError> {
        let (offset, length) = self.pickle;
        if length > most {
            return Err(PtError::Other(format!("its pickle has {length} bytes, and at most {most} are read")));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Returns where the elements of a storage are, and how many bytes they have.
    pub fn storage(&self, key: &str) -> Result<(u64, u64), Unreadable> {
        let place = self.storages.get(key).cloned();
        place
            .unwrap_or_else(|| Err(Unreadable::from("the archive does not have its storage")))
            .map_err(|reason| Unreadable(format!("storage '{}': {reason}", key.escape_default())))
    }
}
