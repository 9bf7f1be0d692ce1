use std::path::PathBuf;
use std::time::Duration;

use super::CallbackThread;
use crate::TraceError;
use crate::chunk::{MAX_SIZE, Policy};
use crate::record::Bytes;

/// The options of a [`Buffer`](crate::Buffer).
#[derive(Debug, Clone)]
pub struct BufferOptions {
    /// The payload bytes that it holds, rounded up to a multiple of 8. At least 1.
    pub size: Bytes,
    /// The payload bytes after which a callback becomes due: 0 (after every record) to `size`. A batch ends at the record
    /// that reaches it, however late the callback comes.
    pub watermark: Bytes,
    /// What happens when the buffer is full.
    pub policy: Policy,
    /// The time after which records below the watermark are delivered, too.
    pub interval: Option<Duration>,
    /// The thread that calls the callback. By default all buffers share one.
    pub thread: CallbackThread,
    /// A file that holds the records, so that they survive the process: [`recover`](crate::recover) reads it. It must not
    /// exist yet. It takes about three times the size, most of which is never written to. `docs/records.md` describes its
    /// layout.
    pub file: Option<PathBuf>,
}

impl Default for BufferOptions {
    /// 8 MiB, a callback per MiB, lossless.
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

impl BufferOptions {
    /// Checks whether a buffer can have these options.
    pub(super) fn check(&self) -> Result<(), TraceError> {
        let Self { size, watermark, interval, .. } = *self;
        if size.get() == 0 {
            return Err(TraceError::ZeroSize);
        }
        if size.get() > MAX_SIZE {
            return Err(TraceError::SizeTooLarge(size));
        }
        if interval == Some(Duration::ZERO) {
            return Err(TraceError::ZeroInterval);
        }
        if watermark > size {
            return Err(TraceError::WatermarkAboveSize { watermark, size });
        }
        Ok(())
    }
}
