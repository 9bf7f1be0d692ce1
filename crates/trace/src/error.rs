use std::io;
use std::path::PathBuf;

use crate::record::{BufferId, Bytes, ContextId, Kind, Operation};

/// What can be wrong with a record, a buffer or a context.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A buffer of no size.
    #[error("a buffer of 0 bytes holds no record; give it a size of at least 8 bytes")]
    ZeroSize,
    /// A buffer larger than can be addressed.
    #[error("a buffer of {0} is more than this machine can address; 64 GiB is the most")]
    SizeTooLarge(Bytes),
    /// An interval that is over at once.
    #[error("a buffer cannot be flushed every 0 ns; leave the interval out, or give it a length")]
    ZeroInterval,
    /// A watermark that is never reached.
    #[error("a watermark of {watermark} is never reached in a buffer of {size}; it may be 0 to the size")]
    WatermarkAboveSize {
        /// What was asked for.
        watermark: Bytes,
        /// The buffer's size.
        size: Bytes,
    },
    /// A text that is not the name of a policy.
    #[error("unknown policy '{0}'; it is lossless, discard or overwrite")]
    UnknownPolicy(String),
    /// A record without a payload.
    #[error("a record of 0 bytes holds nothing; a record has at least 1 byte")]
    EmptyRecord,
    /// A record that no chunk of the buffer can hold.
    #[error("a record of {length} bytes does not fit into a chunk of {buffer}; the longest is {limit} bytes")]
    RecordTooLarge {
        /// The record's payload.
        length: usize,
        /// The longest payload.
        limit: usize,
        /// The buffer.
        buffer: BufferId,
    },
    /// The buffer is gone.
    #[error("{0} was destroyed")]
    BufferDestroyed(BufferId),
    /// The call would wait for the callback that it is made from.
    #[error("{0} is delivering on this very thread; flush and wait outside of its callback")]
    Busy(BufferId),
    /// A record that only its own callback could make room for.
    #[error("{0} is full, and only the callback that emits this record could make room")]
    FullInCallback(BufferId),
    /// A wait came to its end before what was waited for.
    #[error("{0} was not delivered in the time given; it goes on, wait again")]
    TimedOut(BufferId),
    /// A kind that the context has already.
    #[error("{context} traces {kind} already; a context traces a kind into one buffer")]
    KindConfigured {
        /// The context.
        context: ContextId,
        /// The kind.
        kind: Kind,
    },
    /// An operation that the kind does not have.
    #[error("{kind} has no operation {}; it has 0 to {}", .operation.0, .kind.operations().count() - 1)]
    UnknownOperation {
        /// The kind.
        kind: Kind,
        /// What was asked for.
        operation: Operation,
    },
    /// A buffer that serves another context.
    #[error("{buffer} belongs to {owner}, not to {context}; create a buffer for each context")]
    BufferOfAnotherContext {
        /// The buffer.
        buffer: BufferId,
        /// Whose it is.
        owner: ContextId,
        /// Who asked for it.
        context: ContextId,
    },
    /// The context is gone.
    #[error("{0} was destroyed")]
    ContextDestroyed(ContextId),
    /// The context is not started.
    #[error("{0} is not started")]
    ContextNotStarted(ContextId),
    /// An empty stack.
    #[error("this thread has no external correlation id to take back")]
    NoExternalId,
    /// The operating system did not give what was needed.
    #[error("the operating system refused {what}: {source}")]
    System {
        /// What was needed.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// A buffer's file could not be made.
    #[error("the buffer's file {path} could not be made: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}
