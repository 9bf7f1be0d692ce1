use std::sync::Arc;

use super::{KernelId, LiveMask};

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
