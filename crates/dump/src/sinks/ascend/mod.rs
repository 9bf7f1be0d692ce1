//! AscendCL's dump files: the header's length (`u64`, little-endian), a `DumpData` protobuf message, the tensors back
//! to back. One file per operator and run.

mod files;
mod name;
mod overflow;
mod proto;
mod read;
mod sink;

pub use files::DirectoryTarget;
pub use name::{FileName, data_type, data_type_name, directory, dtype};
pub use read::{AscendFile, AscendTensor, MAPPING};
pub use sink::{AscendSink, ChunkTarget, Chunks};
