//! The layout of a buffer's file. `docs/records.md` describes it for readers in other languages. All numbers are
//! little-endian, and 64 bits wide unless noted otherwise.

use crate::chunk::Policy;

/// The head's length. The chunks follow the head, and the names follow the chunks.
pub(super) const HEAD_BYTES: usize = 4096;

/// `OPSCREC` and the byte 1.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"OPSCREC\x01");
pub(super) const VERSION: u64 = 1;

pub(super) const SOURCE_COUNTER: u64 = 1;
pub(super) const SOURCE_SYSTEM: u64 = 2;

/// The offsets of the words in the head.
pub(super) mod word {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    /// The payload bytes that the buffer holds.
    pub(crate) const SIZE: usize = 16;
    /// The payload bytes that a chunk is made for.
    pub(crate) const SHARE: usize = 24;
    /// The distance between the starts of two chunks.
    pub(crate) const STRIDE: usize = 32;
    /// The number of chunks.
    pub(crate) const COUNT: usize = 40;
    /// The policy, see [`policy_number`](super::policy_number).
    pub(crate) const POLICY: usize = 48;
    /// The source of ticks: 1 is the time-stamp counter, 2 is nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const TICK_SOURCE: usize = 56;
    /// The process that emitted.
    pub(crate) const PROCESS: usize = 64;
    /// The buffer's number in that process.
    pub(crate) const BUFFER: usize = 72;
    /// Ticks and CLOCK_BOOTTIME nanoseconds when the buffer was created.
    pub(crate) const FIRST_CLOCKS: usize = 80;
    /// The same pair when the last callback returned.
    pub(crate) const LAST_CLOCKS: usize = 96;
    /// The number of records that callbacks received.
    pub(crate) const DELIVERED: usize = 112;
    /// The number of records that were dropped.
    pub(crate) const DROPPED: usize = 120;
    /// 1 when the buffer has ended and delivered everything.
    pub(crate) const ENDED: usize = 128;
}

/// The head of a name: its number and its length in bytes (32 bits each). The text follows, padded with zeroes to a
/// multiple of 8.
pub(super) const NAME_HEAD: usize = 8;

/// Returns the number that stands for a policy.
pub(super) fn policy_number(policy: Policy) -> u64 {
    match policy {
        Policy::Lossless => 0,
        Policy::Discard => 1,
        Policy::Overwrite => 2,
    }
}

/// Returns the policy that a number stands for; `Lossless` for an unknown number.
pub(super) fn policy_of_number(number: u64) -> Policy {
    Policy::ALL.into_iter().find(|policy| policy_number(*policy) == number).unwrap_or(Policy::Lossless)
}
