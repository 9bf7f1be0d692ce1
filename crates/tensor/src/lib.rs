//! Tensors as opscope sees them: an element type, a shape and bytes.
//!
//! All bytes are little-endian and row-major. Nothing here knows of a model or an engine.

#![forbid(unsafe_code)]

mod cast;
mod difference;
mod dtype;
mod element;
mod histogram;
pub mod npy;
mod regular;
mod scan;
mod slice;
mod small_float;
mod statistics;
mod tensor;
mod top;
mod view;

pub use cast::compared_in;
pub use difference::{Difference, DifferenceAccumulator, Tolerance};
pub use dtype::DType;
pub use element::Element;
pub use histogram::{Bin, Histogram};
pub use regular::open_regular;
pub use scan::{Asked, Depth, Findings, Scan};
pub use slice::{Axis, Region, Slice, SliceError};
pub use statistics::{Accumulator, Statistics};
pub use tensor::{Tensor, TensorError};
pub use top::{TopBy, top_k};
pub use view::{RemoteTensor, TensorView};
