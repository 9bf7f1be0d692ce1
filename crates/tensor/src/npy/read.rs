use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use opscope_files::open_regular;

use super::{ByteOrder, Header, NpyError};
use crate::{DType, Tensor};

/// Reads a tensor from the bytes of a file. Big-endian and column-major data is converted to this crate's order.
///
/// # Errors
/// Returns an error if the bytes are not exactly one npy array.
pub fn read(mut bytes: &[u8]) -> Result<Tensor, NpyError> {
    let header = Header::read(&mut bytes)?;
    if bytes.len() != header.data_bytes {
        return Err(NpyError::Length { expected: header.data_bytes as u64, found: bytes.len() as u64 });
    }
    tensor(header, bytes.to_vec())
}

/// Opens a file and reads its header. The file is left at the first byte of the data.
///
/// # Errors
/// Returns an error if the file is not an npy file, cannot be read, or does not have the length that its header gives.
pub fn open(path: &Path) -> Result<(Header, File), NpyError> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(MOST_BEFORE_DATA).read_to_end(&mut start)?;
    let header = Header::read(&mut &*start)?;
    let found = length.saturating_sub(header.data_offset);
    if found != header.data_bytes as u64 {
        return Err(NpyError::Length { expected: header.data_bytes as u64, found });
    }
    file.seek(SeekFrom::Start(header.data_offset))?;
    Ok((header, file))
}

/// Reads a tensor from a file, as [`read`] does. Allocates nothing until the file's length was checked.
///
/// # Errors
/// The same as [`read`]. Also returns an error if the file cannot be read or memory is exhausted.
pub fn read_file(path: &Path) -> Result<Tensor, NpyError> {
    let (header, file) = open(path)?;
    read_opened(header, file)
}

/// Reads all data after a header that was [read](open).
///
/// # Errors
/// Returns an error if the data cannot be read or does not end there, or memory is exhausted.
pub fn read_opened(header: Header, mut data: impl Read) -> Result<Tensor, NpyError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(header.data_bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    bytes.resize(header.data_bytes, 0);
    data.read_exact(&mut bytes)?;
    // A reader that verifies the data does so at its end.
    if data.read(&mut [0])? != 0 {
        let expected = header.data_bytes as u64;
        return Err(NpyError::Length { expected, found: expected + 1 });
    }
    tensor(header, bytes)
}

/// Returns a reader of a file's data in this crate's order. It reads piece by piece, except for column-major data,
/// which it must hold as a whole.
///
/// # Errors
/// The same as [`open`]. Also returns an error if column-major data has more than 1 GiB.
pub fn data(path: &Path) -> Result<Box<dyn Read + Send>, NpyError> {
    let (header, file) = open(path)?;
    if header.is_native() {
        return Ok(Box::new(file));
    }
    if header.is_row_major() {
        return Ok(Box::new(Swapped { file, scalar: scalar_size(header.dtype), piece: Vec::new(), at: 0 }));
    }
    match header.data_bytes {
        bytes if bytes > LARGEST_COLUMN_MAJOR => Err(NpyError::ColumnMajor { bytes }),
        _ => Ok(Box::new(Cursor::new(read_opened(header, file)?.bytes().to_vec()))),
    }
}

/// An upper limit for the length of a header and what precedes it.
const MOST_BEFORE_DATA: u64 = 128 << 10;

const LARGEST_COLUMN_MAJOR: usize = 1 << 30;

/// Reads big-endian data and swaps the bytes.
struct Swapped {
    file: File,
    scalar: usize,
    piece: Vec<u8>,
    /// The number of bytes of the piece that were already returned.
    at: usize,
}

impl Read for Swapped {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // A multiple of the size of every number type.
        const PIECE: u64 = 64 << 10;
        if self.at == self.piece.len() {
            self.piece.clear();
            self.at = 0;
            self.file.by_ref().take(PIECE).read_to_end(&mut self.piece)?;
            self.piece.chunks_exact_mut(self.scalar).for_each(<[u8]>::reverse);
        }
        let read = (&self.piece[self.at..]).read(into)?;
        self.at += read;
        Ok(read)
    }
}

fn tensor(header: Header, mut bytes: Vec<u8>) -> Result<Tensor, NpyError> {
    if header.byte_order == ByteOrder::Big {
        bytes.chunks_exact_mut(scalar_size(header.dtype)).for_each(<[u8]>::reverse);
    }
    if header.fortran_order {
        bytes = row_major(&header.shape, header.dtype.size().unwrap_or(1), &bytes);
    }
    Ok(Tensor::new(header.dtype, header.shape, bytes)?)
}

/// Returns the size of the unit that byte order applies to. A complex number consists of two.
fn scalar_size(dtype: DType) -> usize {
    match dtype {
        DType::Complex64 => 4,
        DType::Complex128 => 8,
        _ => dtype.size().unwrap_or(1),
    }
}

/// Converts column-major data to row-major order.
fn row_major(shape: &[usize], size: usize, bytes: &[u8]) -> Vec<u8> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = size;
    for &dim in shape {
        strides.push(stride);
        stride = stride.saturating_mul(dim);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0; shape.len()];
    while out.len() < bytes.len() {
        let at: usize = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        out.extend_from_slice(&bytes[at..at + size]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_turned_around_in_memory_has_a_gib_at_most() {
        // Data of this size is too large for a test.
        assert_eq!(super::LARGEST_COLUMN_MAJOR, 1_073_741_824);
    }
}
