use opscope::trace::{Category, KindStatistics};
use opscope_border::{SizedOut, exported, sized};

use super::buffer_handle::opscope_buffer_t;
use crate::border::{Failure, get};

/// What a buffer has done so far: `emitted == delivered + dropped + waiting`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_buffer_statistics_t {
    /// `sizeof(opscope_buffer_statistics_t)`.
    pub size: usize,
    /// Records that were emitted.
    pub emitted: u64,
    /// Records that callbacks have received.
    pub delivered: u64,
    /// Records that were dropped.
    pub dropped: u64,
    /// Records that are waiting.
    pub waiting: u64,
    /// Payload bytes that were emitted. In the statistics of one kind, this field and those below are 0.
    pub bytes: u64,
    /// Calls of the callback.
    pub callbacks: u64,
    /// How often a thread had to wait for space.
    pub stalls: u64,
    /// The longest of these waits, in nanoseconds.
    pub longest_stall: u64,
}
sized!(opscope_buffer_statistics_t, 72);

/// Writes what a buffer has done so far to `statistics`, whose `size` must be set.
#[exported]
pub fn opscope_buffer_statistics(
    buffer: opscope_buffer_t,
    statistics: SizedOut<'_, opscope_buffer_statistics_t>,
) -> Result<(), Failure> {
    let all = get(buffer)?.statistics();
    let value = opscope_buffer_statistics_t {
        bytes: all.bytes.get(),
        callbacks: all.callbacks,
        stalls: all.stalls,
        longest_stall: u64::try_from(all.longest_stall.as_nanos()).unwrap_or(u64::MAX),
        ..counts(all.total())
    };
    Ok(statistics.write(&value)?)
}

/// Writes what a buffer has done with the records of one kind to `statistics`, whose `size` must be set.
#[exported]
pub fn opscope_buffer_kind_statistics(
    buffer: opscope_buffer_t,
    category: u8,
    kind: u16,
    statistics: SizedOut<'_, opscope_buffer_statistics_t>,
) -> Result<(), Failure> {
    let kinds = get(buffer)?.statistics().kinds;
    let of_kind = kinds.get(&(Category(category), kind)).copied().unwrap_or_default();
    Ok(statistics.write(&counts(of_kind))?)
}

fn counts(of: KindStatistics) -> opscope_buffer_statistics_t {
    opscope_buffer_statistics_t {
        size: size_of::<opscope_buffer_statistics_t>(),
        emitted: of.emitted,
        delivered: of.delivered,
        dropped: of.dropped,
        waiting: of.waiting,
        bytes: 0,
        callbacks: 0,
        stalls: 0,
        longest_stall: 0,
    }
}
