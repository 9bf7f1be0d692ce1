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
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    bytes: Storage,
}

#[derive(Clone)]
enum Storage {
    Own(Arc<[u8]>),
    Of(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Tensor {
    /// Creates a tensor from its little-endian, row-major bytes.
    ///
    /// # Errors
    /// Returns an error if the number of bytes does not fit the type and the shape, or if the type has no byte form.
    pub fn new(dtype: DType, shape: Vec<usize>, bytes: impl Into<Arc<[u8]>>) -> Result<Self, TensorError> {
        Self::stored(dtype, shape, Storage::Own(bytes.into()))
    }

    /// Creates a tensor of bytes that something else owns, without a copy, such as an array of another program or a
    /// mapped file. The owner must return the same bytes at the same place on every call. It is dropped with the last
    /// clone of the tensor.
    ///
    /// # Errors
    /// Returns an error if the number of bytes does not fit the type and the shape, or if the type has no byte form.
    pub fn from_owner(
        dtype: DType,
        shape: Vec<usize>,
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    ) -> Result<Self, TensorError> {
        Self::stored(dtype, shape, Storage::Of(owner))
    }

    /// Returns the same data as elements of another type of the same size.
    ///
    /// # Errors
    /// Returns an error if the elements of the two types differ in size, or if the new type has no byte form.
    pub fn as_type(&self, dtype: DType) -> Result<Self, TensorError> {
        Self::stored(dtype, self.shape.clone(), self.bytes.clone())
    }

    fn stored(dtype: DType, shape: Vec<usize>, bytes: Storage) -> Result<Self, TensorError> {
        check_length(dtype, &shape, bytes.get().len())?;
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
        self.bytes.get()
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns a view of the tensor.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::new(self.dtype, self.shape.as_slice(), self.bytes())
            .expect("a tensor has the right number of bytes")
    }

    /// Returns the same data with another shape.
    ///
    /// # Errors
    /// Returns an error if the number of elements differs.
    pub fn reshaped(&self, shape: Vec<usize>) -> Result<Self, TensorError> {
        Self::stored(self.dtype, shape, self.bytes.clone())
    }
}

impl Storage {
    fn get(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Of(owner) => (**owner).as_ref(),
        }
    }
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        (self.dtype, &self.shape, self.bytes()) == (other.dtype, &other.shape, other.bytes())
    }
}

impl Eq for Tensor {}

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
        // The tensor takes the vector as its owner, which saves a second copy.
        Tensor::from_owner(self.dtype(), self.shape().to_vec(), Arc::new(bytes))
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Owner(Vec<u8>, Arc<AtomicUsize>);

    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_tensor_of_an_owner_is_its_memory_and_keeps_it_until_the_last_clone_is_gone() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let owner = Owner(vec![1, 2, 3, 4, 5, 6], Arc::clone(&dropped));
        let place = owner.0.as_ptr();
        let tensor = Tensor::from_owner(DType::U8, vec![2, 3], Arc::new(owner)).expect("it fits");
        assert_eq!(tensor.bytes().as_ptr(), place);
        assert_eq!(tensor, Tensor::new(DType::U8, vec![2, 3], vec![1, 2, 3, 4, 5, 6]).expect("it fits"));
        let reshaped = tensor.reshaped(vec![6]).expect("as many elements");
        drop(tensor);
        assert_eq!((reshaped.bytes().as_ptr(), dropped.load(Ordering::Relaxed)), (place, 0));
        drop(reshaped);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        let short = Tensor::from_owner(DType::F32, vec![2], Arc::new(vec![0; 7]));
        assert!(matches!(short, Err(TensorError::Length { expected: 8, found: 7, .. })));
    }

    #[test]
    fn a_view_gives_its_bytes_for_as_long_as_they_live() {
        let bytes = vec![7u8; 4];
        let lent = TensorView::new(DType::U8, vec![4], bytes.as_slice()).expect("it fits").into_bytes();
        assert!(matches!(lent, Some(Cow::Borrowed(lent)) if lent.as_ptr() == bytes.as_ptr()));
        let own = TensorView::new(DType::U8, vec![4], bytes).expect("it fits").into_bytes();
        assert!(matches!(own, Some(Cow::Owned(own)) if own == [7; 4]));
        assert!(TensorView::opaque(DType::String, vec![1]).into_bytes().is_none());
    }
}
