//! The graph that a session runs, as ONNX Runtime writes it.

use std::fs::File;
use std::os::fd::AsRawFd;

use memmap2::Mmap;
use prost::Message;
use prost::bytes::Bytes;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::api::{Session, SessionOptions};
use crate::proto::ModelProto;

/// The most bytes of a message of protobuf.
const LARGEST_WRITTEN: u64 = 2 << 30;

/// Loads a model and returns, beside the session, the graph that it runs. The library writes it to memory, not to a disk. `None` if it
/// cannot write the graph, as one of more than two gigabytes. `weights` are their bytes.
pub(crate) fn load(
    model: &[u8],
    weights: u64,
    options: &mut SessionOptions,
    inputs: &[String],
    outputs: &[String],
) -> Result<(Session, Option<ModelProto>), String> {
    if weights >= LARGEST_WRITTEN {
        return Ok((Session::load(model, options, inputs, outputs)?, None));
    }
    let memory = memfd_create("opscope", MemfdFlags::CLOEXEC).map(File::from).map_err(|error| error.to_string())?;
    options.write_optimized_model(&format!("/proc/self/fd/{}", memory.as_raw_fd()))?;
    match Session::load(model, options, inputs, outputs) {
        Ok(session) => Ok((session, read(&memory))),
        // It may be that the graph could not be written: what was computed at load is a part of it.
        Err(reason) => {
            options.write_optimized_model("")?;
            let session = Session::load(model, options, inputs, outputs).map_err(|_| reason)?;
            Ok((session, None))
        }
    }
}

fn read(memory: &File) -> Option<ModelProto> {
    // SAFETY: the file is memory of this process that nothing else knows.
    #[allow(unsafe_code)]
    let contents = unsafe { Mmap::map(memory) }.ok()?;
    // The nodes are small beside the weights, which are not read from here.
    ModelProto::decode(Bytes::from_owner(contents)).ok()
}
