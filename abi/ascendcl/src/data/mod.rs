//! Data buffers and datasets: the memory of a model's inputs and outputs.

#[allow(unsafe_code, reason = "addresses of the program go to other threads")]
mod buffer;
#[allow(unsafe_code, reason = "addresses of the program go to other threads")]
mod dataset;

pub use buffer::{DataBuffer, MemoryRange};
pub use dataset::{DATASETS, Dataset, aclmdlDataset};
