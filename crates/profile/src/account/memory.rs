use std::collections::HashMap;

use opscope_trace::AllocationOperation;

use super::TensorMemoryUse;
use crate::recording::AllocationFact;

/// The running sums of the memory that runs hold for tensors. A run allocates and frees on one thread, so each thread's
/// records are in chronological order.
#[derive(Default)]
pub(crate) struct TensorMemorySums {
    held: HashMap<u32, u64>,
    seen: TensorMemoryUse,
}

impl TensorMemorySums {
    /// Adds an allocation or a release, and returns the bytes that the run on its thread then holds.
    pub(crate) fn add(&mut self, fact: &AllocationFact) -> u64 {
        let held = self.held.entry(fact.thread).or_default();
        match fact.operation {
            AllocationOperation::Allocate => {
                self.seen.allocations += 1;
                *held = held.saturating_add(fact.bytes);
            }
            AllocationOperation::Free => *held = held.saturating_sub(fact.bytes),
        }
        self.seen.peak_bytes = self.seen.peak_bytes.max(*held);
        *held
    }

    /// Returns the sums, or `None` if there was no allocation.
    pub(super) fn finish(self) -> Option<TensorMemoryUse> {
        (self.seen.allocations > 0).then_some(self.seen)
    }
}
