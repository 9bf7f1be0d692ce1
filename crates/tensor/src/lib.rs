//! Tensors: an element type, a shape and bytes.
//!
//! All bytes are little-endian and row-major. This crate does not know about models or engines.

#![forbid(unsafe_code)]

mod difference;
mod dtype;
mod element;
mod file;
pub mod npy;
pub mod npz;
mod scan;
mod slice;
mod statistics;
mod tensor;

pub use difference::{Difference, DifferenceAccumulator, Tolerance};
pub use dtype::DType;
pub use element::Element;
pub use file::open_regular;
pub use scan::{Bin, Detail, Histogram, Scan, ScanQuery, ScanResult, TopBy, top_k};
pub use slice::{Axis, Region, Slice, SliceError};
pub use statistics::{Accumulator, Statistics};
pub use tensor::{RemoteTensor, Tensor, TensorError, TensorView, compared_in};
