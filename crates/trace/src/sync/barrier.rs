//! A fence whose cost lies on one side.
//!
//! An emitting thread raises a flag and looks at its limit; a thread that takes something away lowers the limit and looks
//! at the flag. One of them must see the other, which takes a full fence on both sides: 5 to 20 ns for each record. With
//! `membarrier` the rare side pays for both: it makes every running thread of the process execute a full fence, and the
//! emitting side only keeps the compiler from reordering.

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

    /// What [`light`] may rely on. Decided before the first buffer exists, so that both sides agree.
    static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// The emitting side.
    #[inline(always)]
    pub(crate) fn light() {
        if MODE.load(Ordering::Relaxed) == EXPEDITED {
            compiler_fence(Ordering::SeqCst)
        } else {
            fence(Ordering::SeqCst)
        }
    }

    /// Whether the emitting side may leave its fence out, for good: then [`none`](super::none) does.
    pub(crate) fn is_one_sided() -> bool {
        mode() == EXPEDITED
    }

    /// The other side. 1 to 10 µs.
    pub(crate) fn heavy() {
        if mode() == EXPEDITED && membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            // A copy of a registered process need not be registered itself.
            let again = membarrier(MembarrierCommand::RegisterPrivateExpedited)
                .and_then(|()| membarrier(MembarrierCommand::PrivateExpedited));
            again.expect("what worked before the fork works after it");
        }
        fence(Ordering::SeqCst);
    }

    fn mode() -> u8 {
        match MODE.load(Ordering::Relaxed) {
            UNKNOWN => {
                // A thread that still reads UNKNOWN uses fences, which serve in either mode.
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

/// The emitting side where only the compiler must be kept from reordering.
#[inline(always)]
pub(crate) fn none() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

/// For loom, which has no `membarrier`, and for the thread sanitizer, which understands neither that nor fences.
#[cfg(any(loom, opscope_no_fences))]
mod symmetric {
    #[cfg(loom)]
    pub(crate) fn light() {
        loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    }

    #[cfg(not(loom))]
    static TURN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    /// A read-modify-write of one word orders what all threads did before and after it.
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
