//! AscendCL's dump files: the header's length (`u64`, little-endian), a `DumpData` protobuf message, the tensors back
//! to back. One file per operator and run.

mod data_type;
mod files;
mod name;
mod overflow;
mod proto;
mod read;
mod sink;

pub use data_type::{data_type, data_type_name, dtype};
pub use files::DirectoryTarget;
pub use name::{FileName, directory};
pub use read::{AscendFile, AscendTensor, MAPPING};
pub use sink::{AscendSink, ChunkTarget, Chunks};
