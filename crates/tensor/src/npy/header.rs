//! The header of an npy file, and how a tensor is written.

use std::io::{Read, Write};

use super::{NpyError, dict};
use crate::{DType, TensorError, TensorView};

pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The largest length that is accepted. No dictionary that describes a tensor is longer.
const LONGEST: usize = 1 << 16;

/// The description of the data in an npy header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The element type.
    pub dtype: DType,
    /// The shape, slowest dimension first.
    pub shape: Vec<usize>,
    /// The byte order of an element.
    pub byte_order: ByteOrder,
    /// Whether the first dimension is the fastest (column-major) instead of the last (row-major).
    pub fortran_order: bool,
    /// The offset of the data in the file, in bytes.
    pub data_offset: u64,
    /// The size of the data, in bytes.
    pub data_bytes: usize,
}

/// The byte order of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

impl Header {
    /// Reads a header up to the first byte of the data.
    ///
    /// # Errors
    /// Returns an error if it is not a valid npy header, has an unknown version, or names an unknown type.
    pub fn read(reader: &mut impl Read) -> Result<Self, NpyError> {
        let mut start = Vec::with_capacity(8);
        reader.by_ref().take(8).read_to_end(&mut start)?;
        if start.len() < 8 || &start[..6] != MAGIC {
            return Err(NpyError::Magic { found: start });
        }
        let (length, prefix) = match (start[6], start[7]) {
            (1, 0) => (usize::from(u16::from_le_bytes(array(reader)?)), 10),
            (2 | 3, 0) => (u32::from_le_bytes(array(reader)?) as usize, 12),
            (major, minor) => return Err(NpyError::Version { major, minor }),
        };
        if length > LONGEST {
            let reason = format!("it is said to be {length} bytes long, more than {LONGEST}");
            return Err(NpyError::Header { at: 0, reason });
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text)?;
        let dict = dict::parse(&text)?;
        let (dtype, byte_order) = type_of(&dict.descr)?;
        let elements = dict.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let data_bytes = elements
            .and_then(|elements| dtype.bytes_of(elements))
            .ok_or_else(|| TensorError::TooLarge(dict.shape.clone()))?;
        Ok(Self {
            dtype,
            shape: dict.shape,
            byte_order,
            fortran_order: dict.fortran_order,
            data_offset: (prefix + length) as u64,
            data_bytes,
        })
    }

    /// Returns whether the data is row-major. This includes column-major data in which at most one dimension is larger
    /// than 1.
    pub(super) fn is_row_major(&self) -> bool {
        !self.fortran_order || self.shape.iter().filter(|&&dim| dim != 1).count() < 2
    }

    /// Returns whether the data is little-endian and row-major, as all data in this crate is.
    pub fn is_native(&self) -> bool {
        self.is_row_major() && (self.byte_order == ByteOrder::Little || self.dtype.size() == Some(1))
    }
}

fn type_of(descr: &str) -> Result<(DType, ByteOrder), NpyError> {
    let unknown = || NpyError::Type(descr.escape_default().to_string());
    let (order, kind) = descr.split_at_checked(1).ok_or_else(unknown)?;
    let dtype =
        DType::all().find(|dtype| dtype.npy_descr().is_some_and(|known| &known[1..] == kind)).ok_or_else(unknown)?;
    let order = match order {
        "<" => ByteOrder::Little,
        ">" => ByteOrder::Big,
        "|" if dtype.size() == Some(1) => ByteOrder::Little,
        _ => return Err(unknown()),
    };
    Ok((dtype, order))
}

fn array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], NpyError> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

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
