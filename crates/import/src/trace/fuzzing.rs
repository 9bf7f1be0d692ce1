//! Readers of bytes, for the fuzz targets.

use std::path::Path;
use std::sync::Arc;

use super::assemble::Assembler;
use crate::ImportError;

/// Reads any bytes as Perfetto's format.
pub fn perfetto(bytes: &[u8]) -> Result<(), ImportError> {
    super::perfetto::is_perfetto(bytes);
    super::perfetto::read_from(bytes, Path::new("fuzzed"), &mut empty())
}

/// Reads any bytes as a file of rocprofv3.
pub fn rocprof_csv(bytes: &[u8]) -> Result<(), ImportError> {
    super::rocprof_csv::is_rocprof(bytes);
    super::rocprof_csv::read_from(bytes, Path::new("fuzzed"), &mut empty())
}

fn empty() -> Assembler {
    Assembler::new(Path::new("."), Arc::default())
}
