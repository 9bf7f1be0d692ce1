//! Readers of bytes, for the fuzz targets alone.

pub use crate::trace::fuzzing::{perfetto, rocprof_csv};
