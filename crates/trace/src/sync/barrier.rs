//! A memory barrier that puts the whole cost on one side.
//!
//! An emitting thread raises a flag and reads its limit. A thread that takes space away lowers the limit and reads the
//! flag. One of them must see the other's store, which takes a full fence on both sides: 5 to 20 ns for each record.
//! With `membarrier` the rare side pays for both. It makes every running thread of the process execute a full fence,
//! and the emitting side only keeps the compiler from reordering.

#[cfg(not(any(loom, opscope_no_fences)))]
pub(crate) use asymmetric::{heavy, is_one_sided, light, prepare};
#[cfg(any(loom, opscope_no_fences))]
pub(crate) use symmetric::{heavy, is_one_sided, light, prepare};

#[cfg(not(any(loom, opscope_no_fences)))]
mod asymmetric {
    use std::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

    use rustix::thread::{MembarrierCommand, membarrier};

    const UNKNOWN: u8 = 0;
    const EXPEDITED: u8 = 1;
    const FENCES: u8 = 2;

    /// The kind of barrier in use. It is decided before the first buffer exists, so that both sides agree.
    static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// The barrier of the emitting side.
    #[inline(always)]
    pub(crate) fn light() {
        if MODE.load(Ordering::Relaxed) == EXPEDITED {
            compiler_fence(Ordering::SeqCst)
        } else {
            fence(Ordering::SeqCst)
        }
    }

    /// Returns whether the emitting side may use [`none`](super::none) from now on.
    pub(crate) fn is_one_sided() -> bool {
        mode() == EXPEDITED
    }

    /// The barrier of the other side. It takes 1 to 10 µs.
    pub(crate) fn heavy() {
        if mode() == EXPEDITED && membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            // The child of a registered process may not be registered itself.
            let again = membarrier(MembarrierCommand::RegisterPrivateExpedited)
                .and_then(|()| membarrier(MembarrierCommand::PrivateExpedited));
            again.expect("membarrier worked before the fork");
        }
        fence(Ordering::SeqCst);
    }

    fn mode() -> u8 {
        match MODE.load(Ordering::Relaxed) {
            UNKNOWN => {
                // A thread that still reads UNKNOWN uses fences, which are correct in either mode.
                let registered = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
                MODE.store(if registered { EXPEDITED } else { FENCES }, Ordering::Relaxed);
                mode()
            }
            known => known,
        }
    }

    /// Decides the mode.
    pub(crate) fn prepare() {
        mode();
    }
}

/// The barrier of the emitting side if [`is_one_sided`] holds: it only keeps the compiler from reordering.
#[inline(always)]
pub(crate) fn none() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// The barrier for loom, which has no `membarrier`, and for the thread sanitizer, which understands neither
/// `membarrier` nor fences.
#[cfg(any(loom, opscope_no_fences))]
mod symmetric {
    #[cfg(loom)]
    pub(crate) fn light() {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    }

    #[cfg(not(loom))]
    static TURN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    /// A read-modify-write of this one word orders the accesses of all threads before and after it.
    #[cfg(not(loom))]
    pub(crate) fn light() {
        TURN.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
    }

    pub(crate) fn heavy() {
        light();
    }

    pub(crate) fn is_one_sided() -> bool {
        false
    }

    pub(crate) fn prepare() {}
}
