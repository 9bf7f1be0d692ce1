use std::path::PathBuf;
use std::time::Duration;

use super::CallbackThread;
use super::state::BufferState;
use crate::TraceError;
use crate::chunk::{MAX_SIZE, Policy, Region};
use crate::record::Bytes;

/// The options of a [`Buffer`](crate::Buffer).
#[derive(Debug, Clone)]
pub struct BufferOptions {
    /// The payload bytes that the buffer holds, rounded up to a multiple of 8. At least 1.
    pub size: Bytes,
    /// The payload bytes after which a callback becomes due: 0 (after every record) to `size`. A batch ends at the
    /// record that reaches it, however late the callback comes.
    pub watermark: Bytes,
    /// What happens when the buffer is full.
    pub policy: Policy,
    /// The interval after which records below the watermark are delivered, too.
    pub interval: Option<Duration>,
    /// Whether a flush and the end of the buffer also call the callback if no record waits but records were dropped
    /// since the last call. The batch is empty in that case.
    pub reports_drops: bool,
    /// The thread that calls the callback. By default all buffers share one.
    pub thread: CallbackThread,
    /// A file that holds the records, so that they survive the process: [`recover`](crate::recover) reads it. It must
    /// not exist yet. It has about three times the buffer's size, most of which is never written to. `docs/records.md`
    /// describes its layout.
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
            reports_drops: false,
            thread: CallbackThread::shared(),
            file: None,
        }
    }
}

impl BufferOptions {
    /// Returns the state of an empty buffer with these options.
    pub(super) fn state(&self, region: Region) -> BufferState {
        let mut state = BufferState::new(region, self.watermark.get() as usize, self.policy);
        if self.reports_drops {
            state.report_drops();
        }
        state
    }

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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_and_the_limits_are_those_of_their_descriptions() {
        let default = BufferOptions::default();
        assert_eq!((default.size.get(), default.watermark.get()), (8_388_608, 1_048_576));
        assert_eq!((default.policy, default.interval, default.file.is_none()), (Policy::Lossless, None, true));
        let checked = |size: u64, watermark: u64, interval| {
            let (size, watermark) = (Bytes::new(size), Bytes::new(watermark));
            BufferOptions { size, watermark, interval, ..BufferOptions::default() }.check()
        };
        assert!(checked(1, 0, None).is_ok() && checked(1, 1, None).is_ok());
        assert!(checked(68_719_476_736, 68_719_476_736, Some(Duration::from_nanos(1))).is_ok());
        assert!(matches!(checked(0, 0, None), Err(TraceError::ZeroSize)));
        assert!(matches!(checked(68_719_476_737, 0, None), Err(TraceError::SizeTooLarge(_))));
        assert!(matches!(checked(8, 9, None), Err(TraceError::WatermarkAboveSize { .. })));
        assert!(matches!(checked(8, 8, Some(Duration::ZERO)), Err(TraceError::ZeroInterval)));
    }
}
