//! Sets of kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::KernelId;

/// Kernels that an observer wants to be called for, switched on and off from any thread during a run.
///
/// A lookup is one relaxed load. A dispatch therefore sees a change only if it begins after its thread synchronised
/// with the thread that made the change. A dispatch that began earlier may miss it.
#[derive(Debug)]
pub struct LiveMask {
    kernels: Box<[AtomicBool]>,
    /// Whether kernels that the plan does not have are wanted: those of an open model that are found later.
    others: AtomicBool,
}

impl LiveMask {
    /// Creates a mask for a plan with this number of kernels, all of them off.
    pub fn new(kernels: usize) -> Self {
        Self { kernels: (0..kernels).map(|_| AtomicBool::new(false)).collect(), others: AtomicBool::new(false) }
    }

    /// Switches a kernel on or off. A kernel that the plan does not have is ignored.
    pub fn set(&self, kernel: KernelId, wanted: bool) {
        if let Some(bit) = self.kernels.get(kernel.index()) {
            bit.store(wanted, Ordering::Relaxed);
        }
    }

    /// Switches the kernels on or off that the plan does not have.
    pub fn set_others(&self, wanted: bool) {
        self.others.store(wanted, Ordering::Relaxed);
    }

    /// Switches all kernels of the plan on or off.
    pub fn set_all(&self, wanted: bool) {
        self.kernels.iter().for_each(|bit| bit.store(wanted, Ordering::Relaxed));
    }

    /// Returns whether a kernel is switched on.
    #[inline]
    pub fn contains(&self, kernel: KernelId) -> bool {
        self.kernels.get(kernel.index()).unwrap_or(&self.others).load(Ordering::Relaxed)
    }
}

/// A set of the kernels of a plan.
#[derive(Debug, Clone, Default)]
pub enum KernelSet {
    /// No kernel.
    #[default]
    Empty,
    /// Every kernel.
    All,
    /// The kernels for which the mask, indexed by [`KernelId`], holds `true`.
    Mask(Arc<[bool]>),
    /// The kernels that are switched on in the mask. The engine asks at every dispatch, so the mask may change during
    /// the run.
    Live(Arc<LiveMask>),
    /// The kernels that are in either set.
    Union(Arc<[KernelSet; 2]>),
}

impl KernelSet {
    /// Returns whether the set contains this kernel.
    #[inline]
    pub fn contains(&self, kernel: KernelId) -> bool {
        match self {
            KernelSet::Empty => false,
            KernelSet::All => true,
            KernelSet::Mask(mask) => mask.get(kernel.index()).copied().unwrap_or(false),
            KernelSet::Live(mask) => mask.contains(kernel),
            KernelSet::Union(both) => Self::union_contains(both, kernel),
        }
    }

    /// A separate function, because a recursive `contains` could not be inlined.
    #[inline(never)]
    fn union_contains(both: &[KernelSet; 2], kernel: KernelId) -> bool {
        both.iter().any(|set| set.contains(kernel))
    }

    /// Returns whether the set is empty and stays empty. A live mask may be switched on, so it does not count as empty.
    pub fn is_empty(&self) -> bool {
        matches!(self, KernelSet::Empty)
    }

    /// Returns the union of both sets.
    pub fn union(self, other: KernelSet) -> KernelSet {
        match (self, other) {
            (KernelSet::Empty, set) | (set, KernelSet::Empty) => set,
            (KernelSet::All, _) | (_, KernelSet::All) => KernelSet::All,
            (one, other) => KernelSet::Union(Arc::new([one, other])),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Interest, KernelSet};

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
        mask.set_others(true);
        assert_eq!(wanted(), [false, false, false, true, true], "those that are found later");
        mask.set_others(false);

        let interest = Interest { after: which.clone(), ..Interest::default() };
        assert!(!interest.is_nothing(), "it may be switched on while the run goes on");
        assert!(
            Interest { keep_inputs: which, ..Interest::default() }.is_nothing(),
            "without `before` or `after`, no call would get them"
        );
    }
}
