//! A buffer's memory in a file, so that committed records survive the process, and recovery: reading the file back.
//!
//! The layout of a buffer's file. `docs/records.md` describes it for readers in other languages. All numbers are
//! little-endian, and 64 bits wide unless noted otherwise.

mod recover;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use opscope_clock::{ClockPair, TickSource};
use rustix::fs::{FallocateFlags, fallocate};

use crate::chunk::{Geometry, Policy, Region};
use crate::record::name::{names_after, set_on_new_name};
use crate::record::{BufferId, NameId};
use crate::sync::{Mutex, MutexGuard};
pub use recover::{Damage, RecoverError, Recovered, Recovery, recover, recover_bytes};

/// Creates the file of a buffer and writes its head. The file is allocated in full, so that later writes to it cannot
/// fail. It fails if the file exists.
pub(crate) fn create(path: &Path, geometry: Geometry, id: BufferId, policy: Policy) -> io::Result<Region> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, (HEAD_BYTES + geometry.bytes()) as u64)?;
    let region = Region::of_file(geometry, &file, HEAD_BYTES)?;
    let source = match TickSource::current() {
        TickSource::TimeStampCounter => SOURCE_COUNTER,
        TickSource::SystemClock => SOURCE_SYSTEM,
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
    follow(id, file, (HEAD_BYTES + geometry.bytes()) as u64)?;
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
        unfollow(id);
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

/// The head's length. The chunks follow the head, and the names follow the chunks.
const HEAD_BYTES: usize = 4096;

/// `OPSCREC` and the byte 1.
const MAGIC: u64 = u64::from_le_bytes(*b"OPSCREC\x01");
const VERSION: u64 = 1;

const SOURCE_COUNTER: u64 = 1;
const SOURCE_SYSTEM: u64 = 2;

/// The offsets of the words in the head.
mod word {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 8;
    /// The payload bytes that the buffer holds.
    pub(crate) const SIZE: usize = 16;
    /// The payload bytes that a chunk is made for.
    pub(crate) const SHARE: usize = 24;
    /// The distance between the starts of two chunks.
    pub(crate) const STRIDE: usize = 32;
    /// The number of chunks.
    pub(crate) const COUNT: usize = 40;
    /// The policy, see [`policy_number`](super::policy_number).
    pub(crate) const POLICY: usize = 48;
    /// The source of ticks: 1 is the time-stamp counter, 2 is nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const TICK_SOURCE: usize = 56;
    /// The process that emitted.
    pub(crate) const PROCESS: usize = 64;
    /// The buffer's number in that process.
    pub(crate) const BUFFER: usize = 72;
    /// Ticks and CLOCK_BOOTTIME nanoseconds when the buffer was created.
    pub(crate) const FIRST_CLOCKS: usize = 80;
    /// The same pair when the last callback returned.
    pub(crate) const LAST_CLOCKS: usize = 96;
    /// The number of records that callbacks received.
    pub(crate) const DELIVERED: usize = 112;
    /// The number of records that were dropped.
    pub(crate) const DROPPED: usize = 120;
    /// 1 when the buffer has ended and delivered everything.
    pub(crate) const ENDED: usize = 128;
}

/// The head of a name: its number and its length in bytes (32 bits each). The text follows, padded with zeroes to a
/// multiple of 8.
const NAME_HEAD: usize = 8;

/// Returns the number that stands for a policy.
fn policy_number(policy: Policy) -> u64 {
    match policy {
        Policy::Lossless => 0,
        Policy::Discard => 1,
        Policy::Overwrite => 2,
    }
}

/// Returns the policy that a number stands for; `Lossless` for an unknown number.
fn policy_of_number(number: u64) -> Policy {
    Policy::ALL.into_iter().find(|policy| policy_number(*policy) == number).unwrap_or(Policy::Lossless)
}

/// A file to which every name is appended.
pub(crate) struct Follower {
    buffer: BufferId,
    file: File,
    /// The offset of the next name.
    end: u64,
    /// The last name that is in the file.
    last: NameId,
}

/// The files of all buffers that have one.
static FOLLOWERS: Mutex<Vec<Follower>> = Mutex::new(Vec::new());

/// Writes every name to this file, those that exist now and all later ones.
fn follow(buffer: BufferId, file: File, end: u64) -> io::Result<()> {
    let mut follower = Follower { buffer, file, end, last: NameId(0) };
    set_on_new_name(write_new_names);
    let mut followers = lock_followers();
    follower.catch_up()?;
    followers.push(follower);
    Ok(())
}

fn unfollow(buffer: BufferId) {
    lock_followers().retain(|follower| follower.buffer != buffer);
}

/// Writes new names to all files. It is called before the number of a new name is returned, so a name is in the file
/// before any record that refers to it.
fn write_new_names() {
    for follower in lock_followers().iter_mut() {
        // A name that cannot be written is missing after a recovery. The records are all there.
        let _ = follower.catch_up();
    }
}

impl Follower {
    /// Writes every name that is not in the file yet.
    fn catch_up(&mut self) -> io::Result<()> {
        names_after(self.last).iter().try_for_each(|(id, text)| self.write(*id, text))
    }

    fn write(&mut self, id: NameId, text: &str) -> io::Result<()> {
        let mut entry = vec![0; (NAME_HEAD + text.len()).next_multiple_of(8)];
        entry[..4].copy_from_slice(&id.0.to_le_bytes());
        entry[4..8].copy_from_slice(&(text.len() as u32).to_le_bytes());
        entry[NAME_HEAD..NAME_HEAD + text.len()].copy_from_slice(text.as_bytes());
        self.file.write_all_at(&entry, self.end)?;
        self.end += entry.len() as u64;
        self.last = id;
        Ok(())
    }
}

/// The locked list of files.
pub(crate) type FollowersLock = MutexGuard<'static, Vec<Follower>>;

pub(crate) fn lock_followers() -> FollowersLock {
    FOLLOWERS.lock()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::{fs, thread};

    use super::*;
    use crate::record::name::intern;

    #[test]
    fn a_name_is_in_the_file_before_any_thread_has_its_number() {
        const TEXT: &str = "a name that two threads intern";
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = Arc::new(directory.path().join("names"));
        let buffer = BufferId(u64::MAX);
        follow(buffer, File::create_new(&*path).expect("a new file"), 0).expect("room");
        let interned = |path: &Arc<std::path::PathBuf>| {
            let path = Arc::clone(path);
            thread::spawn(move || {
                intern(TEXT);
                let bytes = fs::read(&*path).expect("it is there");
                bytes.windows(TEXT.len()).any(|window| window == TEXT.as_bytes())
            })
        };
        // While this lock is held, no thread can write.
        let followers = lock_followers();
        let first = interned(&path);
        while !names_after(NameId(0)).iter().any(|(_, text)| &**text == TEXT) {
            thread::yield_now();
        }
        let second = interned(&path);
        // This gives the second thread time to return, which would be wrong.
        for _ in 0..10_000 {
            if second.is_finished() {
                break;
            }
            thread::yield_now();
        }
        drop(followers);
        assert!(first.join().expect("no panic") && second.join().expect("no panic"));
        unfollow(buffer);
    }
}
