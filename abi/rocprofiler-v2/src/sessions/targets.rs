//! The destinations of the active session's records. Traced calls read only these, without a lock.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_trace::BufferId;

use super::sync::{self, SyncCallback};
use crate::kinds::DOMAINS;
use crate::layout::Handle;

/// The buffer that one kind of records goes into.
pub struct Target {
    /// The number of the buffer; 0 for none.
    buffer: AtomicU64,
}

/// The buffer that activities go into, and their domain there.
pub struct ActivityTarget {
    /// The number of the buffer, with the domain in the lowest bits, so that no thread reads the two from different
    /// sessions; 0 for none.
    packed: AtomicU64,
}

/// The destination of ROCTx calls, if no callback receives them.
pub static ROCTX: Target = Target { buffer: AtomicU64::new(0) };
/// The destination of dispatches.
pub static DISPATCHES: Target = Target { buffer: AtomicU64::new(0) };
/// The destination of activities.
pub static ACTIVITIES: ActivityTarget = ActivityTarget { packed: AtomicU64::new(0) };

/// The buffers that a session wants records in.
#[derive(Default)]
pub struct Wanted {
    pub roctx: Option<BufferId>,
    pub dispatches: Option<BufferId>,
    pub activities: Option<(BufferId, c_int)>,
    pub sync: Option<SyncCallback>,
}

impl Target {
    /// Returns the number of its buffer, if it has one.
    #[inline(always)]
    pub fn get(&self) -> Option<BufferId> {
        match self.buffer.load(Ordering::Acquire) {
            0 => None,
            number => Some(BufferId::from_raw(number)),
        }
    }

    fn set(&self, buffer: Option<BufferId>) {
        self.buffer.store(buffer.map_or(0, BufferId::as_raw), Ordering::Release);
    }
}

impl ActivityTarget {
    const DOMAIN_BITS: u32 = 3;
    const DOMAIN_MASK: u64 = (1 << Self::DOMAIN_BITS) - 1;

    /// Returns the number of the buffer and the domain, if there is a buffer.
    #[inline(always)]
    pub fn get(&self) -> Option<(BufferId, c_int)> {
        match self.packed.load(Ordering::Acquire) {
            0 => None,
            packed => Some((BufferId::from_raw(packed >> Self::DOMAIN_BITS), (packed & Self::DOMAIN_MASK) as c_int)),
        }
    }

    fn set(&self, target: Option<(BufferId, c_int)>) {
        let packed = target.map_or(0, |(buffer, domain)| buffer.as_raw() << Self::DOMAIN_BITS | domain as u64);
        self.packed.store(packed, Ordering::Release);
    }
}

const _: () = assert!(DOMAINS as u64 - 1 <= ActivityTarget::DOMAIN_MASK);

/// Sets the destinations that a session wants.
pub fn set(session: Handle, wanted: &Wanted) {
    sync::set(wanted.sync.map(|callback| (callback, session)));
    ACTIVITIES.set(wanted.activities);
    DISPATCHES.set(wanted.dispatches);
    ROCTX.set(wanted.roctx);
}
