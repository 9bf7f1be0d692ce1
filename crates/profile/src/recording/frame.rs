use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use opscope_clock::{ClockPair, Ticks, Timestamp};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::packed::{self, pack, unpack};

/// The first bytes of a records file. The last one is the version.
pub(crate) const FILE_MAGIC: [u8; 8] = *b"opsrec\0\x03";
/// The first bytes of files of earlier versions, which have no packed frames.
pub(crate) const EARLIER_MAGICS: [[u8; 8]; 2] = [*b"opsrec\0\x02", *b"opsrec\0\x01"];
/// The number of bytes before the first frame.
pub(crate) const FILE_HEADER: u64 = 8;
/// The first bytes of a frame with plain records.
const PLAIN: [u8; 4] = *b"OBAT";
/// The first bytes of a frame with [packed](super::packed) records.
const PACKED: [u8; 4] = *b"OPAK";
/// The number of bytes of a frame before its payload.
const FRAME_HEADER: usize = 48;
/// The maximum payload of a frame in bytes, before packing, too. If a file announces more, there is no frame at this
/// position. So a reader never allocates more for a payload or for [unpacked](packed::MOST_BYTES) records.
pub(crate) const FRAME_MAX: usize = packed::MOST_BYTES;

/// A frame of the file: records in the order in which they arrived, with the moment at which they were written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// The number of this frame, from 0.
    pub sequence: u64,
    /// The number of records that had been dropped when it was written.
    pub dropped: u64,
    /// Both clocks when it was written.
    pub clock: ClockPair,
    /// The records, unpacked.
    pub payload: Vec<u8>,
}

/// The maximum number of times that a reader reads a byte of a damaged file, on average. Without this limit, a file
/// that looks like one beginning of a frame after the other would make it read 128 KiB for each of them.
const MOST_READINGS: u64 = 16;

/// Writes frames, each with one call.
pub(crate) struct FrameWriter<W> {
    into: W,
    sequence: u64,
    bytes: u64,
    frame: Vec<u8>,
}

/// Reads the frames of a file that may be truncated or damaged anywhere.
pub(crate) struct FrameReader {
    file: File,
    length: u64,
    position: u64,
    damage: Damage,
    /// The number of bytes that were read so far, including those that were read again.
    read: u64,
}

/// A frame that was found, with its begin and end in the file.
struct FoundFrame {
    frame: Frame,
    begin: u64,
    end: u64,
}

/// The damage that a reader had to skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Damage {
    /// The number of bytes that belong to no complete frame.
    pub bytes: u64,
    /// The number of places at which frames were skipped.
    pub places: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Writes the file's header.
    pub(crate) fn new(mut into: W) -> io::Result<Self> {
        into.write_all(&FILE_MAGIC)?;
        Ok(Self { into, sequence: 0, bytes: FILE_HEADER, frame: Vec::with_capacity(FRAME_HEADER + FRAME_MAX) })
    }

    /// Continues a file that has this many frames, which end at this byte.
    pub(crate) fn longer(into: W, frames: u64, bytes: u64) -> Self {
        Self { into, sequence: frames, bytes, frame: Vec::with_capacity(FRAME_HEADER + FRAME_MAX) }
    }

    /// Writes one frame. The payload is a whole number of records, at most [`FRAME_MAX`] bytes. It is packed if that
    /// makes it shorter.
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

    /// Returns the number of bytes written, including the file's header.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of frames written.
    pub(crate) fn frames(&self) -> u64 {
        self.sequence
    }
}

impl FrameReader {
    /// Creates a reader at the start of a file. A file without the right header is damaged from its first byte, but its
    /// frames are still found.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut reader = Self { file, length, position: 0, damage: Damage::default(), read: 0 };
        let is_magic = |header: Vec<u8>| EARLIER_MAGICS.iter().chain([&FILE_MAGIC]).any(|magic| header == magic);
        if reader.bytes(0, FILE_HEADER as usize)?.is_some_and(is_magic) {
            reader.position = FILE_HEADER;
        }
        Ok(reader)
    }

    /// Returns the next complete frame; `None` at the end. Other bytes are skipped and counted.
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

    /// Returns the position up to which the file was read.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the length of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of bytes that were read so far. Bytes that were read again count again.
    #[cfg(test)]
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Returns the damage that was skipped so far.
    pub(crate) fn damage(&self) -> Damage {
        self.damage
    }

    /// Returns the first complete frame from a position on; `None` if the search takes too long in relation to the
    /// file's size.
    fn search(&mut self, from: u64) -> io::Result<Option<FoundFrame>> {
        const SMALLEST_WINDOW: u64 = 256;
        const LARGEST_WINDOW: u64 = 256 << 10;
        let most = MOST_READINGS.saturating_mul(self.length + FRAME_MAX as u64);
        let mut position = from;
        // The next frame is usually near.
        let mut window = SMALLEST_WINDOW;
        while position < self.length {
            // A hole contains no frames, and may be larger than any disk.
            match seek(&self.file, SeekFrom::Data(position)) {
                Ok(data) => position = data.max(position),
                Err(Errno::NXIO) => return Ok(None),
                // Not every file system supports this.
                Err(_) => {}
            }
            let length = window.min(self.length - position) as usize;
            window = (window * 2).min(LARGEST_WINDOW);
            let Some(bytes) = self.bytes(position, length)? else { return Ok(None) };
            for offset in 0..bytes.len() {
                if [PLAIN, PACKED].iter().any(|magic| bytes[offset..].starts_with(magic)) {
                    let begin = position + offset as u64;
                    if let Some((frame, end)) = self.frame_at(begin)? {
                        return Ok(Some(FoundFrame { frame, begin, end }));
                    }
                    if self.read > most {
                        return Ok(None);
                    }
                }
            }
            // The magic may cross the border of two windows.
            position += (length.saturating_sub(PLAIN.len() - 1)).max(1) as u64;
        }
        Ok(None)
    }

    /// Returns the complete frame that begins at a position, and its end.
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

    /// Returns these bytes; `None` if the file ends before.
    fn bytes(&mut self, position: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        if position + length as u64 > self.length {
            return Ok(None);
        }
        self.read += length as u64;
        let mut bytes = vec![0; length];
        match self.file.read_exact_at(&mut bytes, position) {
            Ok(()) => Ok(Some(bytes)),
            // The file has become shorter since it was opened.
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
