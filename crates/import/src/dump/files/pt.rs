//! Files of `torch.save`: a zip archive with a pickle, and the elements of each storage as they are in memory.

mod archive;
mod tensors;

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::Named;
use super::pickle::{Pickle, PickleError};
use archive::Archive;

/// The most bytes of a pickle. A checkpoint of 100,000 tensors has 15 MB.
const MOST_PICKLE: u64 = 64 << 20;

/// Why a file of `torch.save` cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PtError {
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is a file of `torch.save`, but not a zip archive.
    #[error(
        "it was written by PyTorch before 1.6 or with _use_new_zipfile_serialization=False; load it with torch and save it again"
    )]
    Old,
    /// It is another file.
    #[error("{0}; a file of torch.save is a zip archive with data.pkl")]
    Other(String),
    /// Its pickle cannot be read.
    #[error(transparent)]
    Pickle(#[from] PickleError),
}

/// Returns the tensors of a file, named by the keys and positions that lead to them.
///
/// # Errors
/// Returns an error if it is no file of `torch.save`, or needs more than tensors and plain values.
pub(crate) fn read(path: &Path) -> Result<Vec<Named>, PtError> {
    let archive = Archive::open(path)?;
    let pickle = Pickle::read(&archive.pickle(MOST_PICKLE)?)?;
    Ok(tensors::named(&pickle, &archive, &Arc::from(path)))
}
