//! Tensors as opscope sees them: an element type, a shape and bytes.
//!
//! All bytes are little-endian and row-major. Nothing here knows of a model or an engine.

#![forbid(unsafe_code)]

mod difference;
mod dtype;
mod element;
mod histogram;
pub mod npy;
mod small_float;
mod statistics;
mod tensor;
mod view;

pub use difference::{Difference, DifferenceAccumulator, Tolerance};
pub use dtype::DType;
pub use element::Element;
pub use histogram::{Bin, Histogram};
pub use statistics::{Accumulator, Statistics};
pub use tensor::{Tensor, TensorError};
pub use view::{RemoteTensor, TensorView};
