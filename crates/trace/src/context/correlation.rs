//! Correlation ids, from their assignment to a thread to their retirement.

use std::marker::PhantomData;

use opscope_clock::Ticks;

use super::{emit, wanted};
use crate::record::thread::{new_correlation, push_correlation, remove_correlation};
use crate::record::{CorrelationId, Kind, RetirementRecord};

/// Gives the calling thread a new correlation id until the guard is dropped. The records that the thread emits until
/// then belong together. When the guard is dropped, the id is retired: a [`RetirementRecord`] follows the last record
/// with this id.
pub fn correlate() -> CorrelationGuard {
    let id = new_correlation();
    push_correlation(id);
    CorrelationGuard { id, _thread: PhantomData }
}

/// A guard that retires its correlation id, which [`correlate`] assigned, when it is dropped. The thread then has the
/// id of the innermost remaining guard. Guards may be dropped in any order.
#[derive(Debug)]
#[must_use = "the correlation id is retired where this is dropped"]
pub struct CorrelationGuard {
    id: CorrelationId,
    /// Prevents `Send`: the guard must be dropped on the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl Drop for CorrelationGuard {
    fn drop(&mut self) {
        remove_correlation(self.id);
        if wanted(Kind::CorrelationRetirement) {
            // The buffer counts a record that it could not take.
            let _ = emit(&RetirementRecord { time: Ticks::now(), correlation: self.id });
        }
    }
}
