//! The graph that a session runs, as ONNX Runtime writes it.

use std::fs::File;
use std::os::fd::AsRawFd;

use memmap2::Mmap;
use prost::Message;
use prost::bytes::Bytes;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::api::{Session, SessionOptions};
use crate::errors::Refusal;
use crate::proto::ModelProto;

/// The largest size of a protobuf message in bytes.
const LARGEST_WRITTEN: u64 = 2 << 30;

/// Loads a model. Returns the session and the graph that it runs, which the library writes to memory, not to disk. The
/// graph is `None` if the library cannot write it, for example because it exceeds two gigabytes. `weights` is their
/// size in bytes.
pub(crate) fn load(
    model: &[u8],
    weights: u64,
    options: &mut SessionOptions,
    inputs: &[String],
    outputs: &[String],
) -> Result<(Session, Option<ModelProto>), Refusal> {
    if weights >= LARGEST_WRITTEN {
        return Ok((Session::load(model, options, inputs, outputs)?, None));
    }
    let memory = memfd_create("opscope", MemfdFlags::CLOEXEC).map(File::from).map_err(|error| error.to_string())?;
    options.write_optimized_model(&format!("/proc/self/fd/{}", memory.as_raw_fd()))?;
    match Session::load(model, options, inputs, outputs) {
        Ok(session) => Ok((session, read(&memory))),
        // Writing the graph may be the reason, because it includes what was computed at load.
        Err(reason) => {
            options.write_optimized_model("")?;
            let session = Session::load(model, options, inputs, outputs).map_err(|_| reason)?;
            Ok((session, None))
        }
    }
}

fn read(memory: &File) -> Option<ModelProto> {
    // SAFETY: the file is memory of this process that nothing else refers to.
    #[allow(unsafe_code)]
    let contents = unsafe { Mmap::map(memory) }.ok()?;
    // The nodes are small compared with the weights, which are not read from here.
    ModelProto::decode(Bytes::from_owner(contents)).ok()
}
