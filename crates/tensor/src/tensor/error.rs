use crate::DType;

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
