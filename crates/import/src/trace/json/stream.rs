//! A stream of JSON of any size, of which one value at a time is in memory.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr2, memchr3};

use super::scan::{self, Member, Object};

/// The bytes that are read at once.
const READ_BYTES: usize = 1 << 20;
/// The largest value that is read. An event takes some hundred bytes, and some ten thousand with the stack.
pub(super) const LARGEST: usize = 64 << 20;

/// A stream, and the part of it that is in memory.
pub(super) struct Stream<R> {
    from: R,
    bytes: Vec<u8>,
    at: usize,
    /// How many bytes came before those in memory.
    before: u64,
    ended: bool,
    /// Why reading ended before the stream did, such as damage of the compression.
    broken: Option<io::Error>,
}

/// What a value's end was found to be.
pub(super) enum Found {
    /// The value, whole. It stays in memory until the next one is looked for.
    Whole(Range<usize>),
    /// The stream ends in it.
    Truncated,
    /// It is larger than [`LARGEST`].
    TooLarge,
}

impl<R: Read> Stream<R> {
    pub fn new(from: R) -> Self {
        Self { from, bytes: Vec::new(), at: 0, before: 0, ended: false, broken: None }
    }

    /// Returns the number of the next byte in the stream.
    pub fn position(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Returns why reading ended early.
    pub fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    /// Returns these bytes of those in memory.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Reads more behind what is in memory. Returns whether there was more.
    fn more(&mut self) -> bool {
        if self.ended {
            return false;
        }
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.before += self.at as u64;
            self.at = 0;
        }
        let part = (&mut self.from).take(READ_BYTES as u64);
        let filled = self.bytes.len();
        // What came before an error stays in memory.
        self.broken = { part }.read_to_end(&mut self.bytes).err();
        let read = self.bytes.len() - filled;
        self.ended = read < READ_BYTES;
        read > 0
    }

    /// Returns the next byte that is no space, without taking it; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes[self.at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(spaces) => {
                    self.at += spaces;
                    return self.bytes.get(self.at).copied();
                }
                None => self.at = self.bytes.len(),
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// Takes a byte that was seen.
    pub fn take(&mut self) {
        self.at += 1;
    }

    /// Takes the next value if it is an object of right JSON that is in memory as a whole. `members` is where its members
    /// are put.
    pub fn object<'a>(&'a mut self, members: &'a mut Vec<Member>) -> Option<Object<'a>> {
        let whole = scan::object(&self.bytes[self.at..], members)?;
        self.at += whole.len();
        Some(Object::new(whole, members))
    }

    /// Takes the next value: an object, an array, a text, or a word.
    pub fn value(&mut self) -> Found {
        let Some(first) = self.peek() else { return Found::Truncated };
        // How far the value was looked at, from `at`.
        let mut looked = 1;
        let mut depth = usize::from(matches!(first, b'{' | b'['));
        let mut in_text = first == b'"';
        let is_word = depth == 0 && !in_text;
        loop {
            let rest = &self.bytes[self.at + looked..];
            let step = if in_text {
                memchr2(b'"', b'\\', rest)
            } else if is_word {
                rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace())
            } else if first == b'{' {
                memchr3(b'"', b'{', b'}', rest)
            } else {
                memchr3(b'"', b'[', b']', rest)
            };
            let Some(step) = step else {
                looked = self.bytes.len() - self.at;
                if looked > LARGEST {
                    return Found::TooLarge;
                }
                if !self.more() {
                    return if is_word && looked > 0 { self.whole(looked) } else { Found::Truncated };
                }
                continue;
            };
            let byte = rest[step];
            looked += step + 1;
            match byte {
                _ if is_word => return self.whole(looked - 1),
                b'\\' => {
                    // What is escaped may not be in memory yet.
                    while self.at + looked >= self.bytes.len() {
                        if !self.more() {
                            return Found::Truncated;
                        }
                    }
                    looked += 1;
                }
                b'"' => {
                    in_text = !in_text;
                    if !in_text && depth == 0 {
                        return self.whole(looked);
                    }
                }
                b'{' | b'[' => depth += 1,
                _ => {
                    depth -= 1;
                    if depth == 0 {
                        return self.whole(looked);
                    }
                }
            }
        }
    }

    fn whole(&mut self, length: usize) -> Found {
        let start = self.at;
        self.at += length;
        Found::Whole(start..start + length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives its bytes in pieces of this length.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn values(text: &str) -> Vec<String> {
        let mut stream = Stream::new(Pieces(text.as_bytes(), 3));
        let mut found = Vec::new();
        while let Some(byte) = stream.peek() {
            if matches!(byte, b',' | b':') {
                stream.take();
                continue;
            }
            match stream.value() {
                Found::Whole(range) => found.push(String::from_utf8_lossy(stream.bytes(range)).into_owned()),
                Found::Truncated => found.push("truncated".to_owned()),
                Found::TooLarge => unreachable!("it is short"),
            }
            if found.last().is_some_and(|last| last == "truncated") {
                break;
            }
        }
        found
    }

    #[test]
    fn braces_and_quotes_in_texts_end_nothing() {
        let text = r#" {"a": "}\"{", "b": [{}]} , ["]", "\\"], "x\"y" , 12.5 : true"#;
        assert_eq!(values(text), [r#"{"a": "}\"{", "b": [{}]}"#, r#"["]", "\\"]"#, r#""x\"y""#, "12.5", "true"]);
    }

    #[test]
    fn a_stream_that_ends_in_a_value_is_truncated() {
        for text in [r#"{"a": 1"#, r#"["#, r#""abc"#, r#"{"a\"#, r#"{"a": "\"#] {
            assert_eq!(values(text), ["truncated"], "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_are_every_value_lies_within_them(bytes: Vec<u8>, piece in 1usize..9) {
            let mut stream = Stream::new(Pieces(&bytes, piece));
            for _ in 0..bytes.len() + 1 {
                let before = stream.position();
                if stream.peek().is_none() {
                    break;
                }
                match stream.value() {
                    Found::Whole(range) => prop_assert!(stream.bytes(range).len() <= bytes.len()),
                    Found::Truncated | Found::TooLarge => break,
                }
                prop_assert!(stream.position() >= before);
                if matches!(stream.peek(), Some(b',' | b'}' | b']')) {
                    stream.take();
                }
            }
        }
    }
}
