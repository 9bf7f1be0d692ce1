//! Data buffers and datasets: where a model's inputs and outputs lie.

mod buffer;
mod dataset;

pub use buffer::{DataBuffer, Place};
pub use dataset::{DATASETS, Dataset, aclmdlDataset};
