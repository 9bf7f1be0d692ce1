//! Tensors: owned, borrowed, and converted to another type.

mod view;

use std::fmt;
use std::sync::Arc;

use half::{bf16, f16};

use crate::{DType, Element};
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

/// Returns the type in which numbers of two types are compared. For two floating-point types it is the coarser one,
/// because it cannot represent the additional precision of the other. Otherwise it is the reference's type.
pub fn compared_in(tensor: DType, reference: DType) -> DType {
    match (significant_bits(tensor), significant_bits(reference)) {
        (Some(ours), Some(theirs)) if ours < theirs => tensor,
        _ => reference,
    }
}

/// Returns the number of significant bits of a floating-point type, or `None` for other types, complex ones included.
fn significant_bits(dtype: DType) -> Option<u32> {
    match dtype {
        DType::F64 => Some(53),
        DType::F32 => Some(24),
        DType::F16 => Some(11),
        DType::Bf16 => Some(8),
        _ => None,
    }
}

/// Returns the number of the type that is nearest to `number`.
pub(crate) fn rounded(dtype: DType, number: f64) -> f64 {
    match dtype {
        DType::F16 => f16::from_f64(number).to_f64(),
        DType::Bf16 => bf16::from_f64(number).to_f64(),
        DType::F32 => f64::from(number as f32),
        _ => number,
    }
}

impl Tensor {
    /// Converts to another floating-point type, rounding each element to the nearest number. Returns `None` if one of
    /// the two types is not a floating-point type of at least 16 bits.
    pub fn cast(&self, dtype: DType) -> Option<Tensor> {
        significant_bits(self.dtype()).and(significant_bits(dtype))?;
        if self.dtype() == dtype {
            return Some(self.clone());
        }
        let mut bytes = Vec::with_capacity(dtype.bytes_of(self.elements())?);
        for index in 0..self.elements() {
            let number = Element::at(self.dtype(), self.bytes(), index)?.to_f64()?;
            match dtype {
                DType::F16 => bytes.extend(f16::from_f64(number).to_le_bytes()),
                DType::Bf16 => bytes.extend(bf16::from_f64(number).to_le_bytes()),
                DType::F32 => bytes.extend((number as f32).to_le_bytes()),
                _ => bytes.extend(number.to_le_bytes()),
            }
        }
        Tensor::new(dtype, self.shape().to_vec(), bytes).ok()
    }
}

/// Why a tensor cannot be created or read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of bytes does not fit the type and the shape.
    #[error("{dtype} {shape:?} takes {expected} bytes, {found} were given")]
    Length {
        /// The element type.
        dtype: DType,
        /// The shape.
        shape: Vec<usize>,
        /// The number of bytes that the type and the shape need.
        expected: usize,
        /// The number of bytes that were given.
        found: usize,
    },
    /// The shape has more elements than can be addressed.
    #[error("a tensor of shape {0:?} has more bytes than this machine can address")]
    TooLarge(Vec<usize>),
    /// A copy does not fit into memory.
    #[error("there is no memory for a copy of {0} bytes")]
    Memory(usize),
    /// The type has no byte form.
    #[error("a tensor of {0} has no byte form here")]
    NoBytes(DType),
    /// Complex numbers cannot be ordered by value.
    #[error("elements of {0} have no order; they can be compared by their magnitude")]
    NoOrder(DType),
    /// The range reaches past the end.
    #[error("bytes {start}..{end} were asked for in a tensor of {length} bytes")]
    OutOfRange {
        /// The first byte of the range.
        start: usize,
        /// One past the last byte of the range.
        end: usize,
        /// The tensor's size, in bytes.
        length: usize,
    },
    /// The device that holds the data could not read it.
    #[error("the data could not be read from the device: {0}")]
    Remote(String),
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

    #[test]
    fn numbers_are_rounded_and_those_that_are_too_large_become_infinite() {
        let tensor = Tensor::from_f32(vec![3], &[1.0 + f32::EPSILON, 70000.0, f32::NAN]).unwrap();
        let halves = tensor.cast(DType::F16).unwrap();
        let numbers: Vec<_> = halves.bytes().as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes)).collect();
        assert_eq!(numbers[..2], [f16::ONE, f16::INFINITY]);
        assert!(numbers[2].is_nan());
        assert_eq!(halves.cast(DType::F32).unwrap().cast(DType::F16).unwrap().bytes()[..4], halves.bytes()[..4]);
        assert!(tensor.cast(DType::I32).is_none());
    }
}
