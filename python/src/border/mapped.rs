//! Tensors of dumps, mapped from their files.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};
use opscope::files::open_regular;
use opscope::tensor::{DType, Tensor};

/// A part of a mapped file.
struct Mapped {
    map: Mmap,
    part: Range<usize>,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.map[self.part.clone()]
    }
}

/// Maps the tensor that lies in a file from this offset on.
///
/// # Errors
/// Returns an error if the file cannot be opened or mapped, or is too short.
pub fn tensor(path: &Path, offset: u64, dtype: DType, shape: Vec<usize>, bytes: u64) -> io::Result<Tensor> {
    let file = open_regular(path)?;
    let short = || io::Error::new(io::ErrorKind::UnexpectedEof, format!("{path:?} is shorter than its tensor"));
    let end = offset
        .checked_add(bytes)
        .filter(|end| file.metadata().is_ok_and(|found| found.len() >= *end))
        .ok_or_else(short)?;
    if bytes == 0 {
        return Tensor::new(dtype, shape, Vec::new()).map_err(io::Error::other);
    }
    let part = usize::try_from(offset).map_err(io::Error::other)?..usize::try_from(end).map_err(io::Error::other)?;
    // SAFETY: dumps are written once, under another name, and then renamed. A program that changes or truncates the
    // file of a dump meanwhile changes what is read, as with every mapped file.
    let map = unsafe { MmapOptions::new().len(part.end).map(&file)? };
    Tensor::from_owner(dtype, shape, Arc::new(Mapped { map, part })).map_err(io::Error::other)
}
