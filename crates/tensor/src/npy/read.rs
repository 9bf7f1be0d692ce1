use std::io::{BufReader, Read};
use std::path::Path;

use super::{ByteOrder, Header, NpyError};
use crate::{DType, Tensor, open_regular};

/// Reads a whole file's bytes. Data that is big-endian or column-major is turned into this crate's order.
///
/// # Errors
/// When the bytes are not one npy array from the first to the last.
pub fn read(mut bytes: &[u8]) -> Result<Tensor, NpyError> {
    let header = Header::read(&mut bytes)?;
    if bytes.len() != header.data_bytes {
        return Err(NpyError::Length { expected: header.data_bytes as u64, found: bytes.len() as u64 });
    }
    tensor(header, bytes.to_vec())
}

/// Reads a file, as [`read`] does. Nothing is allocated before the file's length is known to be right.
///
/// # Errors
/// As [`read`], and when the file cannot be read.
pub fn read_file(path: &Path) -> Result<Tensor, NpyError> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(256, file);
    let header = Header::read(&mut reader)?;
    let found = length.saturating_sub(header.data_offset);
    if found != header.data_bytes as u64 {
        return Err(NpyError::Length { expected: header.data_bytes as u64, found });
    }
    let mut bytes = vec![0; header.data_bytes];
    reader.read_exact(&mut bytes)?;
    tensor(header, bytes)
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

/// The bytes that byte order applies to: a complex number is two of them.
fn scalar_size(dtype: DType) -> usize {
    match dtype {
        DType::Complex64 => 4,
        DType::Complex128 => 8,
        _ => dtype.size().unwrap_or(1),
    }
}

/// Column-major data in row-major order.
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
