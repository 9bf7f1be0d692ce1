use std::sync::atomic::{AtomicBool, Ordering};

use crate::KernelId;

/// Kernels that an observer wants to be called for, switched on and off from any thread while runs go on.
///
/// Asking is one relaxed load. So a change is seen soon, by a dispatch that begins after whatever tells its thread of it;
/// one that began before may miss it.
#[derive(Debug)]
pub struct LiveMask(Box<[AtomicBool]>);

impl LiveMask {
    /// A mask for a plan of so many kernels, all of them off.
    pub fn new(kernels: usize) -> Self {
        Self((0..kernels).map(|_| AtomicBool::new(false)).collect())
    }

    /// Switches a kernel on or off. One that the plan does not have stays off.
    pub fn set(&self, kernel: KernelId, wanted: bool) {
        if let Some(bit) = self.0.get(kernel.index()) {
            bit.store(wanted, Ordering::Relaxed);
        }
    }

    /// Switches all kernels on or off.
    pub fn set_all(&self, wanted: bool) {
        self.0.iter().for_each(|bit| bit.store(wanted, Ordering::Relaxed));
    }

    /// Whether a kernel is switched on.
    #[inline]
    pub fn contains(&self, kernel: KernelId) -> bool {
        self.0.get(kernel.index()).is_some_and(|bit| bit.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, KernelSet};
    use std::sync::Arc;

    #[test]
    fn a_live_mask_is_obeyed_as_it_stands_and_is_never_nothing() {
        let mask = Arc::new(LiveMask::new(3));
        let which = KernelSet::Live(Arc::clone(&mask));
        let wanted = || (0..5).map(|index| which.contains(KernelId::new(index))).collect::<Vec<_>>();
        assert_eq!(wanted(), [false; 5]);
        mask.set(KernelId::new(1), true);
        mask.set(KernelId::new(4), true);
        assert_eq!(wanted(), [false, true, false, false, false], "there is no kernel 4");
        mask.set_all(true);
        assert_eq!(wanted(), [true, true, true, false, false]);
        mask.set_all(false);
        assert_eq!(wanted(), [false; 5]);

        let interest = Interest { after: which.clone(), ..Interest::default() };
        assert!(!interest.is_nothing(), "it may be switched on while the run goes on");
        assert!(Interest { keep_inputs: which, ..Interest::default() }.is_nothing(), "nobody would be given them");
    }
}
