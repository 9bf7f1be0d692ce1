//! numpy's `.npy` format: read in versions 1.0 to 3.0, in both byte and element orders; written as version 1.0,
//! little-endian and row-major, with the data at a multiple of 64 bytes.
//!
//! The format is described by numpy's `numpy.lib.format`.

mod dict;
mod header;
mod read;
mod write;

pub use header::{ByteOrder, Header};
pub use read::{data, open, read, read_file, read_opened};
pub use write::{header, write};

/// Why an `.npy` file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file does not begin as the format asks.
    #[error("this is no npy file: it begins with {found:02x?} instead of 93 'NUMPY'")]
    Magic {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// A version of the format that is not known.
    #[error("npy version {major}.{minor} is not known; 1.0, 2.0 and 3.0 are")]
    Version {
        /// First number.
        major: u8,
        /// Second number.
        minor: u8,
    },
    /// The header is not what the format asks for.
    #[error("the npy header is wrong at byte {at} of its dictionary: {reason}")]
    Header {
        /// Offset in the dictionary's text.
        at: usize,
        /// What was expected there.
        reason: String,
    },
    /// An element type that is not known.
    #[error("npy type '{0}' is not supported; booleans, integers, floats of 2, 4 and 8 bytes and complex numbers are")]
    Type(String),
    /// An element type that the format cannot hold.
    #[error("the npy format has no type for {0}")]
    NoNpyType(crate::DType),
    /// The data is not as long as the header says.
    #[error("the npy header asks for {expected} bytes of data, the file has {found}")]
    Length {
        /// What shape and type ask for.
        expected: u64,
        /// What follows the header.
        found: u64,
    },
    /// Column-major data that is too large to be turned around.
    #[error(
        "its elements are in column-major order and have {bytes} bytes, more than can be turned around; save it row-major"
    )]
    ColumnMajor {
        /// The bytes of the data.
        bytes: usize,
    },
    /// What shape and type ask for cannot be a tensor.
    #[error(transparent)]
    Tensor(#[from] crate::TensorError),
    /// Reading or writing failed; an end within the header is among these.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
