//! Data buffers and datasets: where a model's inputs and outputs lie.

#[allow(unsafe_code, reason = "addresses of the program go to other threads")]
mod buffer;
#[allow(unsafe_code, reason = "addresses of the program go to other threads")]
mod dataset;

pub use buffer::{DataBuffer, Place};
pub use dataset::{DATASETS, Dataset, aclmdlDataset};
