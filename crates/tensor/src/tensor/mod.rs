//! Tensors: owned, borrowed, and converted to another type.

mod cast;
mod error;
mod view;

use std::fmt;
use std::sync::Arc;

use crate::DType;

pub use cast::compared_in;
pub(crate) use cast::rounded;
pub use error::TensorError;
pub use view::{RemoteTensor, TensorView};

/// An owned tensor. Clones share the data.
#[derive(Clone, PartialEq)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    bytes: Arc<[u8]>,
}

impl Tensor {
    /// Creates a tensor from its little-endian, row-major bytes.
    ///
    /// # Errors
    /// Returns an error if the number of bytes does not fit the type and the shape.
    pub fn new(dtype: DType, shape: Vec<usize>, bytes: impl Into<Arc<[u8]>>) -> Result<Self, TensorError> {
        let bytes = bytes.into();
        check_length(dtype, &shape, bytes.len())?;
        Ok(Self { dtype, shape, bytes })
    }

    /// Creates a tensor of `f32`.
    ///
    /// # Errors
    /// Returns an error if the number of values does not fit the shape.
    pub fn from_f32(shape: Vec<usize>, values: &[f32]) -> Result<Self, TensorError> {
        Self::new(DType::F32, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Creates a tensor of `i64`.
    ///
    /// # Errors
    /// Returns an error if the number of values does not fit the shape.
    pub fn from_i64(shape: Vec<usize>, values: &[i64]) -> Result<Self, TensorError> {
        Self::new(DType::I64, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the shape, slowest dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the data, little-endian and row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns a view of the tensor.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::new(self.dtype, self.shape.as_slice(), &*self.bytes)
            .expect("a tensor has the right number of bytes")
    }

    /// Returns the same data with another shape.
    ///
    /// # Errors
    /// Returns an error if the number of elements differs.
    pub fn reshaped(&self, shape: Vec<usize>) -> Result<Self, TensorError> {
        Self::new(self.dtype, shape, Arc::clone(&self.bytes))
    }
}

impl TensorView<'_> {
    /// Returns an owned copy.
    ///
    /// # Errors
    /// The same as [`read`](TensorView::read).
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        let length = self.byte_len().ok_or(TensorError::NoBytes(self.dtype()))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| TensorError::Memory(length))?;
        match self.bytes() {
            Some(found) => bytes.extend_from_slice(found),
            None => {
                bytes.resize(length, 0);
                self.read(0..length, &mut bytes)?;
            }
        }
        Tensor::new(self.dtype(), self.shape().to_vec(), bytes)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?})", self.dtype, self.shape)
    }
}

pub(crate) fn check_length(dtype: DType, shape: &[usize], found: usize) -> Result<(), TensorError> {
    let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
    let elements = elements.ok_or_else(|| TensorError::TooLarge(shape.to_vec()))?;
    let expected = match dtype {
        DType::String => return Err(TensorError::NoBytes(dtype)),
        _ => dtype.bytes_of(elements).ok_or_else(|| TensorError::TooLarge(shape.to_vec()))?,
    };
    if expected == found { Ok(()) } else { Err(TensorError::Length { dtype, shape: shape.to_vec(), expected, found }) }
}
