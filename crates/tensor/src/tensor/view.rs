use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::TensorError;
use crate::DType;

/// A borrowed tensor, usually one of an engine in the middle of a run. It is small, and creating it copies no data.
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
    /// Strings, or data in an engine's own layout, which have no byte form.
    Opaque,
}

/// Tensor data that the host cannot address, for example in a device's memory.
pub trait RemoteTensor: Sync {
    /// Copies a range of bytes. `into` has the length of the range.
    ///
    /// # Errors
    /// Returns the device's error, as text.
    fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), String>;
}

impl<'a> TensorView<'a> {
    /// Creates a view of bytes in the host's memory.
    ///
    /// # Errors
    /// Returns an error if the number of bytes does not fit the type and the shape, or if the type has no byte form.
    pub fn new(
        dtype: DType,
        shape: impl Into<Cow<'a, [usize]>>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> Result<Self, TensorError> {
        let (shape, bytes) = (shape.into(), bytes.into());
        crate::tensor::check_length(dtype, &shape, bytes.len())?;
        Ok(Self { dtype, shape, storage: Storage::Bytes(bytes) })
    }

    /// Creates a view of memory that the host cannot address.
    pub fn remote(dtype: DType, shape: impl Into<Cow<'a, [usize]>>, tensor: &'a dyn RemoteTensor) -> Self {
        Self { dtype, shape: shape.into(), storage: Storage::Remote(tensor) }
    }

    /// Creates a view of a tensor without a byte form.
    pub fn opaque(dtype: DType, shape: impl Into<Cow<'a, [usize]>>) -> Self {
        Self { dtype, shape: shape.into(), storage: Storage::Opaque }
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shape, slowest dimension first. Empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of bytes, or `None` if there is no byte form.
    pub fn byte_len(&self) -> Option<usize> {
        match &self.storage {
            Storage::Bytes(bytes) => Some(bytes.len()),
            Storage::Remote(_) => self.dtype.bytes_of(self.elements()),
            Storage::Opaque => None,
        }
    }

    /// Returns the data without a copy, little-endian and row-major. Returns `None` for memory that the host cannot
    /// address (use [`read`](Self::read)) and for tensors without a byte form.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.storage {
            Storage::Bytes(bytes) => Some(bytes),
            Storage::Remote(_) | Storage::Opaque => None,
        }
    }

    /// Returns the data as [`bytes`](Self::bytes) does, with the lifetime of the memory that the view borrows.
    pub fn into_bytes(self) -> Option<Cow<'a, [u8]>> {
        match self.storage {
            Storage::Bytes(bytes) => Some(bytes),
            Storage::Remote(_) | Storage::Opaque => None,
        }
    }

    /// Copies a range of the data. `into` must have the length of the range.
    ///
    /// # Errors
    /// Returns an error if there is no byte form, if the range reaches past the end, if `into` has another length, or
    /// if the device cannot read the range.
    pub fn read(&self, range: Range<usize>, into: &mut [u8]) -> Result<(), TensorError> {
        let length = self.byte_len().ok_or(TensorError::NoBytes(self.dtype))?;
        if range.start > range.end || range.end > length || range.len() != into.len() {
            return Err(TensorError::OutOfRange { start: range.start, end: range.end, length });
        }
        match &self.storage {
            Storage::Bytes(bytes) => into.copy_from_slice(&bytes[range]),
            Storage::Remote(tensor) => tensor.read(range, into).map_err(TensorError::Remote)?,
            Storage::Opaque => unreachable!("a tensor without bytes has no length"),
        }
        Ok(())
    }

    /// Shows all data in order: without a copy if the host can address it, else in pieces of up to a mebibyte.
    ///
    /// # Errors
    /// Returns an error if there is no byte form, or if the device cannot read.
    pub(crate) fn pieces(&self, mut show: impl FnMut(&[u8])) -> Result<(), TensorError> {
        if let Some(bytes) = self.bytes() {
            show(bytes);
            return Ok(());
        }
        let length = self.byte_len().ok_or(TensorError::NoBytes(self.dtype))?;
        let mut copy = vec![0; length.min(1 << 20)];
        for start in (0..length).step_by(copy.len().max(1)) {
            let end = (start + copy.len()).min(length);
            self.read(start..end, &mut copy[..end - start])?;
            show(&copy[..end - start]);
        }
        Ok(())
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TensorView({} {:?})", self.dtype, self.shape)
    }
}
