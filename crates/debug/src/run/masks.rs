use std::sync::Arc;

use opscope_model::LiveMask;

/// The masks of the kernels at which the engine calls the observer of a run. All are off while no client is attached.
pub(crate) struct Masks {
    pub before: Arc<LiveMask>,
    pub after: Arc<LiveMask>,
    pub keep: Arc<LiveMask>,
}

impl Masks {
    pub fn new(kernels: usize) -> Self {
        let mask = || Arc::new(LiveMask::new(kernels));
        Self { before: mask(), after: mask(), keep: mask() }
    }

    /// Switches everything off.
    pub fn clear(&self) {
        for mask in self.all() {
            mask.set_all(false);
            mask.set_others(false);
        }
    }

    /// Returns whether they are no longer used by an engine.
    pub fn are_free(&self) -> bool {
        self.all().into_iter().all(|mask| Arc::strong_count(mask) == 1)
    }

    fn all(&self) -> [&Arc<LiveMask>; 3] {
        [&self.before, &self.after, &self.keep]
    }
}
