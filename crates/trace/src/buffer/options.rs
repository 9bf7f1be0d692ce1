use std::path::PathBuf;
use std::time::Duration;

use crate::{Bytes, CallbackThread, Policy};

/// What a buffer is to be.
#[derive(Debug, Clone)]
pub struct BufferOptions {
    /// How many bytes of payload it holds, rounded up to a multiple of 8. At least 1.
    pub size: Bytes,
    /// After how many bytes of payload a callback becomes due: 0 (after every record) to `size`. A batch ends at the record
    /// that reaches it, however late the callback comes.
    pub watermark: Bytes,
    /// What happens when it is full.
    pub policy: Policy,
    /// After how long what is there is delivered even below the watermark.
    pub interval: Option<Duration>,
    /// The thread that calls back; the default one is shared by all buffers that name no other.
    pub thread: CallbackThread,
    /// A file that holds the records, so that they survive the process: [`recover`](crate::recover) reads it back. It must
    /// not exist yet, and takes about three times the size, most of which is never written to. `docs/records.md` has its
    /// layout.
    pub file: Option<PathBuf>,
}

impl Default for BufferOptions {
    /// 8 MiB, a callback each MiB, nothing lost.
    fn default() -> Self {
        Self {
            size: Bytes::mib(8),
            watermark: Bytes::mib(1),
            policy: Policy::Lossless,
            interval: None,
            thread: CallbackThread::shared(),
            file: None,
        }
    }
}
