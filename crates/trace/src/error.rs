use std::io;
use std::path::PathBuf;

use crate::record::{BufferId, Bytes, ContextId, Kind, Operation};

/// The errors of records, buffers and contexts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The size of a buffer is 0.
    #[error("a buffer of 0 bytes holds no record; give it a size of at least 8 bytes")]
    ZeroSize,
    /// The size of a buffer is above the largest one.
    #[error("a buffer cannot hold {0}; the largest size is 64 GiB")]
    SizeTooLarge(Bytes),
    /// The interval of a buffer is 0.
    #[error("a buffer cannot be flushed every 0 ns; leave the interval out, or make it longer")]
    ZeroInterval,
    /// The watermark of a buffer is above its size.
    #[error("a watermark of {watermark} is never reached in a buffer of {size}; it may be 0 to the size")]
    WatermarkAboveSize {
        /// The watermark.
        watermark: Bytes,
        /// The buffer's size.
        size: Bytes,
    },
    /// A text is not the name of a policy.
    #[error("unknown policy '{0}'; it is lossless, discard or overwrite")]
    UnknownPolicy(String),
    /// A record has no payload.
    #[error("a record of 0 bytes holds nothing; a record has at least 1 byte")]
    EmptyRecord,
    /// A record does not fit into a chunk of the buffer.
    #[error("a record of {length} bytes does not fit into a chunk of {buffer}; the longest is {limit} bytes")]
    RecordTooLarge {
        /// The bytes of the record's payload.
        length: usize,
        /// The bytes of the longest payload.
        limit: usize,
        /// The buffer.
        buffer: BufferId,
    },
    /// The buffer is destroyed.
    #[error("{0} was destroyed")]
    BufferDestroyed(BufferId),
    /// The call would wait for the callback that it is made from.
    #[error("{0} is delivering on this very thread; flush and wait outside of its callback")]
    Busy(BufferId),
    /// The buffer is full, and the callback that emitted the record would have to return to free space.
    #[error(
        "{0} is full, and only the callback that emits this record could free room; emit into another buffer, or make this one larger"
    )]
    FullInCallback(BufferId),
    /// The record was emitted by a signal handler that interrupted another call of its thread.
    #[error(
        "the record was dropped and is counted: its signal handler interrupted another call of opscope on this thread"
    )]
    Interrupted,
    /// A wait has timed out.
    #[error("{0} was not delivered in the time given; the delivery continues, flush again to wait for it")]
    TimedOut(BufferId),
    /// The context already traces the kind.
    #[error("{context} already traces {kind}; a context traces a kind into one buffer")]
    KindConfigured {
        /// The context.
        context: ContextId,
        /// The kind.
        kind: Kind,
    },
    /// The kind does not have the operation.
    #[error("{kind} has no operation {}; its operations are 0 to {}", .operation.0, .kind.operations().count() - 1)]
    UnknownOperation {
        /// The kind.
        kind: Kind,
        /// The operation.
        operation: Operation,
    },
    /// The buffer serves another context.
    #[error("{buffer} belongs to {owner}, not to {context}; create a buffer for each context")]
    BufferOfAnotherContext {
        /// The buffer.
        buffer: BufferId,
        /// The context that it serves.
        owner: ContextId,
        /// The context that was to be configured.
        context: ContextId,
    },
    /// The context is destroyed.
    #[error("{0} was destroyed")]
    ContextDestroyed(ContextId),
    /// The context is not started.
    #[error("{0} is not started")]
    ContextNotStarted(ContextId),
    /// The operating system refused a resource.
    #[error("the operating system refused {what}: {source}")]
    System {
        /// The resource.
        what: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file of a buffer cannot be created.
    #[error("cannot create the buffer's file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}
