//! numpy's `.npy` format. Versions 1.0 to 3.0 are read, in both byte orders and both element orders. Version 1.0 is
//! written, little-endian and row-major, with the data at a multiple of 64 bytes.
//!
//! numpy's documentation of `numpy.lib.format` describes the format.

mod dict;
mod header;
mod read;

pub use header::{ByteOrder, Header, header, write};
pub use read::{data, open, read, read_file, read_opened};

/// Why an `.npy` file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file does not begin with the magic bytes.
    #[error("this is not an npy file: {}", not_magic(.found))]
    Magic {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// The version of the format is not known.
    #[error("npy version {major}.{minor} is not known; 1.0, 2.0 and 3.0 are")]
    Version {
        /// The major version.
        major: u8,
        /// The minor version.
        minor: u8,
    },
    /// The header is malformed.
    #[error("the npy header is wrong at byte {at} of its dictionary: {reason}")]
    Header {
        /// The offset in the dictionary's text.
        at: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The element type is not supported.
    #[error("npy type '{0}' is not supported; booleans, integers, floats of 2, 4 and 8 bytes and complex numbers are")]
    Type(String),
    /// The npy format does not have the element type.
    #[error("the npy format has no type for {0}")]
    NoNpyType(crate::DType),
    /// The data does not have the length that the header gives.
    #[error("the npy header asks for {expected} bytes of data, the file has {found}")]
    Length {
        /// The number of bytes that shape and type need.
        expected: u64,
        /// The number of bytes after the header.
        found: u64,
    },
    /// The data is column-major and too large to be converted.
    #[error(
        "its elements are in column-major order and have {bytes} bytes, more than can be turned around; save it row-major"
    )]
    ColumnMajor {
        /// The size of the data, in bytes.
        bytes: usize,
    },
    /// The shape and the type do not form a valid tensor.
    #[error(transparent)]
    Tensor(#[from] crate::TensorError),
    /// Reading or writing failed. This includes a file that ends within the header.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Returns the description of the first bytes of a file that is not an npy file.
fn not_magic(found: &[u8]) -> String {
    match found {
        [] => "it is empty".to_owned(),
        found => format!("it begins with {found:02x?} instead of 93 'NUMPY'"),
    }
}
