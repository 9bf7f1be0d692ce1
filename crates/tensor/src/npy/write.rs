use std::io::Write;

use super::NpyError;
use super::header::MAGIC;
use crate::{DType, TensorView};

/// Where data begins is a multiple of this, so that a mapped file is aligned for any element.
const ALIGNMENT: usize = 64;

/// The header of a file with this type and shape, whose data follows little-endian and row-major.
///
/// # Errors
/// When the format has no such type, or the shape has so many dimensions that no header holds them.
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

/// Writes header and data.
///
/// # Errors
/// When the format has no such type, the tensor has no bytes, or writing fails.
pub fn write(tensor: &TensorView<'_>, writer: &mut impl Write) -> Result<(), NpyError> {
    writer.write_all(&header(tensor.dtype(), tensor.shape())?)?;
    match tensor.bytes() {
        Some(bytes) => writer.write_all(bytes)?,
        None => writer.write_all(tensor.to_tensor()?.bytes())?,
    }
    Ok(())
}
