//! Tensors: an element type, a shape and bytes.
//!
//! All bytes are little-endian and row-major. This crate does not know about models or engines.
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `scan` | counts, extremes and histograms of a tensor or a part of it, in one pass |
//! | `statistics` | mean, deviation and norms |
//! | `difference` | how far two tensors are from each other, and tolerances |
//! | `npz`, `npy` | numpy's files |
//! | `slice` | parts of a tensor, in numpy's syntax |
//! | `tensor` | a tensor, a view of one, and one that the host cannot address |
//! | `element` | one element as a number |
//! | `dtype` | element types, in one table |
//! | `digest` | the hash of a file or of elements |

#![forbid(unsafe_code)]

mod difference;
mod digest;
mod dtype;
mod element;
mod groups;
mod hash;
pub mod npy;
pub mod npz;
mod scan;
mod slice;
mod statistics;
mod tensor;

pub use difference::{Difference, DifferenceAccumulator, Tolerance};
pub use digest::Digest;
pub use dtype::DType;
pub use element::Element;
pub use scan::{Bin, Detail, Histogram, Scan, ScanQuery, ScanResult, TopBy, top_k};
pub use slice::{Axis, Region, Slice, SliceError};
pub use statistics::{Accumulator, Statistics};
pub use tensor::{RemoteTensor, Tensor, TensorError, TensorView, compared_in};
