//! The layout of a buffer's file. `docs/records.md` describes it for readers in other languages. All numbers are
//! little-endian, 64 bits wide unless it says otherwise.

/// The head's length. The chunks follow it, and after the chunks come the names.
pub(super) const HEAD_BYTES: usize = 4096;

/// `OPSCREC` and the byte 1.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"OPSCREC\x01");
pub(super) const VERSION: u64 = 1;

pub(super) const SOURCE_COUNTER: u64 = 1;
pub(super) const SOURCE_SYSTEM: u64 = 2;

/// What stands where in the head.
pub(super) mod word {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    /// Payload bytes that the buffer holds.
    pub(crate) const SIZE: usize = 16;
    /// Payload bytes that a chunk is made for.
    pub(crate) const SHARE: usize = 24;
    /// How far chunks lie apart.
    pub(crate) const STRIDE: usize = 32;
    /// How many chunks there are.
    pub(crate) const COUNT: usize = 40;
    /// 0 lossless, 1 discard, 2 overwrite.
    pub(crate) const POLICY: usize = 48;
    /// What ticks are: 1 the time-stamp counter, 2 nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const TICK_SOURCE: usize = 56;
    /// The process that emitted.
    pub(crate) const PROCESS: usize = 64;
    /// The buffer's number in it.
    pub(crate) const BUFFER: usize = 72;
    /// Ticks and CLOCK_BOOTTIME nanoseconds when the buffer was made.
    pub(crate) const FIRST_CLOCKS: usize = 80;
    /// The same when a callback returned last.
    pub(crate) const LAST_CLOCKS: usize = 96;
    /// Records that callbacks have got.
    pub(crate) const DELIVERED: usize = 112;
    /// Records that were dropped.
    pub(crate) const DROPPED: usize = 120;
    /// 1 when the buffer has ended and delivered everything.
    pub(crate) const ENDED: usize = 128;
}

/// A name: its number and its length in bytes (32 bits each), then the text, filled up with zeroes to a multiple of 8.
pub(super) const NAME_HEAD: usize = 8;
