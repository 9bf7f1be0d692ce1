//! Cuts a file into its packets: a `Trace` is packets with the field number 1, each with its length.

use std::io::{self, BufRead, Read};

/// The first byte of every packet: field 1, with a length.
pub(super) const PACKET: u8 = (1 << 3) | 2;
/// The longest packet that is read. Writers cut theirs at a few hundred kilobytes.
pub(super) const LONGEST: u64 = 8 << 20;

/// What comes next in a file.
pub(super) enum Next {
    /// A packet, in the buffer.
    Packet,
    /// A packet that is too long to be read.
    TooLong(u64),
    /// The file ends.
    End,
    /// The file cannot be read from here on.
    Broken(&'static str),
}

/// Reads the next packet into a buffer. Other fields of the file are skipped.
pub(super) fn next(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Next> {
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(Next::End);
        }
        let Some(tag) = varint(reader)? else { return Ok(Next::Broken("the file ends in the middle of a field")) };
        let skipped = match (tag >> 3, tag & 7) {
            (0, _) => return Ok(Next::Broken("these bytes are no packet")),
            (_, 0) => varint(reader)?.is_some(),
            (_, 1) => skip(reader, 8)?,
            (_, 5) => skip(reader, 4)?,
            (field, 2) => match (varint(reader)?, field) {
                (None, _) => false,
                (Some(length), 1) if length <= LONGEST => {
                    buffer.clear();
                    // Grows with what is there, not with what a length says.
                    reader.by_ref().take(length).read_to_end(buffer)?;
                    match buffer.len() as u64 == length {
                        true => return Ok(Next::Packet),
                        false => false,
                    }
                }
                (Some(length), 1) => match skip(reader, length)? {
                    true => return Ok(Next::TooLong(length)),
                    false => false,
                },
                (Some(length), _) => skip(reader, length)?,
            },
            _ => return Ok(Next::Broken("these bytes are no packet")),
        };
        if !skipped {
            return Ok(Next::Broken("the file ends in the middle of a packet"));
        }
    }
}

/// Calls `found` with the number of each field of a message. Ends where the message is damaged.
pub(super) fn fields(mut message: &[u8], mut found: impl FnMut(u64)) {
    while !message.is_empty() {
        let reader = &mut message;
        let Ok(Some(tag)) = varint(reader) else { return };
        found(tag >> 3);
        let skipped = match tag & 7 {
            0 => varint(reader).is_ok_and(|value| value.is_some()),
            1 => skip(reader, 8).unwrap_or(false),
            5 => skip(reader, 4).unwrap_or(false),
            2 => varint(reader).ok().flatten().is_some_and(|length| skip(reader, length).unwrap_or(false)),
            _ => false,
        };
        if !skipped {
            return;
        }
    }
}

/// Reads a number of one to ten bytes. Returns `None` where the file ends, or if it is longer.
fn varint(reader: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut value = 0;
    for place in 0..10 {
        let Some(&byte) = reader.fill_buf()?.first() else { return Ok(None) };
        reader.consume(1);
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Skips bytes. Returns false if the file ends before.
fn skip(reader: &mut impl BufRead, bytes: u64) -> io::Result<bool> {
    Ok(io::copy(&mut reader.by_ref().take(bytes), &mut io::sink())? == bytes)
}
