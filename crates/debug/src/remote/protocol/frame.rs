use std::io::{self, ErrorKind, Read};

/// One message: a JSON text and raw bytes that belong to it.
///
/// On the wire: the length of the text and the length of the bytes, each a little-endian `u32`; the text; the bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The JSON text.
    pub json: Vec<u8>,
    /// The raw bytes.
    pub attachment: Vec<u8>,
}

/// The maximum lengths of the parts of a frame, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// The JSON text.
    pub json: usize,
    /// The raw bytes.
    pub attachment: usize,
}

/// The error of a frame that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The other side has closed the connection between two frames.
    #[error("the other side closed the connection")]
    Closed,
    /// The other side has closed the connection within a frame.
    #[error("the other side closed the connection in the middle of a frame")]
    Cut,
    /// A part is longer than the limit.
    #[error("a frame announces {length} bytes of {part}, and at most {limit} are taken")]
    TooLong {
        /// Which part.
        part: &'static str,
        /// Its length.
        length: u32,
        /// The limit.
        limit: usize,
    },
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads frames from a stream, whose bytes may arrive in pieces of any size.
#[derive(Debug)]
pub struct FrameReader {
    limits: FrameLimits,
    head: [u8; HEAD],
    /// How many bytes of the head have arrived.
    filled: usize,
    frame: Frame,
}

const HEAD: usize = 8;

/// How many bytes are read at once. At most this much memory is allocated for bytes that have not arrived yet.
const PIECE: usize = 256 << 10;

/// How many pieces are read before the caller can serve other connections.
const TURN: usize = 16;

impl FrameLimits {
    /// The limits of frames from the debugger that is attached: an attachment may replace a tensor.
    pub const REQUEST: FrameLimits = FrameLimits { json: 1 << 20, attachment: 1 << 30 };

    /// The limits of frames from any other debugger.
    pub const STRANGER: FrameLimits = FrameLimits { json: 1 << 20, attachment: 0 };

    /// The limits of frames from a program.
    pub const ANSWER: FrameLimits = FrameLimits { json: 16 << 20, attachment: 16 << 20 };
}

/// Returns the head of a frame whose parts have these lengths.
///
/// # Errors
/// Returns an error if a length does not fit into the head.
pub(crate) fn frame_head(json: usize, attachment: usize) -> io::Result<[u8; HEAD]> {
    let length = |length: usize| {
        u32::try_from(length).map_err(|_| io::Error::other("a message is longer than a frame can be: 4 GiB"))
    };
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&length(json)?.to_le_bytes());
    head[4..].copy_from_slice(&length(attachment)?.to_le_bytes());
    Ok(head)
}

impl FrameReader {
    /// Creates a reader of frames within these limits.
    pub fn new(limits: FrameLimits) -> Self {
        Self { limits, head: [0; HEAD], filled: 0, frame: Frame::default() }
    }

    /// Changes the limits, including those of a frame that has begun.
    pub fn set_limits(&mut self, limits: FrameLimits) {
        self.limits = limits;
    }

    /// Checks that the frame that has begun is within the limits.
    ///
    /// # Errors
    /// Returns an error if it is too long.
    pub fn check(&self) -> Result<(), FrameError> {
        if self.filled == HEAD { self.lengths().map(drop) } else { Ok(()) }
    }

    /// Returns how many bytes of the current frame have arrived.
    pub fn received(&self) -> usize {
        self.filled + self.frame.json.len() + self.frame.attachment.len()
    }

    /// Reads from the stream. Returns a frame when its last byte has arrived. Returns `None` if a non-blocking stream
    /// has no more bytes yet, and after some MiB of a long frame, so that the caller can serve other connections.
    ///
    /// # Errors
    /// Returns an error if the stream ends or fails, or a frame is too long. After an error the stream can no longer be
    /// read.
    pub fn read(&mut self, from: &mut impl Read) -> Result<Option<Frame>, FrameError> {
        while self.filled < HEAD {
            match take(from, &mut self.head[self.filled..])? {
                ReadOutcome::Bytes(count) => self.filled += count,
                ReadOutcome::NoneYet => return Ok(None),
                ReadOutcome::End if self.filled == 0 => return Err(FrameError::Closed),
                ReadOutcome::End => return Err(FrameError::Cut),
            }
            if self.filled == HEAD {
                self.lengths()?;
            }
        }
        let (json, attachment) = self.lengths()?;
        let mut pieces = 0;
        loop {
            let (part, length) = match self.frame.json.len() < json {
                true => (&mut self.frame.json, json),
                false => (&mut self.frame.attachment, attachment),
            };
            if part.len() == length {
                self.filled = 0;
                return Ok(Some(std::mem::take(&mut self.frame)));
            }
            if pieces == TURN {
                return Ok(None);
            }
            pieces += 1;
            let old = part.len();
            part.resize(old + (length - old).min(PIECE), 0);
            let taken = take(from, &mut part[old..]);
            part.truncate(old + if let Ok(ReadOutcome::Bytes(count)) = taken { count } else { 0 });
            match taken? {
                ReadOutcome::Bytes(_) => (),
                ReadOutcome::NoneYet => return Ok(None),
                ReadOutcome::End => return Err(FrameError::Cut),
            }
        }
    }

    fn lengths(&self) -> Result<(usize, usize), FrameError> {
        let length = |at: usize, part: &'static str, limit: usize| {
            let length = u32::from_le_bytes([self.head[at], self.head[at + 1], self.head[at + 2], self.head[at + 3]]);
            if length as usize > limit { Err(FrameError::TooLong { part, length, limit }) } else { Ok(length as usize) }
        };
        Ok((length(0, "JSON", self.limits.json)?, length(4, "raw data", self.limits.attachment)?))
    }
}

enum ReadOutcome {
    Bytes(usize),
    NoneYet,
    End,
}

fn take(from: &mut impl Read, into: &mut [u8]) -> Result<ReadOutcome, FrameError> {
    loop {
        return match from.read(into) {
            Ok(0) => Ok(ReadOutcome::End),
            Ok(count) => Ok(ReadOutcome::Bytes(count)),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(ReadOutcome::NoneYet),
            // The other side has closed the connection without having read everything.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(ReadOutcome::End),
            Err(error) => Err(error.into()),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// A stream whose bytes arrive in pieces, with nothing to read between them.
    struct Pieces(VecDeque<Vec<u8>>, bool);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let Some(mut piece) = self.0.pop_front() else { return Ok(0) };
            let count = piece.len().min(into.len());
            into[..count].copy_from_slice(&piece[..count]);
            if count < piece.len() {
                self.0.push_front(piece.split_off(count));
            }
            Ok(count)
        }
    }

    fn bytes(frame: &Frame) -> Vec<u8> {
        let head = frame_head(frame.json.len(), frame.attachment.len()).unwrap();
        [&head, &*frame.json, &*frame.attachment].concat()
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..50), 0..700_000usize), 1..5),
            sizes in prop::collection::vec(1..300_000usize, 1..50),
        ) {
            let frames: Vec<Frame> =
                parts.into_iter().map(|(json, length)| Frame { json, attachment: vec![7; length] }).collect();
            let mut left = frames.iter().flat_map(bytes).collect::<Vec<u8>>();
            let mut pieces = VecDeque::new();
            for size in sizes.into_iter().cycle() {
                if left.is_empty() {
                    break;
                }
                let rest = left.split_off(size.min(left.len()));
                pieces.push_back(std::mem::replace(&mut left, rest));
            }
            let (mut stream, mut reader, mut read) = (Pieces(pieces, false), FrameReader::new(FrameLimits::REQUEST), vec![]);
            let end = loop {
                match reader.read(&mut stream) {
                    Ok(frame) => read.extend(frame),
                    Err(end) => break end,
                }
            };
            prop_assert!(matches!(end, FrameError::Closed));
            prop_assert_eq!(read, frames);
        }
    }

    #[test]
    fn a_stream_that_ends_within_a_frame_says_so() {
        let whole = bytes(&Frame { json: b"{}".to_vec(), attachment: vec![1; 3] });
        for end in 1..whole.len() {
            let mut reader = FrameReader::new(FrameLimits::REQUEST);
            assert!(matches!(reader.read(&mut &whole[..end]), Err(FrameError::Cut)), "{end}");
        }
    }

    #[test]
    fn a_part_that_is_too_long_is_refused_by_its_head_alone() {
        let mut reader = FrameReader::new(FrameLimits { json: 10, attachment: 0 });
        let error = reader.read(&mut &[11, 0, 0, 0, 0, 0, 0, 0][..]).unwrap_err();
        assert_eq!(error.to_string(), "a frame announces 11 bytes of JSON, and at most 10 are taken");
        let mut reader = FrameReader::new(FrameLimits { json: 10, attachment: 0 });
        let error = reader.read(&mut &[2, 0, 0, 0, 1, 0, 0, 0][..]).unwrap_err();
        assert_eq!(error.to_string(), "a frame announces 1 bytes of raw data, and at most 0 are taken");
    }

    #[test]
    fn limits_that_become_tighter_hold_for_a_frame_that_has_begun() {
        let mut reader = FrameReader::new(FrameLimits { json: 11, attachment: 0 });
        // Only the head has arrived.
        assert!(matches!(reader.read(&mut &[11, 0, 0, 0, 0, 0, 0, 0][..]), Err(FrameError::Cut)));
        assert!(reader.check().is_ok());
        reader.set_limits(FrameLimits { json: 10, attachment: 0 });
        let error = reader.check().unwrap_err().to_string();
        assert_eq!(error, "a frame announces 11 bytes of JSON, and at most 10 are taken");
        // A part of a head says nothing about the lengths.
        let mut reader = FrameReader::new(FrameLimits { json: 11, attachment: 0 });
        assert!(matches!(reader.read(&mut &[11, 0, 0][..]), Err(FrameError::Cut)));
        reader.set_limits(FrameLimits { json: 0, attachment: 0 });
        assert!(reader.check().is_ok());
    }
}
