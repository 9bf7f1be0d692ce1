//! Tensors: owned, borrowed, and in another type.

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

/// A tensor of one's own. Clones share the data.
#[derive(Clone, PartialEq)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    bytes: Arc<[u8]>,
}

impl Tensor {
    /// A tensor from its little-endian, row-major bytes.
    ///
    /// # Errors
    /// When their number is not what the type and the shape ask for.
    pub fn new(dtype: DType, shape: Vec<usize>, bytes: impl Into<Arc<[u8]>>) -> Result<Self, TensorError> {
        let bytes = bytes.into();
        check_length(dtype, &shape, bytes.len())?;
        Ok(Self { dtype, shape, bytes })
    }

    /// A tensor of `f32`.
    ///
    /// # Errors
    /// When the shape asks for another number of values.
    pub fn from_f32(shape: Vec<usize>, values: &[f32]) -> Result<Self, TensorError> {
        Self::new(DType::F32, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// A tensor of `i64`.
    ///
    /// # Errors
    /// When the shape asks for another number of values.
    pub fn from_i64(shape: Vec<usize>, values: &[i64]) -> Result<Self, TensorError> {
        Self::new(DType::I64, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The dimensions, slowest first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The data.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// A view of it.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::new(self.dtype, self.shape.as_slice(), &*self.bytes)
            .expect("a tensor has the right number of bytes")
    }

    /// The same data with another shape of as many elements.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshaped(&self, shape: Vec<usize>) -> Result<Self, TensorError> {
        Self::new(self.dtype, shape, Arc::clone(&self.bytes))
    }
}

impl TensorView<'_> {
    /// Returns an owned copy.
    ///
    /// # Errors
    /// As [`read`](TensorView::read).
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        let length = self.byte_len().ok_or(TensorError::NoBytes(self.dtype()))?;
        let mut bytes = vec![0; length];
        self.read(0..length, &mut bytes)?;
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
