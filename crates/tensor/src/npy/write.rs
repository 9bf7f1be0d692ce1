use std::io::Write;

use super::NpyError;
use super::header::MAGIC;
use crate::{DType, TensorView};

/// The data begins at a multiple of this, so that it is aligned for every element type in a mapped file.
const ALIGNMENT: usize = 64;

/// Returns the header of a file with this type and shape, for data that is little-endian and row-major.
///
/// # Errors
/// Returns an error if the format does not have the type, or if the shape has too many dimensions for a header.
pub fn header(dtype: DType, shape: &[usize]) -> Result<Vec<u8>, NpyError> {
    let descr = dtype.npy_descr().ok_or(NpyError::NoNpyType(dtype))?;
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (");
    for dim in shape {
        dict.push_str(&format!("{dim}, "));
    }
    if shape.len() > 1 {
        dict.truncate(dict.len() - 2);
    } else {
        dict.truncate(dict.trim_end().len());
    }
    dict.push_str("), }");
    let start = MAGIC.len() + 4;
    let padding = (start + dict.len() + 1).next_multiple_of(ALIGNMENT) - (start + dict.len() + 1);
    let length = u16::try_from(dict.len() + padding + 1)
        .map_err(|_| NpyError::Header { at: 0, reason: format!("{} dimensions are too many", shape.len()) })?;
    let mut out = Vec::with_capacity(start + usize::from(length));
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(dict.as_bytes());
    out.resize(out.len() + padding, b' ');
    out.push(b'\n');
    Ok(out)
}

/// Writes the header and the data.
///
/// # Errors
/// Returns an error if the format does not have the type, the tensor has no byte form, or writing fails.
pub fn write(tensor: &TensorView<'_>, writer: &mut impl Write) -> Result<(), NpyError> {
    writer.write_all(&header(tensor.dtype(), tensor.shape())?)?;
    match tensor.bytes() {
        Some(bytes) => writer.write_all(bytes)?,
        None => writer.write_all(tensor.to_tensor()?.bytes())?,
    }
    Ok(())
}
