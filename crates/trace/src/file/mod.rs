//! A buffer's memory in a file, so that committed records survive the process, and recovery: reading the file back.

mod layout;
mod names;
mod recover;

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use opscope_clock::{ClockPair, TickSource};
use rustix::fs::{FallocateFlags, fallocate};

pub(crate) use names::{FollowersLock, lock_followers};
pub use recover::{Damage, RecoverError, Recovered, Recovery, recover, recover_bytes};

use crate::chunk::{Geometry, Policy, Region};
use crate::record::BufferId;
use layout::{HEAD_BYTES, MAGIC, VERSION, policy_number, word};

/// Creates the file of a buffer and writes its head. The file is allocated in full, so that later writes to it cannot
/// fail. It fails if the file exists.
pub(crate) fn create(path: &Path, geometry: Geometry, id: BufferId, policy: Policy) -> io::Result<Region> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, (HEAD_BYTES + geometry.bytes()) as u64)?;
    let region = Region::of_file(geometry, &file, HEAD_BYTES)?;
    let source = match TickSource::current() {
        TickSource::TimeStampCounter => layout::SOURCE_COUNTER,
        TickSource::SystemClock => layout::SOURCE_SYSTEM,
    };
    for (at, value) in [
        (word::SIZE, geometry.size as u64),
        (word::SHARE, geometry.share as u64),
        (word::STRIDE, geometry.stride as u64),
        (word::COUNT, geometry.count as u64),
        (word::POLICY, policy_number(policy)),
        (word::TICK_SOURCE, source),
        (word::PROCESS, u64::from(std::process::id())),
        (word::BUFFER, id.as_raw()),
        (word::VERSION, VERSION),
    ] {
        set(&region, at, value);
    }
    let now = ClockPair::now();
    for at in [word::FIRST_CLOCKS, word::LAST_CLOCKS] {
        set_clocks(&region, at, now);
    }
    // This is written last, because a file without it is not a buffer.
    set(&region, word::MAGIC, MAGIC);
    names::follow(id, file, (HEAD_BYTES + geometry.bytes()) as u64)?;
    Ok(region)
}

/// Writes the number of dropped records into the head. Like all `note_` functions, it has no effect on a buffer without
/// a file.
pub(crate) fn note_dropped(region: &Region, dropped: u64) {
    set(region, word::DROPPED, dropped);
}

/// Writes the number of delivered records and the current time into the head.
pub(crate) fn note_delivered(region: &Region, delivered: u64) {
    if region.head_word(word::DELIVERED).is_some() {
        set(region, word::DELIVERED, delivered);
        set_clocks(region, word::LAST_CLOCKS, ClockPair::now());
    }
}

/// Writes into the head that the buffer has ended and is empty.
pub(crate) fn note_end(region: &Region, id: BufferId) {
    if region.head_word(word::ENDED).is_some() {
        set(region, word::ENDED, 1);
        names::unfollow(id);
    }
}

fn set(region: &Region, at: usize, value: u64) {
    if let Some(word) = region.head_word(at) {
        word.store(value, Ordering::Release);
    }
}

fn set_clocks(region: &Region, at: usize, now: ClockPair) {
    set(region, at, now.ticks.as_raw());
    set(region, at + 8, now.time.as_nanos());
}
