use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use opscope_clock::{Calibration, ClockPair, Ticks, Timestamp};
use opscope_files::{open_regular, read_to_end};

use super::{HEAD_BYTES, MAGIC, NAME_HEAD, SOURCE_SYSTEM, VERSION, policy_of_number, word};
use crate::chunk::{Cursor, Fill, MAX_SIZE, Policy, START, Words, head};
use crate::record::{Bytes, NameId, RecordRef, ThreadId};

/// Why a file cannot be read as a buffer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is not that of a buffer.
    #[error("this is not the file of a buffer: such a file begins with the bytes OPSCREC")]
    NotABuffer,
    /// Its layout has another version.
    #[error("this buffer's file has version {0}; this program reads version 1")]
    Version(u64),
    /// Its head is damaged.
    #[error("the head of this buffer's file is damaged: {0}")]
    Head(&'static str),
}

/// The contents of a file apart from its records.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// The number of records in the file: committed, and not received by a callback that returned.
    pub records: u64,
    /// Their payload bytes.
    pub bytes: Bytes,
    /// The number of records that callbacks received.
    pub delivered: u64,
    /// The number of records that the buffer dropped because of its policy.
    pub dropped: u64,
    /// Whether the buffer was destroyed and everything in it was delivered.
    pub ended: bool,
    /// The process that emitted.
    pub process: u32,
    /// The buffer's policy.
    pub policy: Policy,
    /// The damaged parts of the file. A process that is killed leaves none, because nothing that it committed is lost.
    pub damage: Vec<Damage>,
    /// The texts that records refer to.
    pub names: BTreeMap<NameId, String>,
    /// The calibration that turns ticks into timestamps.
    pub calibration: Calibration,
}

/// A part of a chunk that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The chunk's index.
    pub chunk: usize,
    /// The thread that wrote there.
    pub thread: ThreadId,
    /// The number of bytes that should hold records and do not; 0 if it is not known, because the file is truncated.
    pub lost: Bytes,
}

/// The records of a file, and the other contents of the file.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The other contents of the file.
    pub recovery: Recovery,
    words: Vec<u64>,
    parts: Vec<Part>,
}

/// The records in one chunk.
#[derive(Debug, Clone, Copy)]
struct Part {
    sequence: u64,
    /// The chunk's start and end, in words from the start of the file.
    start: usize,
    end: usize,
    cursor: Cursor,
    upto: usize,
}

/// The most bytes of a file: the largest buffer, and as much again for the heads of its chunks and for names.
const LARGEST: u64 = 2 * MAX_SIZE;

/// Reads the file of a buffer whose process has ended, however it ended. The file is not changed.
///
/// # Errors
/// Returns an error if the file cannot be read or is not the file of a buffer. From a damaged file, the intact records
/// are returned, and [`Recovery::damage`] says what is lost.
pub fn recover(path: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
    let path = path.as_ref();
    let unreadable = |source| RecoverError::Read { path: path.to_owned(), source };
    let mut file = open_regular(path).map_err(unreadable)?;
    // The magic number is read first, so that a large file of another kind is not read as a whole.
    let mut magic = [0; size_of::<u64>()];
    match file.read_exact_at(&mut magic, 0) {
        Ok(()) if u64::from_le_bytes(magic) == MAGIC => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(unreadable(error)),
        _ => return Err(RecoverError::NotABuffer),
    }
    recover_bytes(&read_to_end(&mut file, LARGEST).map_err(unreadable)?)
}

/// As [`recover`], from the bytes of a file.
///
/// # Errors
/// As [`recover`].
pub fn recover_bytes(bytes: &[u8]) -> Result<Recovered, RecoverError> {
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
    let at = |offset: usize| words.get(offset / 8).copied().unwrap_or(0);
    if at(word::MAGIC) != MAGIC {
        return Err(RecoverError::NotABuffer);
    }
    if at(word::VERSION) != VERSION {
        return Err(RecoverError::Version(at(word::VERSION)));
    }
    let (stride, count) = (at(word::STRIDE), at(word::COUNT));
    if stride < (START + 8) as u64 || stride % 8 != 0 || stride > 1 << 20 {
        return Err(RecoverError::Head("the distance between its chunks is not one that a buffer has"));
    }
    if count > 1 << 32 {
        return Err(RecoverError::Head("it has more chunks than a buffer can have"));
    }
    let mut recovery = Recovery {
        records: 0,
        bytes: Bytes::new(0),
        delivered: at(word::DELIVERED),
        dropped: at(word::DROPPED),
        ended: at(word::ENDED) == 1,
        process: at(word::PROCESS) as u32,
        policy: policy_of_number(at(word::POLICY)),
        damage: Vec::new(),
        names: names(bytes, HEAD_BYTES as u64 + stride * count),
        calibration: calibration(&at),
    };
    let mut parts = Vec::new();
    for index in 0..count as usize {
        let start = (HEAD_BYTES + index * stride as usize) / 8;
        let end = start + stride as usize / 8;
        match words.get(start..end.min(words.len())).filter(|chunk| chunk.len() > START / 8) {
            Some(chunk) => parts.extend(part(chunk, index, start, &mut recovery)),
            // The file is cut off here.
            None => {
                recovery.damage.push(Damage { chunk: index, thread: ThreadId(0), lost: Bytes::new(0) });
                break;
            }
        }
    }
    parts.sort_by_key(|part| part.sequence);
    Ok(Recovered { recovery, words, parts })
}

/// Returns the records in a chunk, and adds their number and the chunk's damage to `recovery`.
fn part(chunk: &[u64], index: usize, start: usize, recovery: &mut Recovery) -> Option<Part> {
    let committed = Fill(chunk.word(head::COMMITTED));
    if committed.0 == 0 {
        return None;
    }
    let thread = ThreadId(chunk.word(head::THREAD) as u32);
    let claimed = committed.position();
    let upto = claimed.min(chunk.len() * 8) / 8 * 8;
    let delivered = chunk.word(head::DELIVERED) as usize;
    let mut cursor = Cursor::start();
    while cursor.take(chunk, delivered.min(upto), usize::MAX).is_some() {}
    let first = cursor;
    let mut payload = 0;
    while let Some(taken) = cursor.take(chunk, upto, usize::MAX) {
        recovery.records += taken.count as u64;
        payload += taken.bytes() as u64;
    }
    recovery.bytes = Bytes::new(recovery.bytes.get() + payload);
    let lost = claimed.saturating_sub(cursor.position).max(delivered.saturating_sub(first.position));
    if lost > 0 {
        recovery.damage.push(Damage { chunk: index, thread, lost: Bytes::new(lost as u64) });
    }
    let part = Part { sequence: chunk.word(head::SEQUENCE), start, end: start + chunk.len(), cursor: first, upto };
    (cursor != first).then_some(part)
}

/// Returns every complete name after the chunks.
fn names(bytes: &[u8], start: u64) -> BTreeMap<NameId, String> {
    let mut names = BTreeMap::new();
    let mut rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    while let Some((entry, text)) = rest.split_at_checked(NAME_HEAD) {
        let number = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("4 bytes"));
        let (id, length) = (number(0), number(4) as usize);
        let Some(name) = text.get(..length).and_then(|text| std::str::from_utf8(text).ok()) else { break };
        if id == 0 {
            break;
        }
        names.insert(NameId(id), name.to_owned());
        rest = rest.get((NAME_HEAD + length).next_multiple_of(8)..).unwrap_or_default();
    }
    names
}

fn calibration(at: &dyn Fn(usize) -> u64) -> Calibration {
    if at(word::TICK_SOURCE) == SOURCE_SYSTEM {
        return Calibration::identity();
    }
    let pair = |offset| ClockPair {
        ticks: Ticks::from_raw(at(offset)),
        time: Timestamp::from_nanos_since_boot(at(offset + 8)),
    };
    let (first, last) = (pair(word::FIRST_CLOCKS), pair(word::LAST_CLOCKS));
    // A process that was killed before its first callback left only one pair. If the machine was not booted since, its
    // current clocks serve as the second pair.
    let now = ClockPair::now();
    let last = if last == first && now.time > first.time { now } else { last };
    Calibration::between(first, last)
}

impl Recovered {
    /// Returns the records, chunk by chunk. Those of each thread are in the order in which it emitted them, except for
    /// those that it wrote into the shared chunk because no other chunk was free.
    pub fn records(&self) -> impl Iterator<Item = RecordRef<'_>> {
        self.parts.iter().flat_map(|part| {
            let chunk = &self.words[part.start..part.end];
            let mut cursor = part.cursor;
            let segments = std::iter::from_fn(move || cursor.take(chunk, part.upto, usize::MAX));
            segments.flat_map(move |taken| {
                let header = taken.segment.header();
                let bytes = zerocopy::IntoBytes::as_bytes(chunk);
                let starts = (0..taken.count).map(move |index| taken.start + index * taken.segment.step());
                starts.map(move |start| RecordRef::new(header, &bytes[start..start + usize::from(header.length)]))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rate, in nanoseconds per tick, for a file with these two clock pairs of ticks and nanoseconds since
    /// boot.
    fn rate(first: (u64, u64), last: (u64, u64)) -> f64 {
        let at = |offset: usize| match offset {
            word::TICK_SOURCE => SOURCE_SYSTEM + 1,
            offset if offset == word::FIRST_CLOCKS => first.0,
            offset if offset == word::FIRST_CLOCKS + 8 => first.1,
            offset if offset == word::LAST_CLOCKS => last.0,
            offset if offset == word::LAST_CLOCKS + 8 => last.1,
            _ => 0,
        };
        calibration(&at).nanos_per_tick()
    }

    #[test]
    fn a_file_with_one_pair_of_clocks_takes_those_of_now_for_the_second() {
        // 1000 ns in 4000 ticks.
        assert!((rate((0, 0), (4_000, 1_000)) - 0.25).abs() < 1e-12);
        // The file has one pair, from 4e9 ticks and 2e9 ns ago: half a nanosecond for each tick.
        let now = ClockPair::now();
        let before =
            (now.ticks.as_raw().wrapping_sub(4_000_000_000), now.time.as_nanos().saturating_sub(2_000_000_000));
        let found = rate(before, before);
        assert!((found - 0.5).abs() < 0.05, "{found}");
        // A pair of another boot lies in the future. It gives no rate.
        let later = (now.ticks.as_raw(), now.time.as_nanos() + (1 << 50));
        let alone = Calibration::between(
            ClockPair { ticks: Ticks::from_raw(later.0), time: Timestamp::from_nanos_since_boot(later.1) },
            ClockPair { ticks: Ticks::from_raw(later.0), time: Timestamp::from_nanos_since_boot(later.1) },
        );
        assert_eq!(rate(later, later), alone.nanos_per_tick());
    }
}
