use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::TensorError;
use crate::DType;

/// A tensor that belongs to someone else, usually to an engine in the middle of a run. It is small; looking costs
/// nothing.
#[derive(Clone)]
pub struct TensorView<'a> {
    dtype: DType,
    shape: Cow<'a, [usize]>,
    storage: Storage<'a>,
}

#[derive(Clone)]
enum Storage<'a> {
    Bytes(Cow<'a, [u8]>),
    Remote(&'a dyn RemoteTensor),
    /// No bytes at all: strings, or data in a layout of the engine's own.
    Opaque,
}

/// Tensor data that the host cannot address, in a device's memory for example.
pub trait RemoteTensor: Sync {
    /// Copies a range of bytes. `into` is as long as the range.
    ///
    /// # Errors
    /// What the device says, as text.
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), String>;
}

impl<'a> TensorView<'a> {
    /// A view of bytes in the host's memory.
    ///
    /// # Errors
    /// When their number is not what the type and the shape ask for.
    pub fn new(
        dtype: DType,
        shape: impl Into<Cow<'a, [usize]>>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> Result<Self, TensorError> {
        let (shape, bytes) = (shape.into(), bytes.into());
        crate::tensor::check_length(dtype, &shape, bytes.len())?;
        Ok(Self { dtype, shape, storage: Storage::Bytes(bytes) })
    }

    /// A view of memory that the host cannot address.
    pub fn remote(dtype: DType, shape: impl Into<Cow<'a, [usize]>>, tensor: &'a dyn RemoteTensor) -> Self {
        Self { dtype, shape: shape.into(), storage: Storage::Remote(tensor) }
    }

    /// A tensor whose data cannot be had as bytes.
    pub fn opaque(dtype: DType, shape: impl Into<Cow<'a, [usize]>>) -> Self {
        Self { dtype, shape: shape.into(), storage: Storage::Opaque }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions, slowest first. Empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of bytes; none where there is no byte form.
    pub fn byte_len(&self) -> Option<usize> {
        match &self.storage {
            Storage::Bytes(bytes) => Some(bytes.len()),
            Storage::Remote(_) => self.dtype.bytes_of(self.elements()),
            Storage::Opaque => None,
        }
    }

    /// The data without a copy: little-endian, row-major. None for memory that the host cannot address (use
    /// [`read`](Self::read)) and for tensors without a byte form.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.storage {
            Storage::Bytes(bytes) => Some(bytes),
            Storage::Remote(_) | Storage::Opaque => None,
        }
    }

    /// Copies a range of the data. `into` must be as long as the range.
    ///
    /// # Errors
    /// When there are no bytes, the range reaches past the end, or the device does not answer.
    pub fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), TensorError> {
        let length = self.byte_len().ok_or(TensorError::NoBytes(self.dtype))?;
        if range.end > length || range.len() != into.len() {
            return Err(TensorError::OutOfRange { start: range.start, end: range.end, length });
        }
        match &self.storage {
            Storage::Bytes(bytes) => into.copy_from_slice(&bytes[range]),
            Storage::Remote(tensor) => tensor.read(range, into).map_err(TensorError::Remote)?,
            Storage::Opaque => unreachable!("a tensor without bytes has no length"),
        }
        Ok(())
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorView({} {:?})", self.dtype, self.shape)
    }
}
