use crate::DType;

/// What can be wrong with a tensor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of bytes does not fit.
    #[error("{dtype} {shape:?} takes {expected} bytes, {found} were given")]
    Length {
        /// The type of the elements.
        dtype: DType,
        /// The shape.
        shape: Vec<usize>,
        /// What they ask for.
        expected: usize,
        /// What there was.
        found: usize,
    },
    /// The shape has more elements than can be addressed.
    #[error("a tensor of shape {0:?} has more bytes than this machine can address")]
    TooLarge(Vec<usize>),
    /// The data has no byte form.
    #[error("a tensor of {0} has no byte form here")]
    NoBytes(DType),
    /// The largest of complex numbers, by value.
    #[error("elements of {0} have no order; they can be compared by their magnitude")]
    NoOrder(DType),
    /// A range reaches past the end.
    #[error("bytes {start}..{end} were asked for in a tensor of {length} bytes")]
    OutOfRange {
        /// First byte asked for.
        start: usize,
        /// One past the last byte asked for.
        end: usize,
        /// The tensor's length.
        length: usize,
    },
    /// The device that holds the data did not give it.
    #[error("the data could not be read from the device: {0}")]
    Remote(String),
}
