use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use opscope_clock::{ClockPair, Ticks, Timestamp};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::packed::{self, pack, unpack};

/// The first bytes of a file of records. The last one is the version.
pub(crate) const FILE_MAGIC: [u8; 8] = *b"opsrec\0\x03";
/// The first bytes of files of earlier versions, which have no packed frames.
pub(crate) const EARLIER_MAGICS: [[u8; 8]; 2] = [*b"opsrec\0\x02", *b"opsrec\0\x01"];
/// The bytes before the first frame.
pub(crate) const FILE_HEADER: u64 = 8;
/// The first bytes of a frame that holds records as they are.
const PLAIN: [u8; 4] = *b"OBAT";
/// The first bytes of a frame that holds [packed](super::packed) records.
const PACKED: [u8; 4] = *b"OPAK";
/// The bytes of a frame before its payload.
const FRAME_HEADER: usize = 48;
/// The most payload bytes of one frame, also before they are packed. A file that announces more holds no frame there, so a reader
/// allocates no more for a payload, nor for what it [unpacks](packed::MOST_BYTES).
pub(crate) const FRAME_MAX: usize = packed::MOST_BYTES;

/// A piece of the file: records as they came, with the moment when they were written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// The number of this frame, from 0.
    pub sequence: u64,
    /// How many records had been dropped when it was written.
    pub dropped: u64,
    /// Both clocks when it was written.
    pub clock: ClockPair,
    /// The records, unpacked.
    pub payload: Vec<u8>,
}

/// How often a reader reads a damaged file's bytes at most, on average. Bytes that look like the beginning of one frame after
/// the other could otherwise make it read 128 KiB for each of them.
const MOST_READINGS: u64 = 16;

/// Writes frames, each with one call.
pub(crate) struct FrameWriter<W> {
    into: W,
    sequence: u64,
    bytes: u64,
    frame: Vec<u8>,
}

/// Reads the frames of a file that may be cut or damaged anywhere.
pub(crate) struct FrameReader {
    file: File,
    length: u64,
    position: u64,
    damage: Damage,
    /// Bytes that were read so far, those that were read again among them.
    read: u64,
}

/// A frame that was searched for, and where it begins and ends in the file.
struct Found {
    frame: Frame,
    begin: u64,
    end: u64,
}

/// What a reader had to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Damage {
    /// Bytes that belong to no whole frame.
    pub bytes: u64,
    /// Places at which frames were left out.
    pub places: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Writes the file's header.
    pub(crate) fn new(mut into: W) -> io::Result<Self> {
        into.write_all(&FILE_MAGIC)?;
        Ok(Self { into, sequence: 0, bytes: FILE_HEADER, frame: Vec::with_capacity(FRAME_HEADER + FRAME_MAX) })
    }

    /// Writes behind the frames that a file has: so many, which end at this byte.
    pub(crate) fn longer(into: W, frames: u64, bytes: u64) -> Self {
        Self { into, sequence: frames, bytes, frame: Vec::with_capacity(FRAME_HEADER + FRAME_MAX) }
    }

    /// Writes one frame. The payload is a whole number of records, at most [`FRAME_MAX`] bytes. It is packed if it becomes
    /// shorter.
    pub(crate) fn write(&mut self, payload: &[u8], dropped: u64, clock: ClockPair) -> io::Result<()> {
        debug_assert!(payload.len() <= FRAME_MAX);
        self.frame.clear();
        self.frame.resize(FRAME_HEADER, 0);
        let is_packed = pack(payload, &mut self.frame);
        if !is_packed {
            self.frame.extend_from_slice(payload);
        }
        let (header, payload) = self.frame.split_at_mut(FRAME_HEADER);
        header[..4].copy_from_slice(if is_packed { &PACKED } else { &PLAIN });
        header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let fields = [self.sequence, dropped, clock.ticks.as_raw(), clock.time.as_nanos()];
        header[8..40].copy_from_slice(fields.map(u64::to_le_bytes).as_flattened());
        let checksum = checksum(&header[..40], payload);
        header[40..].copy_from_slice(&checksum.to_le_bytes());
        self.into.write_all(&self.frame)?;
        self.sequence += 1;
        self.bytes += self.frame.len() as u64;
        Ok(())
    }

    /// Bytes written, the file's header among them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frames written.
    pub(crate) fn frames(&self) -> u64 {
        self.sequence
    }
}

impl FrameReader {
    /// Reads from the start. A file without the right header is damaged from its first byte; frames are still found.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut reader = Self { file, length, position: 0, damage: Damage::default(), read: 0 };
        let is_magic = |header: Vec<u8>| EARLIER_MAGICS.iter().chain([&FILE_MAGIC]).any(|magic| header == magic);
        if reader.bytes(0, FILE_HEADER as usize)?.is_some_and(is_magic) {
            reader.position = FILE_HEADER;
        }
        Ok(reader)
    }

    /// Returns the next whole frame; `None` at the end. Bytes that are no frame are skipped and counted.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        if self.position >= self.length {
            return Ok(None);
        }
        if let Some((frame, end)) = self.frame_at(self.position)? {
            self.position = end;
            return Ok(Some(frame));
        }
        let lost_from = self.position;
        let found = self.search(lost_from + 1)?;
        let (begin, end) = found.as_ref().map_or((self.length, self.length), |found| (found.begin, found.end));
        self.position = end;
        self.damage.bytes += begin - lost_from;
        self.damage.places += 1;
        Ok(found.map(|found| found.frame))
    }

    /// Returns the bytes that were read so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes that were read so far, each as often as it was read.
    #[cfg(test)]
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Returns what was left out so far.
    pub(crate) fn damage(&self) -> Damage {
        self.damage
    }

    /// Returns the first whole frame from a position on; `None` where the search takes too long for what the file can
    /// hold.
    fn search(&mut self, from: u64) -> io::Result<Option<Found>> {
        const SMALLEST_WINDOW: u64 = 256;
        const LARGEST_WINDOW: u64 = 256 << 10;
        let most = MOST_READINGS.saturating_mul(self.length + FRAME_MAX as u64);
        let mut position = from;
        // The next frame is mostly near.
        let mut window = SMALLEST_WINDOW;
        while position < self.length {
            // A hole has no frames, and may be larger than any disk.
            match seek(&self.file, SeekFrom::Data(position)) {
                Ok(data) => position = data.max(position),
                Err(Errno::NXIO) => return Ok(None),
                // Not every file system knows.
                Err(_) => {}
            }
            let length = window.min(self.length - position) as usize;
            window = (window * 2).min(LARGEST_WINDOW);
            let Some(bytes) = self.bytes(position, length)? else { return Ok(None) };
            for offset in 0..bytes.len() {
                if [PLAIN, PACKED].iter().any(|magic| bytes[offset..].starts_with(magic)) {
                    let begin = position + offset as u64;
                    if let Some((frame, end)) = self.frame_at(begin)? {
                        return Ok(Some(Found { frame, begin, end }));
                    }
                    if self.read > most {
                        return Ok(None);
                    }
                }
            }
            // The magic may lie across the border of two windows.
            position += (length.saturating_sub(PLAIN.len() - 1)).max(1) as u64;
        }
        Ok(None)
    }

    /// Returns the whole frame that begins at a position, and where it ends.
    fn frame_at(&mut self, position: u64) -> io::Result<Option<(Frame, u64)>> {
        let Some(header) = self.bytes(position, FRAME_HEADER)? else { return Ok(None) };
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let length = u32::from_le_bytes(header[4..8].try_into().expect("four bytes")) as usize;
        let is_packed = header[..4] == PACKED;
        if !(is_packed || header[..4] == PLAIN) || length > FRAME_MAX {
            return Ok(None);
        }
        let begin = position + FRAME_HEADER as u64;
        let Some(payload) = self.bytes(begin, length)? else { return Ok(None) };
        if checksum(&header[..FRAME_HEADER - 8], &payload) != word(40) {
            return Ok(None);
        }
        let Some(payload) = (if is_packed { unpack(&payload) } else { Some(payload) }) else { return Ok(None) };
        let clock = ClockPair { ticks: Ticks::from_raw(word(24)), time: Timestamp::from_nanos_since_boot(word(32)) };
        let frame = Frame { sequence: word(8), dropped: word(16), clock, payload };
        Ok(Some((frame, begin + length as u64)))
    }

    /// These bytes; `None` where the file ends before.
    fn bytes(&mut self, position: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        if position + length as u64 > self.length {
            return Ok(None);
        }
        self.read += length as u64;
        let mut bytes = vec![0; length];
        match self.file.read_exact_at(&mut bytes, position) {
            Ok(()) => Ok(Some(bytes)),
            // The file became shorter since it was opened.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn checksum(header: &[u8], payload: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(payload);
    hash.digest()
}
